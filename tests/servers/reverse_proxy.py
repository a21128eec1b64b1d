"""A reverse proxy over HTTP, as nginx is one: it passes the paths below a prefix on, with the prefix or without it.

Each connection carries one request. What comes back is passed on byte by byte as it comes, so streams flow.
"""

import contextlib
import re
import socket
import socketserver
import threading
from contextlib import contextmanager

CHUNK = 65_536
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
SLASH = b"HTTP/1.1 301 Moved\r\nLocation: %b/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@contextmanager
def proxied(port, prefix, *, strip):
    """Serve what is behind a port of this machine below a prefix; the URL, without a slash at its end."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            passed(self.request, port, prefix.encode(), strip)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}{prefix}"
        server.shutdown()
        thread.join()


def passed(client, port, prefix, strip):
    """Pass one request on, and its response back."""
    head, rest = received(client)
    if not head:
        return
    path = re.split(rb"[ ?]", head)[1]
    if strip and path == prefix:  # what nginx does for a location with a slash at its end
        client.sendall(SLASH % prefix.rpartition(b"/")[2])
    elif path != prefix and not path.startswith(prefix + b"/"):
        client.sendall(NOT_FOUND)
    else:
        with socket.create_connection(("127.0.0.1", port)) as server:
            server.sendall(rewritten(head, prefix, strip) + rest)
            exchange(client, server)


def received(client):
    """The head of a request, and what came of its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        block = client.recv(CHUNK)
        if not block:
            return b"", b""
        data += block
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def rewritten(head, prefix, strip):
    """The head as it is passed on: its path, who is served, and that one response is all."""
    if strip:
        head = head.replace(prefix, b"", 1)
    kept = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"connection:", b"keep-alive:"))]
    return b"\r\n".join(
        [*kept, b"X-Forwarded-For: 127.0.0.1", b"X-Forwarded-Proto: http", b"Connection: close", b"", b""]
    )


def exchange(client, server):
    """Pass both directions on until the server ends."""
    up = threading.Thread(target=pump, args=(client, server), daemon=True)
    up.start()
    pump(server, client)
    with contextlib.suppress(OSError):  # a client that has gone
        client.shutdown(socket.SHUT_RDWR)
    up.join()


def pump(source, target):
    """Pass bytes on until the source ends or the target is gone."""
    try:
        while data := source.recv(CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()  # the other side has gone: so does this one

"""Real receivers on loopback, each on a thread of its own: what is sent to them is theirs to look at."""

import socket
import threading
from contextlib import contextmanager
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult


class Request(NamedTuple):
    path: str
    headers: dict
    body: bytes
    method: str = "POST"


class Receiver:
    """An HTTP server that keeps what it gets and replies as the test says."""

    def __init__(self, server):
        self.server, self.got = server, []
        self.reply = lambda handler: handler.send_error(204)  # a status without a body
        self.came = threading.Semaphore(0)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook?x=1"


@contextmanager
def receiver(context=None):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers.get("Content-Length", 0))
            found.got.append(Request(self.path, dict(self.headers), self.rfile.read(length), self.command))
            found.came.release()
            found.reply(self)

        do_GET = do_PUT = do_PATCH = do_POST  # noqa: N815  (as the server calls them)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):  # a sender that has gone
            pass

    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    found = Receiver(server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Mailbox:
    """A mail server that keeps what it gets; `ada` may log in with `pw`. `refusals` are replies by recipient, `replies` to mails."""

    def __init__(self):
        self.got, self.refusals, self.replies, self.logins = [], {}, [], []

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802  (as the server calls it)
        if address in self.refusals:
            return self.refusals[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802  (as the server calls it)
        reply = self.replies.pop(0) if self.replies else "250 kept"
        if reply.startswith("250"):
            self.got.append((envelope.rcpt_tos, message_from_bytes(envelope.content, policy=policy.default)))
        return reply


@contextmanager
def mail_server(tls="none", context=None):
    def login(server, session, envelope, mechanism, data):
        box.logins.append(data.login)
        return AuthResult(success=(data.login, data.password) == (b"ada", b"pw"), handled=False)

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    box = Mailbox()
    secure = {
        "none": {},
        "starttls": {"tls_context": context, "require_starttls": True},
        "tls": {"ssl_context": context},
    }
    server = Controller(
        box, hostname="127.0.0.1", port=port, authenticator=login, auth_require_tls=tls == "starttls", **secure[tls]
    )
    server.start()
    box.port = port
    place = {"kind": "smtp", "host": "127.0.0.1", "port": port, "tls": tls}
    box.options = {**place, "sender": "jobs@example.com", "to": ["ops@example.com"]}
    yield box
    server.stop()

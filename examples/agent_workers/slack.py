"""The part of Slack's interface that `slack-sync` uses, on this machine: `conversations.history`, page by page."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

CHANNELS = {"C-support": 250, "C-sales": 40}  # how many messages Slack has


class Slack:
    """The server, in threads of this process. The next `busy` requests get 429, with the wish to wait for one second."""

    def __init__(self):
        self.channels, self.busy, self.pages, self.refused, self._lock = dict(CHANNELS), 0, 0, 0, threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.slack = self
        self.url = f"http://127.0.0.1:{self._server.server_port}/api/"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def reply(self, given):
        """Return the status, the body and the headers of the reply to a request."""
        with self._lock:
            refuse, self.busy = self.busy > 0, max(self.busy - 1, 0)
            self.refused, self.pages = self.refused + refuse, self.pages + (not refuse)
        if refuse:
            return 429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "1"}
        return 200, self._page(**{name: values[0] for name, values in given.items()}), {}

    def _page(self, channel, limit, oldest="0", cursor="0"):
        if channel not in self.channels:
            return {"ok": False, "error": "channel_not_found"}
        known = [each for each in messages(self.channels[channel]) if each["ts"] > oldest]
        start, end = int(cursor), int(cursor) + int(limit)
        more = str(end) if end < len(known) else ""
        return {"ok": True, "messages": known[start:end], "response_metadata": {"next_cursor": more}}

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def messages(count):
    """The messages of a channel, newest first as Slack has them."""
    return [{"ts": f"1780000000.{n:06d}", "user": f"U{n % 7}", "text": f"message {n}"} for n in range(count, 0, -1)]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        given = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        status, body, headers = self.server.slack.reply(given)
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), "Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Requests are counted, not printed."""

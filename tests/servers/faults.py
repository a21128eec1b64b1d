"""A server that answers as model services do, by a script: errors, silence, cut connections, broken JSON, or the real model.

A script is a list of answers, played one per request; `then` is given when it has ended. A dict of lists plays a list for the
requests whose text contains its name. An answer is

* an int, such as 529: an error of that status; `{"status": 429, "retry_after": 2}` has a header too, `"message"` is what it says;
* "silence": nothing, for as long as the client waits; "cut": the connection is reset; "half": half a JSON;
* "model": what the real model says;
* any other text, or `{"text": …}`: that text as the model's. `"after": 0.5` in a dict waits before it answers.

In a process of its own (`FaultServer`), the script is changed over HTTP: `play`, `asked`.
"""

import json
import select
import socket
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError

from tests.servers.process import Server
from tests.servers.proxy import RESET

FAULTS = ("silence", "cut", "half", "model")
KINDS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


class Faults:
    """The server in threads of this process. `requests` has the body of each question, in order."""

    def __init__(self, script=(), then="ok", model=None, port=0):
        self.model, self.requests, self._lock = model, [], threading.Lock()
        self.over = threading.Event()  # ends every silence
        self.play(script, then)
        self._server = _HTTPServer(("127.0.0.1", port), _Handler)
        self._server.faults = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def play(self, script, then="ok"):
        """Play this script from now on."""
        lists = script if isinstance(script, dict) else {"": script}
        self._script, self._then = {name: list(answers) for name, answers in lists.items()}, then

    def asked(self, text=""):
        """How many requests contained this text."""
        return sum(text in body for body in self.requests)

    def next(self, body):
        """Note a request; return the answer that is due."""
        with self._lock:
            self.requests.append(body)
            due = next((answers for name, answers in self._script.items() if name in body and answers), None)
            answer = due.pop(0) if due else self._then
        return answer if isinstance(answer, dict) else _spelled(answer)

    def serve(self):
        """Serve in this thread."""
        self._server.serve_forever(poll_interval=0.05)

    def __enter__(self):
        self._thread = threading.Thread(target=self.serve, name="faults", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class FaultServer(Server):
    """The server in a process of its own."""

    name = "faults"
    as_user = ""

    def __init__(self, folder=None, port=None, model=None):
        self.model = model
        super().__init__(folder, port)
        self.url = f"http://127.0.0.1:{self.port}"

    def program(self):
        start = "import sys; sys.path[:] = sys.argv.pop().split(chr(10)); from tests.servers.faults import main; main()"
        return [sys.executable, "-c", start, self.port, self.model or "", "\n".join(sys.path)]

    def ready(self):
        with suppress(OSError):
            return self.asked() >= 0

    def play(self, script, then="ok"):
        """Play this script from now on."""
        self._control("play", {"script": script, "then": then})

    def asked(self, text=""):
        """How many requests contained this text."""
        return self._control("asked", {"text": text})

    def _control(self, verb, body):
        return json.loads(post(f"{self.url}/{verb}", json.dumps(body).encode()))


def main():
    """Serve until the process is ended: `PORT MODEL`."""
    port, model = sys.argv[1:]
    Faults(model=model or None, port=int(port)).serve()


def post(url, body, headers=None):
    """Send a body; return the body of the answer. An `HTTPError` has it as `body`."""
    request = urllib.request.Request(url, body, {"content-type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()
    except HTTPError as error:
        with error:
            error.body = error.read()
        raise


def _spelled(answer):
    if isinstance(answer, int):
        return {"status": answer}
    return {"fault": answer} if answer in FAULTS else {"text": answer}


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = False  # the end waits for each answer
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """A client that is gone is no news here."""


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        """Requests are kept, not printed."""

    def do_POST(self):
        faults = self.server.faults
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        if self.path in ("/play", "/asked"):
            self._say(200, json.dumps(getattr(faults, self.path[1:])(**json.loads(body))))
            return
        answer = faults.next(body)
        faults.over.wait(answer.get("after", 0))
        self._answer(answer, body)

    def _answer(self, answer, body):
        match answer:
            case {"fault": "silence"}:
                self._silence()
            case {"fault": "cut"}:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                socket.close(self.connection.detach())
            case {"fault": "half"}:
                whole = self._reply(json.dumps({"cut": "off"}), body)
                self._say(200, whole[: len(whole) // 2])
            case {"fault": "model"}:
                self._pass_on(body)
            case {"status": status}:
                self._refuse(status, answer.get("retry_after"), answer.get("message"))
            case {"text": text}:
                self._say(200, self._reply(text, body))

    def _silence(self):
        """Wait until the client gives up, or the server ends."""
        while not self.server.faults.over.is_set() and not select.select([self.connection], [], [], 0.05)[0]:
            pass

    def _refuse(self, status, retry_after, message):
        error = {"type": KINDS.get(status, "api_error"), "message": message or f"planted {status}"}
        headers = {} if retry_after is None else {"retry-after": retry_after}
        self._say(status, json.dumps({"type": "error", "error": error}), headers)

    def _pass_on(self, body):
        try:
            self._say(200, post(self.server.faults.model + self.path, body.encode()).decode())
        except HTTPError as error:
            self._say(error.code, error.body.decode())

    def _reply(self, text, body):
        model = json.loads(body).get("model")
        return json.dumps(_message(text, model) if self.path.endswith("/messages") else _completion(text, model))

    def _say(self, status, text, headers=None):
        data = text.encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": len(data), **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)


def _message(text, model):
    usage = {"input_tokens": 7, "output_tokens": len(text.split())}
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": text}], "usage": usage,
    }  # fmt: skip


def _completion(text, model):
    words = len(text.split())
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": int(time.time()), "model": model, "choices": [choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": words, "total_tokens": 7 + words},
    }  # fmt: skip

"""What the story and the tests run around the application: a model, a mail server with TLS, a source and a CRM, the desk, workers."""

import json
import logging
import os
import ssl
import sys
import threading
import urllib.request
import warnings
from contextlib import ExitStack, contextmanager
from urllib.parse import parse_qs, urlsplit

import trustme

from examples.conversation_hook import story
from mainstay.senders.signature import new_secret
from tests.senders.receiving import mail_server, receiver
from tests.servers import model
from tests.servers.faults import Faults
from tests.servers.process import Server

APP = "examples.document_desk.jobs:app"
TOKENS = {"viewer-token": "viewer", "operator-token": "operator", "admin-token": "admin", "cron-token": "admin"}
ROWS, PAGE = 50, 10  # candidates of the source, and how many a page has


class Services:
    """The source of candidates, page by page, and the CRM that takes them; both at one address, with planted faults."""

    def __init__(self, hook):
        self._hook, self.faults, self.people, self.pause = hook, {}, {}, 0.0
        self.url = hook.url.partition("/hook")[0]
        self._waiting = threading.Event()  # never set: a wait that ends with its time
        hook.reply = self._reply

    @property
    def pages(self):
        """The cursors that were asked for, in order."""
        return [cursor_of(each.path) for each in list(self._hook.got) if each.method == "GET"]

    def _reply(self, handler):
        self._waiting.wait(self.pause)
        if handler.command == "PUT":
            body = next(each.body for each in reversed(self._hook.got) if each.path == handler.path)
            self.people[handler.path.rpartition("/")[2]] = json.loads(body)
            return send(handler, 200, {})
        cursor = cursor_of(handler.path)
        if self.faults.get(cursor):
            self.faults[cursor] -= 1
            return send(handler, 500, {"error": "planted"})
        first, after = int(cursor), int(cursor) + PAGE
        rows = [{"id": f"c{n:02}", "name": f"Candidate {n}"} for n in range(first, after)]
        return send(handler, 200, {"items": rows, "next": str(after) if after < ROWS else ""})


def cursor_of(path):
    return parse_qs(urlsplit(path).query).get("cursor", ["0"])[0]


def send(handler, status, body):
    text = json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(text)))
    handler.end_headers()
    handler.wfile.write(text)


class World:
    """The servers of one run. Where they are is in `environment`."""

    def __init__(self, folder, database, faults, box, services):
        self.folder, self.files, self.notices = folder, folder / "files", folder / "notices"
        self.faults, self.box, self.services = faults, box, services
        self.environment = {
            "DESK_DATABASE": database, "DESK_FILES": str(self.files), "DESK_MODEL": faults.url,
            "DESK_MAIL": f"smtp://ada@127.0.0.1:{box.port}", "DESK_MAIL_PASSWORD": "pw", "DESK_SOURCE": services.url,
            "DESK_CRM": services.url, "DESK_EVENTS_SECRET": new_secret(), "DESK_CRON_TOKEN": "cron-token",
            "DESK_TOKENS": json.dumps(TOKENS), "SSL_CERT_FILE": str(folder / "ca.pem"), "NO_COLOR": "1",
            "PYTHONPATH": os.pathsep.join([str(story.ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }  # fmt: skip

    @property
    def channel(self):
        """A channel of alerts: a command that adds each notice to a file."""
        note = f"import sys; open({str(self.notices)!r}, 'a').write(sys.stdin.read() + '\\n')"
        return {"kind": "command", "argv": [sys.executable, "-c", note]}


@contextmanager
def world(folder, database):
    """Start the servers."""
    context = certified(folder)
    (folder / "files").mkdir()
    with ExitStack() as stack:
        faults = stack.enter_context(Faults(then="model", model=model.address()))
        logging.getLogger("mail.log").setLevel(logging.ERROR)  # aiosmtpd warns of its own code at each session
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # and of certificates of this kind
            box = stack.enter_context(mail_server("starttls", context))
        services = Services(stack.enter_context(receiver()))
        yield World(folder, database, faults, box, services)


def certified(folder):
    """Return the TLS context of a server on this machine; workers trust it by the file ca.pem."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


class Desk(Server):
    """The web application, as a process."""

    name, as_user, ending = "desk", "", "SIGTERM"

    def program(self):
        place = ["--host", "127.0.0.1", "--port", self.port, "--log-level", "warning"]
        return [sys.executable, "-m", "uvicorn", "examples.document_desk.desk:web", *place]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=10) as reply:
                return reply.status == 200
        except OSError:
            return False


class Workers(story.Workers):
    """`mainstay worker` with several processes."""

    def program(self):
        command = [sys.executable, "-m", "mainstay", "worker", "--app", APP, "--concurrency", "8"]
        return [*command, "--processes", self._processes]

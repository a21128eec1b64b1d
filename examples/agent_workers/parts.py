"""What the system needs on this machine: Valkey, a language model, a receiver of webhooks over TLS, Slack, and worker processes."""

import json
import os
import ssl
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import trustme

from examples.agent_workers.slack import Slack
from examples.event_extraction import parts
from tests.senders.receiving import Receiver, receiver
from tests.servers import model
from tests.servers.redis import Redis

ROOT = Path(__file__).parents[2]
APP = "examples.agent_workers.jobs:app"
SIMILARITY = 0.65  # of wordllama, for what 0.8 is in the design record: "Anna drinks tea" in other words has 0.77


class Workers(parts.Workers):
    """`mainstay worker` of this application as a process."""

    app = APP


class Servers(NamedTuple):
    """What was started."""

    valkey: Redis
    hook: Receiver
    url: str  # of the receiver
    slack: Slack


@contextmanager
def servers(folder, model_url=None):
    """Start the servers and name them to the application by its variables, until they end; `folder` is for its data."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(Path(folder) / "ca.pem")
    with ExitStack() as stack:
        valkey = stack.enter_context(Redis("valkey", appendonly="yes", appendfsync="everysec"))
        hook, slack = stack.enter_context(receiver(context)), stack.enter_context(Slack())
        stack.enter_context(environment(variables(folder, valkey.url(), slack.url, model_url or model.address())))
        yield Servers(valkey, hook, f"https://127.0.0.1:{hook.server.server_address[1]}/in", slack)


def reply(*statuses):
    """What the receiver says: one status after the other, without a body, and the last of them from then on."""
    left = list(statuses)

    def say(handler):
        handler.send_response(left.pop(0) if len(left) > 1 else left[0])
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return say


@contextmanager
def environment(given):
    """Set variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def variables(folder, url, slack, model_url):
    """Return the environment of the application."""
    note = f"import sys; open({str(Path(folder) / 'alerts')!r}, 'a').write(sys.stdin.read() + '\\n')"
    return {
        "MAINSTAY_URL": url, "MAINSTAY_APP": APP, "AGENT_DATA": str(Path(folder) / "data"), "AGENT_MODEL": model_url,
        "AGENT_SIMILARITY": str(SIMILARITY), "AGENT_WEBHOOK_ALLOW": "127.0.0.0/8", "SLACK_URL": slack, "SLACK_TOKEN": "xoxb-local",
        "SSL_CERT_FILE": str(Path(folder) / "ca.pem"), "NO_COLOR": "1",
        "MAINSTAY_ALERTS": json.dumps({"file": {"kind": "command", "argv": [sys.executable, "-c", note]}}),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false",  # so that a worker has no threads but its own
    }  # fmt: skip

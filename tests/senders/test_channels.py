"""Channels deliver to real receivers: HTTP, Slack's format, a mail server, a program, Apprise; none shows a secret."""

import json
import socket
import ssl
import sys
import time

import pytest
import trustme

from mainstay.core.alerts import Alert
from mainstay.core.errors import ConfigError, SendFailed
from mainstay.senders.channels import Notice, channel
from tests.waiting import eventually
from tests.worker.conftest import gone

from .receiving import mail_server, receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ALERT = Alert(
    "dead", "charge", "error", "charge failed", "2 jobs failed: <!here> & more", "charge", "01JOB", "default", "acme"
)
OPENED = Notice("01X.opened", "opened", 1_750_000_000_000, ALERT, 1_750_000_000_000, "https://jobs.example/jobs/01JOB")
RECOVERED = OPENED._replace(id="01X.recovered", what="recovered")
LOCAL = ["127.0.0.1"]


@pytest.fixture
def hook():
    with receiver() as found:
        yield found


def test_a_webhook_is_signed(hook):
    channel("ops", {"kind": "webhook", "url": hook.url, "secret": SECRET, "allow": LOCAL}).send(OPENED)
    (got,) = hook.got
    assert json.loads(got.body) == {
        "id": "01X.opened", "event": "alert.opened", "at": "2025-06-15T15:06:40.000Z", "opened_at": "2025-06-15T15:06:40.000Z",
        "rule": "dead", "subject": "charge", "severity": "error", "title": "charge failed", "text": "2 jobs failed: <!here> & more",
        "type": "charge", "job": "01JOB", "queue": "default", "tenant": "acme", "link": "https://jobs.example/jobs/01JOB",
    }  # fmt: skip
    assert got.headers["webhook-id"] == "01X.opened"
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 60
    assert got.headers["webhook-signature"].startswith("v1,")


def test_a_webhook_reaches_nothing_inside_unless_it_is_allowed(hook):
    with pytest.raises(SendFailed, match="inside this network"):
        channel("ops", {"kind": "webhook", "url": hook.url, "secret": SECRET}).send(OPENED)
    assert hook.got == []


def test_slack_gets_its_format_and_no_mention(hook):
    to = channel("team", {"kind": "slack", "url": hook.url, "allow": LOCAL})
    to.send(OPENED)
    to.send(RECOVERED)
    opened, recovered = [json.loads(got.body)["text"] for got in hook.got]
    assert opened.startswith("❌ *charge failed*\n2 jobs failed: &lt;!here&gt; &amp; more\ntype charge, job 01JOB")
    assert recovered.startswith("✅ *Recovered: charge failed*")


# programs -----------------------------------------------------------------------------------------------------------------
def test_a_program_gets_the_notice_on_stdin_without_a_shell(tmp_path):
    place = tmp_path / "got; touch pwned"
    script = "import json, sys; json.dump([json.load(sys.stdin), sys.argv[1]], open(sys.argv[1], 'w'))"
    channel("script", {"kind": "command", "argv": [sys.executable, "-c", script, str(place)]}).send(OPENED)
    got, argument = json.loads(place.read_text(encoding="utf-8"))
    assert (got["id"], argument) == ("01X.opened", str(place))
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import sys; sys.exit('no paper')", "ended with 1: no paper"),
        ("import time; time.sleep(60)", "not ended within 0.5 s"),
    ],
)
def test_a_program_that_fails_or_hangs(code, says):
    to = channel("script", {"kind": "command", "argv": [sys.executable, "-c", code], "timeout": "500ms"})
    with pytest.raises(SendFailed, match=says):
        to.send(OPENED)


def test_a_program_that_is_not_there():
    with pytest.raises(SendFailed, match="FileNotFoundError"):
        channel("script", {"kind": "command", "argv": ["/no/such/program"]}).send(OPENED)


def test_a_command_may_leave_a_program_in_the_background():
    channel("script", {"kind": "command", "argv": ["sh", "-c", "sleep 8 &"], "timeout": "6s"}).send(OPENED)


def test_a_command_that_is_late_is_killed_with_what_it_has_started(tmp_path):
    place = tmp_path / "pid"
    script = 'sleep 60 & echo $! > "$0.new"; mv "$0.new" "$0"; wait'
    with pytest.raises(SendFailed, match="has not ended within"):
        channel("script", {"kind": "command", "argv": ["sh", "-c", script, str(place)], "timeout": "2s"}).send(OPENED)
    eventually(lambda: gone(int(place.read_text())), "the end of what it has started")


# mail ---------------------------------------------------------------------------------------------------------------------
@pytest.fixture
def mailbox():
    with mail_server() as found:
        yield found


def test_mail_arrives(mailbox, monkeypatch):
    monkeypatch.setenv("MAIL_PASSWORD", "pw")
    to = channel(
        "mail",
        {**mailbox.options, "user": "ada", "password": "$MAIL_PASSWORD", "to": ["ops@example.com", "ada@example.com"]},
    )
    to.send(OPENED._replace(alert=ALERT._replace(title="charge\r\nBcc: eve@example.com")))
    ((receivers, mail),) = mailbox.got
    assert receivers == ["ops@example.com", "ada@example.com"]
    assert mail["Subject"] == "[error] charge Bcc: eve@example.com"
    assert (mail["Bcc"], mail["Message-ID"]) == (None, "<01X.opened@mainstay>")
    assert "tenant acme" in mail.get_content()


def test_mail_that_is_not_taken(mailbox):
    with pytest.raises(SendFailed, match="SMTPAuthenticationError") as caught:
        channel("mail", {**mailbox.options, "user": "ada", "password": "hunter2"}).send(OPENED)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(SendFailed, match="STARTTLS"):  # a server that cannot encrypt gets no mail by mistake
        channel("mail", {**mailbox.options, "tls": "starttls"}).send(OPENED)
    assert mailbox.got == []


@pytest.fixture
def certified(tmp_path, monkeypatch):
    """What a server at 127.0.0.1 proves itself with; this process trusts it."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.mark.filterwarnings("ignore:.*ssl_context:UserWarning", "ignore:Requiring AUTH:UserWarning")
@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_mail_goes_encrypted_to_a_server_that_proves_its_name(certified, monkeypatch, tls):
    with mail_server(tls, certified) as mailbox:
        to = channel("mail", {**mailbox.options, "user": "ada", "password": "pw"})
        to.send(OPENED)
        assert len(mailbox.got) == 1
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(SendFailed, match=r"(?i)certificate"):
            to.send(OPENED)
        assert (len(mailbox.got), len(mailbox.logins)) == (1, 1)


def test_mail_that_is_taken_for_nobody(mailbox):
    mailbox.refusals = {"ops@example.com": "550 no such person"}
    with pytest.raises(SendFailed, match="550, 'no such person'"):
        channel("mail", mailbox.options).send(OPENED)


def test_a_mail_server_that_hangs():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        options = {
            "kind": "smtp",
            "host": "127.0.0.1",
            "port": silent.getsockname()[1],
            "sender": "a@b.c",
            "to": ["d@e.f"],
        }
        with pytest.raises(SendFailed, match="timed out"):
            channel("mail", {**options, "timeout": "300ms"}).send(OPENED)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what Apprise imports
def test_apprise(hook):
    port = hook.server.server_address[1]
    channel("phone", {"kind": "apprise", "urls": [f"json://127.0.0.1:{port}/"]}).send(OPENED)
    assert json.loads(hook.got[0].body)["title"] == "charge failed"
    with pytest.raises(SendFailed, match="does not know the service nonsense://"):
        channel("phone", {"kind": "apprise", "urls": ["nonsense://hunter2"]}).send(OPENED)


# configuration ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({}, "needs a kind"), ({"kind": "webhok"}, "did you mean"), ("slack", "needs a kind"), ({"kind": "slack"}, "url is missing"),
        ({"kind": "slack", "url": 5}, "url is not valid"), ({"kind": "slack", "url": "$NOT_SET_HERE"}, "NOT_SET_HERE, which is not set"),
        ({"kind": "slack", "ulr": "x"}, "did you mean"), ({"kind": "command", "argv": "rm -rf /"}, "argv is not valid"),
        ({"kind": "command", "argv": []}, "argv is not valid"), ({"kind": "webhook", "url": "https://a.b", "secret": "hunter2"}, "whsec_"),
        ({"kind": "slack", "url": "https://a.b", "least": "loud"}, "one of warning"), ({"kind": "slack", "url": "x", "timeout": "1h"}, "60s"),
        ({"kind": "slack", "url": "x", "timeout": "soon"}, "timeout"),
        ({"kind": "smtp", "host": "h", "sender": "s", "to": ["t"], "tls": "ssl"}, "starttls, tls, none"),
        ({"kind": "smtp", "host": "h", "sender": "s", "to": ["t"], "port": "25"}, "port is not valid"),
    ],
)  # fmt: skip
def test_a_channel_that_is_not_valid_is_refused_and_shows_no_secret(spec, says):
    with pytest.raises(ConfigError, match=says) as caught:
        channel("ops", spec)
    assert "hunter2" not in str(caught.value)


def test_a_channel_shows_no_secret():
    to = channel("mail", {"kind": "smtp", "host": "h", "sender": "s", "to": ["t"], "password": "hunter2"})
    assert repr(to) == "<Channel mail (smtp)>"


def test_the_least_severity():
    to = channel("ops", {"kind": "slack", "url": "https://a.b", "least": "error"})
    assert [to.wants(ALERT._replace(severity=each)) for each in ("warning", "error", "high")] == [False, True, True]

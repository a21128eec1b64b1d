"""Deliveries of webhooks to real receivers on loopback: what arrives, what is retried, what is recorded, and what ends it."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
from contextlib import closing
from email.utils import formatdate
from threading import Event

import pytest
import trustme
from standardwebhooks import Webhook, WebhookVerificationError

from mainstay import ConfigError, Mainstay, ctx
from mainstay.handlers import webhook
from mainstay.senders import post
from tests.senders.receiving import receiver
from tests.senders.test_post import LOCAL, answers, drip
from tests.servers.engines import ONE_OF_EACH

OWN = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def app():
    found = Mainstay("sqlite:///:memory:")
    webhook.register(found, allow=LOCAL, seconds=2)
    return found


@pytest.fixture
def kit(app):
    with app.testing() as found:
        yield found


@pytest.fixture
def hook():
    with receiver() as found:
        yield found


def reply(status, body=b"", **headers):
    """A reply of a receiver."""

    def answer(handler):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def sent(app, hook, event="invoice.paid", data=None, **given):
    """Register the receiver, and send it an event; return the job."""
    if not app.webhooks.list():
        app.webhooks.add(given.pop("url", hook and hook.url), id="billing", secret=OWN, **given.pop("endpoint", {}))
    (handle,) = app.webhooks.send(event, {"id": 7} if data is None else data, **given)
    return handle


def test_headers_that_cannot_be_sent_do_not_count_against_the_endpoint(app, kit, hook):
    app.webhooks.add(hook.url, id="billing", max_failures=1)
    for given in ({"X-A": "é"}, {"X-A": "a\r\nEvil: 1"}, {"Xä": "a"}, {"X A": "a"}):
        job = sent(app, hook, headers=given)
        kit.drain(raises=False)
        assert (job.state, job.job().attempt) == ("dead", 1)
        assert "is not valid" in job.job().error
    assert (hook.got, app.webhooks.show("billing").failures) == ([], 0)


# what arrives -------------------------------------------------------------------------------------------------------------
def test_what_arrives_is_signed_and_recorded(app, kit, hook):
    hook.reply = reply(200, b"thank you")
    job = sent(app, hook, headers={"X-Shop": "1", "x-signature": "forged", "Content-Type": "text/plain"})
    kit.drain()
    (got,) = hook.got
    body = json.loads(got.body)
    assert (body["type"], body["data"]) == ("invoice.paid", {"id": 7})
    assert Webhook(OWN).verify(got.body, got.headers) == body  # an independent reader
    headers = {name.lower(): value for name, value in got.headers.items()}
    assert len(headers) == len(got.headers)
    assert (headers["x-webhook-id"], headers["x-delivery-id"], headers["x-shop"]) == ("billing", job.id, "1")
    assert (headers["webhook-id"], headers["content-type"]) == (job.id, "application/json")
    assert headers["x-signature"] == headers["webhook-signature"] != "forged"
    assert headers["user-agent"].startswith("mainstay/")
    (found,) = app.webhooks.deliveries("billing")
    assert (found.job, found.attempt, found.status, found.error, found.answer) == (job.id, 1, 200, None, "thank you")
    assert job.result()["status"] == 200
    assert job.result()["latency_ms"] == found.ms < 2_000


def test_a_message_has_the_same_id_and_body_on_every_attempt(app, kit, hook):
    replies = iter([503, 429, 408, 425, 500, 200])

    def each(handler):
        reply(next(replies))(handler)

    hook.reply = each
    job = sent(app, hook)
    kit.drain()
    assert job.job().state == "completed"
    assert {(got.body, got.headers["webhook-id"]) for got in hook.got} == {(hook.got[0].body, job.id)}
    found = app.webhooks.deliveries("billing")
    assert [(each.attempt, each.status) for each in reversed(found)] == [
        (1, 503), (2, 429), (3, 408), (4, 425), (5, 500), (6, 200),
    ]  # fmt: skip
    assert [each.code for each in app.attempts(job)[:2]] == ["503", "429"]


def test_while_a_secret_is_changed_both_sign(app, kit, hook):
    sent(app, hook)
    new = app.webhooks.rotate("billing", keep="1h").secret
    kit.drain()
    for secret in (OWN, new):
        Webhook(secret).verify(hook.got[0].body, hook.got[0].headers)
    kit.advance("61m")
    sent(app, hook)
    kit.drain()
    Webhook(new).verify(hook.got[1].body, hook.got[1].headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(OWN).verify(hook.got[1].body, hook.got[1].headers)


def test_a_secret_may_be_in_the_environment(app, kit, hook, monkeypatch):
    app.webhooks.add(hook.url, id="billing", secret="$HOOK_SECRET")
    assert app.webhooks.show("billing").signs_with == "$HOOK_SECRET"
    (job,) = app.webhooks.send("a.b")
    app.drain()
    assert "HOOK_SECRET, which is not set for this process" in job.job().error
    monkeypatch.setenv("HOOK_SECRET", OWN)
    kit.drain()
    Webhook(OWN).verify(hook.got[0].body, hook.got[0].headers)


def test_tls_proves_the_name_while_the_address_is_the_one_that_was_checked(app, kit, monkeypatch, tmp_path):
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("hooks.example").configure_cert(context)
    asked = answers(monkeypatch, "127.0.0.1")
    with receiver(context) as hook:
        url = f"https://hooks.example:{hook.server.server_address[1]}/in"
        job = sent(app, hook, url=url)
        app.drain()
        assert "CERTIFICATE_VERIFY_FAILED" in job.job().error  # nobody trusts it yet
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        kit.drain()
        assert (job.job().state, len(hook.got), asked) == ("completed", 1, ["hooks.example"] * 2)


# which events -------------------------------------------------------------------------------------------------------------
def test_each_endpoint_that_wants_an_event_gets_it_once(app, kit, hook):
    for name, events in (
        ("all", "*"),
        ("some", ["invoice.*"]),
        ("one", "invoice.paid"),
        ("other", "order.*"),
        ("off", "*"),
    ):
        app.webhooks.add(hook.url, events, id=name)
    app.webhooks.disable("off")
    assert len(app.webhooks.send("invoice.paid", key="7")) == 3
    assert [handle.created for handle in app.webhooks.send("invoice.paid", key="7")] == [False] * 3
    assert len(app.webhooks.send("invoices.x")) == 1
    assert len(app.webhooks.send("webhook.test", to="other")) == 1
    kit.drain()
    assert sorted(got.headers["X-Webhook-Id"] for got in hook.got) == ["all", "all", "one", "other", "some"]


def test_an_event_commits_with_the_transaction_of_its_sender(tmp_path, hook):
    import sqlite3

    app = Mainstay(f"sqlite:///{tmp_path / 'shop.db'}")
    app.webhooks.add(hook.url, id="billing")
    connection = sqlite3.connect(tmp_path / "shop.db", isolation_level=None)
    for end, jobs in (("ROLLBACK", 0), ("COMMIT", 1)):
        connection.execute("BEGIN IMMEDIATE")
        app.webhooks.send("invoice.paid", tx=connection)
        connection.execute(end)
        assert len(app.list()) == jobs
    connection.close()
    app.close()


def test_messages_of_a_handler_exist_if_its_job_completes(app, kit, hook):
    app.webhooks.add(hook.url, id="billing")

    @app.job(retry=1)
    def pay(fails: bool) -> None:
        ctx.enqueue(*app.webhooks.prepare("invoice.paid"))
        assert not fails

    pay.enqueue(fails=True)
    pay.enqueue(fails=False)
    kit.drain(raises=False)
    assert len(hook.got) == 1


def test_an_event_is_sent_from_async_code(app, kit, hook):
    app.webhooks.add(hook.url, id="billing")
    assert len(asyncio.run(app.webhooks.asend("invoice.paid"))) == 1
    assert asyncio.run(app.webhooks.asend("invoice.paid", to="billing"))[0].created
    kit.drain()
    assert len(hook.got) == 2


# what ends it -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("status", [400, 401, 404, 422, 307])
def test_what_no_retry_can_mend_is_dead_at_once_and_says_so(app, kit, hook, status):
    hook.reply = reply(status, b"no", Location="http://169.254.169.254/")
    job = sent(app, hook)
    kit.drain(raises=False)
    assert (job.job().state, job.job().code, len(hook.got)) == ("dead", str(status), 1)
    assert "non_retryable_error" in job.job().error
    assert ("redirects" if status == 307 else f"replied {status}, so it is not sent again") in job.job().error
    assert app.webhooks.deliveries("billing")[0].status == status


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest/", "http://127.0.0.1:9/", "http://[::ffff:10.0.0.1]/", "http://inside.example/"],
)
def test_an_address_inside_is_refused_before_anything_is_sent(monkeypatch, url):
    answers(monkeypatch, "192.168.0.7")
    app = Mainstay("sqlite:///:memory:")
    webhook.register(app)
    monkeypatch.setattr(post, "_exchange", lambda *_: pytest.fail("it was sent"))
    with app.testing() as kit:
        job = sent(app, None, url=url)
        kit.drain(raises=False)
        assert (job.job().state, len(app.attempts(job))) == ("dead", 1)
        assert "inside this network" in job.job().error
        assert app.webhooks.deliveries("billing")[0].status is None


@pytest.mark.parametrize("answer", [lambda handler: handler.rfile.read(), drip], ids=["silent", "dripping"])
def test_a_receiver_that_hangs_costs_no_more_than_its_time(hook, answer):
    app = Mainstay("sqlite:///:memory:")
    webhook.register(app, allow=LOCAL, seconds=0.3, retry=1)
    hook.reply = answer
    with app.testing() as kit:
        job = sent(app, hook)
        kit.drain(raises=False)
        (found,) = app.webhooks.deliveries("billing")
        assert "no reply in time" in found.error
        assert 250 < found.ms < 1_500
        assert job.job().state == "dead"


def test_a_receiver_that_is_not_there_is_tried_again(app, kit):
    with receiver() as hook:
        url = hook.url
    job = sent(app, None, url=url)
    kit.drain(raises=False)
    assert (job.job().state, len(app.attempts(job))) == ("dead", 10)
    assert "refused" in app.webhooks.deliveries("billing")[0].error


@pytest.mark.parametrize(
    "header", ["120", formatdate(2_000_000_000, usegmt=True), "-5", "soon", "9" * 400, "١٢"], ids=str.strip
)
def test_a_receiver_may_say_when_to_come_again(app, kit, hook, header, monkeypatch):
    monkeypatch.setattr(webhook.time, "time", lambda: 2_000_000_000 - 120)
    hook.reply = reply(503, Retry_After=header.encode().decode("latin-1"))
    job = sent(app, hook)
    app.drain()
    waits = (job.job().run_at.timestamp() * 1000 - app.clock.now()) / 1000
    least, most = {"120": (119, 121), "9" * 400: (86_399, 86_401)}.get(
        header, (119, 121) if "GMT" in header else (0, 2)
    )
    assert least <= waits <= most


def test_with_a_rate_a_receiver_holds_all_its_messages_back(hook):
    app = Mainstay("sqlite:///:memory:")
    webhook.register(app, allow=LOCAL, rate="100/s")
    hook.reply = reply(429, Retry_After="60")
    with app.testing() as kit:
        jobs = [sent(app, hook) for _ in range(3)]
        app.drain()
        assert len(hook.got) == 1
        kit.advance("30s")
        app.drain()
        assert len(hook.got) == 1
        hook.reply = reply(200)
        kit.drain()
        assert [job.job().attempt for job in jobs] == [1, 1, 1]


def test_too_many_failures_disable_the_endpoint_and_its_messages_are_dead_letters(app, kit, hook):
    hook.reply, told = reply(500), []
    app.events.on("webhook_disabled", lambda webhook, reason: told.append((webhook, reason)))
    first = sent(app, hook, endpoint={"max_failures": 3})
    kit.drain(raises=False)
    assert (len(hook.got), told) == (3, [("billing", "max_failures_exceeded")])
    assert (first.job().state, first.job().code) == ("dead", "webhook_disabled")
    assert "mainstay webhooks enable billing" in first.job().error
    second = sent(app, hook)  # it is not lost
    kit.drain(raises=False)
    assert (len(hook.got), second.job().state, len(app.attempts(second))) == (3, "dead", 1)
    hook.reply = reply(200)
    app.webhooks.enable("billing")
    app.bulk("type:webhook_dispatch state:dead code:webhook_disabled").retry()
    kit.drain()
    assert {first.job().state, second.job().state} == {"completed"}


def test_a_receiver_that_is_gone_gets_nothing_more(app, kit, hook):
    hook.reply = reply(410)
    job, waiting = sent(app, hook), sent(app, hook)
    kit.drain(raises=False)
    assert (job.job().state, waiting.job().state, len(hook.got)) == ("dead", "cancelled", 1)
    assert app.webhooks.show("billing").disabled_because == "gone"
    assert app.webhooks.send("a.b") == []


@pytest.mark.parametrize("verb", ["disable", "remove"])
def test_a_message_to_an_endpoint_that_is_disabled_or_removed_is_cancelled(app, kit, hook, verb):
    job = sent(app, hook)
    getattr(app.webhooks, verb)("billing")
    kit.drain()
    assert (job.job().state, job.job().code, hook.got) == ("cancelled", "webhook_disabled", [])
    assert job.job().reason.startswith("webhook_disabled: ")


# hostile answers ----------------------------------------------------------------------------------------------------------
def test_a_long_answer_with_control_characters_and_a_secret_is_kept_in_part(app, kit, hook):
    hook.reply = reply(200, b"\x1b[31mred\0 \xff password=hunter2 " + b"x" * 10_000_000)
    sent(app, hook)
    kit.drain()
    (found,) = app.webhooks.deliveries("billing")
    assert len(found.answer) == 1_000
    assert "\0" not in found.answer
    assert "hunter2" not in found.answer


def test_headers_of_a_caller_that_would_break_the_request_are_refused(app, kit, hook):
    for headers in ({"X-A": "b\r\nX-C: d"}, {"Host": "other"}, {f"X-{n}": "1" for n in range(51)}, {"X-A": "ä"}):
        job = sent(app, hook, headers=headers)
        kit.drain(raises=False)
        assert (job.job().state, len(app.attempts(job))) == ("dead", 1)
    assert hook.got == []


def test_bad_settings_and_payloads_are_refused(app, kit):
    for given in (
        {"allow": "10.0.0.0/8"},
        {"allow": [7]},
        {"allow": ["10.0.0.0/99"]},
        {"allow": ["http://x/"]},
        {"seconds": 0},
        {"seconds": 61},
        {"seconds": "soon"},
    ):
        with pytest.raises(ConfigError, match=next(iter(given))):
            webhook.register(Mainstay("sqlite:///:memory:"), **given)
    job = app.enqueue("webhook_dispatch", {"webhook_id": "nobody", "payload": {}})
    kit.drain()
    assert job.job().state == "cancelled"


# a kill -------------------------------------------------------------------------------------------------------------------
CHILD = """
import sys
from mainstay import Mainstay
from mainstay.handlers import webhook
app = Mainstay(sys.argv[1])
webhook.register(app, allow=["127.0.0.0/8"])
app.drain()
"""


def test_a_worker_that_is_killed_while_it_sends_costs_a_second_delivery_with_the_same_id(tmp_path, hook):
    url, held, go = f"sqlite:///{tmp_path / 'jobs.db'}", Event(), Event()
    with closing(Mainstay(url)) as app:
        hook.reply = lambda handler: (held.set(), go.wait(10))
        job = sent(app, hook)
        child = subprocess.Popen([sys.executable, "-c", CHILD, url], env=os.environ)
        assert held.wait(20)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert app.webhooks.deliveries("billing") == []  # nobody knows what came of it
        hook.reply = reply(200)
        go.set()
        subprocess.run([sys.executable, "-c", CHILD, url], check=True, timeout=30)
        assert job.job().state == "completed"
        assert [got.headers["webhook-id"] for got in hook.got] == [job.id, job.id]
        assert [each.status for each in app.webhooks.deliveries("billing")] == [200]


# a fleet ------------------------------------------------------------------------------------------------------------------
@pytest.mark.engines(*ONE_OF_EACH)
def test_of_many_deliveries_that_fail_at_once_one_disables_the_endpoint(engine_url, hook):
    hook.reply, told = reply(500), []
    with closing(Mainstay(engine_url)) as app:
        webhook.register(app, allow=LOCAL, retry=1)
        app.events.on("webhook_disabled", lambda webhook, reason: told.append((webhook, reason)))
        app.webhooks.add(hook.url, id="billing", max_failures=10)
        for _ in range(30):
            app.webhooks.send("a.b")
        assert app.drain(concurrency=8).dead == 30
        assert told == [("billing", "max_failures_exceeded")]
        assert 10 <= len(hook.got) == app.webhooks.show("billing").failed < 18  # those that were on their way
        assert len(app.list("code:500")) == len(hook.got)
        assert len(app.list("code:webhook_disabled")) == 30 - len(hook.got)

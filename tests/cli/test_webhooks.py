"""`webhooks`: endpoints are added, shown, changed and removed; a secret is shown once; an event is sent."""

import io
import json
import re

import pytest

from mainstay.cli import exits
from mainstay.core.export import DeliveryRecord

URL = "https://hooks.example.com/in?token=hunter2"


@pytest.fixture(autouse=True)
def there(app):
    app.store.set_setting("x", "1")  # the commands create no store


@pytest.fixture
def billing(app):
    app.webhooks.add(URL, "invoice.*", id="billing", max_failures=2)


def failed(app, count):
    for n in range(count):
        found = DeliveryRecord("billing", 0, f"job{n}", 1, 1, 500, 15, "the receiver replied 500", "\x1b[31mno\nmore")
        app.store.record_delivery(found, app.clock.now())


def test_an_endpoint_is_added_and_its_secret_shown_once(run, app):
    result = run("webhooks", "add", URL, "--events", "invoice.*", "--id", "billing", "--actor", "ada")
    assert re.fullmatch(r" id      billing\n secret  whsec_\S+\n", result.out)
    assert "it is not shown again" in result.err
    secret = result.out.split()[-1]
    made = json.loads(run("webhooks", "rotate", "billing", "--keep", "1h", "--json").out)
    assert (made["id"], made["secret"].startswith("whsec_"), made["secret"] == secret) == ("billing", True, False)
    shown = [
        run(*words).out for words in (["webhooks"], ["webhooks", "show", "billing", "--json"], ["audit", "--json"])
    ]
    assert not any(each in out for out in shown for each in (secret, made["secret"], "hunter2"))
    assert "ada  added the webhook billing: https://hooks.example.com/in?token=[redacted:token]" in run("audit").out
    assert run("webhooks", "-q").out == "billing\n"
    assert len(run("webhooks", "add", URL, "-q").out.split()) == 2


def test_a_secret_is_a_variable_or_comes_from_stdin_never_from_the_command_line(run, app, monkeypatch):
    wrong = run("webhooks", "add", URL, "--secret", "hunter3")
    assert (wrong.code, "hunter3" in wrong.err, "$NAME" in wrong.err) == (exits.USAGE, False, True)
    assert run("webhooks", "add", URL, "--id", "a", "--secret", "$LEDGER").code == exits.OK
    assert "$LEDGER" in run("webhooks", "show", "a").out
    own = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    monkeypatch.setattr("sys.stdin", io.StringIO(own + "\n"))
    result = run("webhooks", "add", URL, "--id", "b", "--secret", "-")
    assert (result.code, own in result.out + result.err) == (exits.OK, False)
    assert app.webhooks.destination("b")[1] == [own]


def test_an_endpoint_is_changed_disabled_enabled_and_removed(run, app, billing):
    failed(app, 2)
    assert "disabled" in run("webhooks").out
    shown = run("webhooks", "show", "billing").out
    assert "too many deliveries failed" in shown
    assert "2 of 2 that disable it within 24h" in shown
    assert "\x1b" not in shown
    result = run("webhooks", "enable", "billing")
    assert "mainstay retry 'type:webhook_dispatch state:dead code:webhook_disabled'" in result.err
    assert "is enabled already" in run("webhooks", "enable", "billing").err
    assert "to undo: mainstay webhooks enable billing" in run("webhooks", "disable", "billing", "--reason", "asked").err
    changed = run("webhooks", "update", "billing", "--events", "a.b", "--events", "c.*", "--max-failures", "9")
    assert "invoice.*  a.b; c.*" in changed.out
    assert "what to change?" in run("webhooks", "update", "billing").err
    assert run("webhooks", "remove", "billing", "--dry-run").code == exits.OK
    assert len(app.webhooks.list()) == 1
    assert run("webhooks", "remove", "billing").code == exits.OK
    assert app.webhooks.list() == []
    lines = run("audit").out
    assert "removed the webhook billing" in lines
    assert "mainstay  webhook billing: enabled yes → no" in lines
    assert "disabled_because max_failures_exceeded → –" in lines


def test_deliveries(run, app, billing):
    assert "nothing was sent there yet" in run("webhooks", "deliveries", "billing").err
    app.store.record_delivery(DeliveryRecord("billing", 0, "job9", 1, 1, 200, 15, None, "thanks"), app.clock.now())
    failed(app, 1)
    lines = run("webhooks", "deliveries", "billing").out.splitlines()
    assert len(lines) == 3
    assert {line.split()[3] for line in lines[1:]} == {"500", "200"}
    assert run("webhooks", "deliveries", "billing", "--failed", "-q").out == "job0\n"
    (found,) = json.loads(run("webhooks", "deliveries", "billing", "--failed", "--json").out)
    assert (found["status"], found["error"], found["answer"]) == (500, "the receiver replied 500", "\x1b[31mno\nmore")


def test_an_event_is_sent(run, app, billing):
    (job,) = run("webhooks", "send", "invoice.paid", "id=7", "-q").out.split()
    assert json.loads(app.store.get(job).payload)["payload"]["data"] == {"id": 7}
    assert "no endpoint wants order.paid" in run("webhooks", "send", "order.paid").err
    assert len(run("webhooks", "send", "webhook.test", "--to", "billing").out.split()) == 1
    assert "give words with dots" in run("webhooks", "send", "a b").err
    wrong = run("webhooks", "send", "invoice.paid", '{"id": 7}')
    assert (wrong.code, "try: mainstay webhooks send invoice.paid id=7" in wrong.err) == (exits.USAGE, True)


def test_the_url_of_an_endpoint_is_not_that_of_the_store(run):
    assert "Missing argument 'ENDPOINT_URL'" in run("webhooks", "add").err


def test_show_prints_the_last_error_and_the_fields_that_are_asked_for(run, app, billing):
    assert "last error" not in run("webhooks", "show", "billing").out
    failed(app, 1)
    assert " last error  the receiver replied 500\n" in run("webhooks", "show", "billing").out
    assert run("webhooks", "show", "billing", "--fields", "id,failed").out.split() == ["id", "failed", "billing", "1"]
    assert run("webhooks", "show", "billing", "--fields", "urll").code == exits.USAGE


def test_a_name_that_is_none_is_corrected(run, billing):
    for verb in ("show", "enable", "disable", "remove", "rotate", "deliveries"):
        wrong = run("webhooks", verb, "biling")
        assert (wrong.code, 'did you mean "billing"?' in wrong.err, "app." in wrong.err) == (exits.MISSING, True, False)

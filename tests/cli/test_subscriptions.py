"""`subscriptions`, `publish` and `incoming`: events create jobs, and messages from outside create events."""

import hashlib
import hmac
import io
import json

import pytest

from mainstay.cli import exits
from mainstay.core.job import TypeInfo


@pytest.fixture(autouse=True)
def there(app):
    app.store.register_types([TypeInfo("book", "default", "book(invoice: int)", {}, 1)])


def test_a_subscription_is_added_listed_changed_and_removed(run, app):
    words = ["subscriptions", "add", "ledger", "invoice.*", "book", "invoice=$.data.id", "note=7"]
    result = run(*words, "--queue", "money", "--key", "i-{data.id}", "--tag", "eu", "--in", "5m", "--actor", "ada")
    assert (result.code, "each invoice.* creates a job of book." in result.err) == (exits.OK, True)
    assert "to undo: mainstay subscriptions remove ledger" in result.err
    (found,) = json.loads(run("subscriptions", "--json").out)
    assert (found["args"], found["enabled"]) == ({"invoice": "$.data.id", "note": 7}, True)
    assert found["options"] == {"queue": "money", "key": "i-{data.id}", "tags": ["eu"], "delay": "5m"}
    assert "invoice.*" in run("subscriptions").out
    assert run("subscriptions", "-q").out == "ledger\n"
    assert run(*words).code == exits.CONFLICT
    assert run(*words, "--replace").code == exits.OK
    assert "to undo: mainstay subscriptions enable ledger" in run("subscriptions", "disable", "ledger").err
    assert "is disabled already" in run("subscriptions", "disable", "ledger").err
    assert run("subscriptions", "enable", "ledger").code == exits.OK
    assert run("subscriptions", "remove", "ledger", "--dry-run").code == exits.OK
    assert "the subscription ledger is removed." in run("subscriptions", "remove", "ledger").err
    assert "nothing subscribes" in run("subscriptions").err
    lines = run("audit").out
    assert "ada  added the subscription ledger: invoice.* → book" in lines
    assert "subscription ledger: enabled yes → no" in lines
    assert "removed the subscription ledger" in lines


def test_an_event_is_published(run, app):
    app.subscriptions.add("ledger", "invoice.*", "book", {"invoice": "$.data.id"})
    (job,) = run("publish", "invoice.paid", "id=7", "--key", "k", "-q").out.split()
    assert json.loads(app.store.get(job).payload) == {"invoice": 7}
    again = json.loads(run("publish", "invoice.paid", "id=7", "--key", "k", "--json").out)
    assert again == [{"subscription": "ledger", "id": job, "created": False}]
    assert "was there" in run("publish", "invoice.paid", "id=7", "--key", "k").out
    assert "nothing subscribes to order.paid" in run("publish", "order.paid").err
    missing = run("publish", "invoice.paid", "x=7")
    assert (missing.code != exits.OK, "data.id" in missing.err) == (True, True)
    wrong = run("publish", "invoice.paid", "{}")
    assert (wrong.code, "try: mainstay publish invoice.paid id=7" in wrong.err) == (exits.USAGE, True)


@pytest.mark.parametrize(
    "words",
    ["add ledger invoice.paid bok", "add ledger a/b book", "add ledger invoice.paid book x", "add ledger invoice.paid book x=$.y", "remove ldger",
     "add ledger invoice.paid book --priority 9999"],
)  # fmt: skip
def test_bad_input_changes_nothing(run, app, words):
    result = run("subscriptions", *words.split())
    assert result.code in (exits.USAGE, exits.MISSING)
    assert "app." not in result.err
    assert app.subscriptions.list() == []


def test_a_receiver_is_added_and_its_secret_shown_once(run, app):
    result = run(
        "incoming", "add", "hub", "--scheme", "github", "--event", "github.{headers.x-github-event}", "--actor", "ada"
    )
    name, secret = result.out.split()[1::2]
    assert (name, "it is not shown again" in result.err) == ("hub", True)
    app.subscriptions.add("ledger", "github.push", "book", {"invoice": "$.data.n"})
    headers = {
        "x-hub-signature-256": "sha256=" + hmac.new(secret.encode(), b'{"n":1}', hashlib.sha256).hexdigest(),
        "x-github-event": "push",
    }
    assert app.incoming.receive("hub", headers, b'{"n":1}')[0].created
    new = json.loads(run("incoming", "rotate", "hub", "--keep", "1h", "--json").out)["secret"]
    shown = [run(*words).out for words in (["incoming"], ["incoming", "--json"], ["audit"], ["audit", "--json"])]
    assert not any(each in out for out in shown for each in (secret, new))
    assert "github" in shown[0]
    assert "ada  added the receiver hub: github.{headers.x-github-event}" in shown[2]
    assert "to undo: mainstay incoming enable hub" in run("incoming", "disable", "hub").err
    assert run("incoming", "enable", "hub").code == exits.OK
    assert run("incoming", "remove", "hub").code == exits.OK
    assert "there are no receivers" in run("incoming").err


def test_a_secret_is_a_variable_or_comes_from_stdin_never_from_the_command_line(run, app, monkeypatch):
    wrong = run("incoming", "add", "pay", "--scheme", "stripe", "--type", "book", "--secret", "hunter22")
    assert (wrong.code, "hunter22" in wrong.err) == (exits.USAGE, False)
    assert run("incoming", "add", "pay", "--scheme", "stripe", "--type", "book", "--secret", "$PAY").code == exits.OK
    assert "$PAY" in run("incoming").out
    monkeypatch.setattr("sys.stdin", io.StringIO("hunter22\n"))
    result = run(
        "incoming",
        "add",
        "shop",
        "invoice=$.data.id",
        "--scheme",
        "hmac",
        "--type",
        "book",
        "--header",
        "X-Shop",
        "--secret",
        "-",
    )
    assert (result.code, "hunter22" in result.out + result.err) == (exits.OK, False)
    assert app.incoming.show("shop").args == {"invoice": "$.data.id"}
    headers = {"x-shop": hmac.new(b"hunter22", b'{"id":1}', hashlib.sha256).hexdigest()}
    assert app.incoming.receive("shop", headers, b'{"id":1}')[0].created


@pytest.mark.parametrize(
    "words",
    [
        "add x",
        "add x --event a.b --type book",
        "add x --scheme stripe --type book",
        "rotate x",
        "add x --event a.b --queue q",
    ],
)
def test_a_wrong_receiver_changes_nothing(run, app, words):
    result = run("incoming", *words.split())
    assert result.code in (exits.USAGE, exits.MISSING)
    assert "app." not in result.err
    assert app.incoming.list() == []

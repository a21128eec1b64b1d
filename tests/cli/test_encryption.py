"""`mainstay encryption`, and commands on an encrypted installation."""

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mainstay import Mainstay
from mainstay.cli import exits
from mainstay.core import fields
from mainstay.core.export import JobRecord, Rewrite
from mainstay.core.outcome import Outcome
from tests.cli.shop import Shop
from tests.waiting import eventually

ONE, TWO = (f"{name}:{base64.b64encode(byte * 32).decode()}" for name, byte in (("k1", b"1"), ("k2", b"2")))
KEYS = "MAINSTAY_ENCRYPTION_KEYS"


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv(KEYS, ONE)
    yield
    fields.hashed = None


def test_a_new_key_is_an_entry_for_the_variable(run, monkeypatch):
    made = run("encryption", "new-key", "k2", "-q").out.strip()
    assert made.startswith("k2:")
    assert len(base64.urlsafe_b64decode(made.partition(":")[2])) == 32
    assert json.loads(run("encryption", "new-key", "--json").out)["entry"].startswith("k1:")


def test_keys_are_rotated(run, app, monkeypatch):
    job = Shop(app).dead(payload='{"to": "ann"}')
    monkeypatch.setenv(KEYS, f"{TWO},{ONE}")
    assert "2 keys" not in run("encryption").out
    assert json.loads(run("encryption", "--json").out) == {
        "keys": ["k2", "k1"],
        "seals": "k2",
        "used": ["k1"],
        "missing": [],
        "wrong": [],
    }
    assert "encrypted with the first key" in run("encryption", "rotate").err
    monkeypatch.setenv(KEYS, TWO)
    assert json.loads(run("show", job, "--json").out)["args"] == {"to": "ann"}
    assert json.loads(run("encryption", "rotate", "--json").out) == {"sealed": 0, "unreadable": 0}


def test_a_rotation_that_is_killed_goes_on(run, app, url, monkeypatch):
    """Killed at any moment, every value opens with one of the keys, and the same command goes on."""
    drafts = [app.prepare("mail", {"n": n}) for n in range(600)]
    app.enqueue_many(drafts)
    monkeypatch.setenv(KEYS, f"{TWO},{ONE}")
    process = subprocess.Popen([sys.executable, "-m", "mainstay", "encryption", "rotate"], stderr=subprocess.DEVNULL)
    place = JobRecord._fields.index("payload")
    rows = lambda: [row[place] for row in app.store.export_rows("jobs", None, 1_000).rows]  # noqa: E731
    eventually(lambda: any(text.startswith("enc:1:k2:") for text in rows()), "a value sealed with the new key")
    process.kill()
    process.wait()
    with Mainstay(url).store as store:
        found = store.get_many([row[0] for row in app.store.export_rows("jobs", None, 1_000).rows])
        assert sorted(json.loads(job.payload)["n"] for job in found) == list(range(600))
    assert run("encryption", "rotate").code == exits.OK
    assert all(text.startswith("enc:1:k2:") for text in rows())


def test_a_missing_key_is_named(run, app, monkeypatch):
    job = Shop(app).add(payload='{"to": "ann"}')
    monkeypatch.setenv(KEYS, TWO)
    status = run("encryption")
    assert (status.code, "missing" in status.out) == (exits.FAILED, True)
    refused = run("enqueue", "mail")
    assert (refused.code, "'k1'" in refused.err) == (exits.USAGE, True)
    shown = run("show", job)
    assert (shown.code, "'k1'" in shown.err, "mainstay encryption" in shown.err) == (exits.USAGE, True, True)


@pytest.mark.parametrize("words", ["ls", "enqueue mail", "encryption rotate", "status"])
def test_without_keys_every_command_says_what_to_set(run, app, monkeypatch, words):
    Shop(app).add()
    monkeypatch.delenv(KEYS)
    refused = run(*words.split())
    assert refused.code == exits.USAGE
    assert KEYS in refused.err


def test_a_mistake_in_the_variable_shows_no_key(run, app, monkeypatch):
    monkeypatch.setenv(KEYS, "k1:c2VjcmV0")
    refused = run("ls")
    assert refused.code == exits.USAGE
    assert "entry 1" in refused.err
    assert "c2VjcmV0" not in refused.err


def test_a_search_in_arguments_is_refused(run, app):
    Shop(app).add()
    refused = run("ls", "args.to:ann")
    assert (refused.code, "encrypted" in refused.err) == (exits.USAGE, True)
    assert run("ls", "type:mail").code == exits.OK


def test_it_is_not_encrypted(run, app, monkeypatch):
    monkeypatch.delenv(KEYS)
    app.store.inner.types()
    assert "not encrypted" in run("encryption").out


def test_what_a_removed_key_has_sealed_in_the_audit_trail_stops_no_command(run, app, monkeypatch):
    """The texts of the trail keep their key: once it is removed they show as they are stored."""
    job = Shop(app).add(payload='{"to": "ann"}')
    app.schedule("nightly", app.prepare("mail", {"to": "ann"}), every="1d")
    app.subscriptions.add("ledger", "invoice.*", "mail", {"to": "ann"})
    run("schedules", "set", "nightly", "to=bea")
    run("subscriptions", "disable", "ledger")
    run("amend", "type:mail", "--set", "to=cleo", "--yes")
    monkeypatch.setenv(KEYS, f"{TWO},{ONE}")
    assert run("encryption", "rotate").code == exits.OK
    monkeypatch.setenv(KEYS, TWO)
    for words in (("audit",), ("audit", "--json"), ("show", job), ("bulk",), ("schedules",), ("subscriptions",)):
        assert run(*words).code == exits.OK
    shown = run("audit").out
    assert "amend: 1 of 1 job of type:mail (with=enc:1:k1:" in shown
    assert "ann" not in shown + run("audit", "--json").out


def test_a_damaged_value_stops_no_command_about_others(run, app):
    shop = Shop(app)
    job = shop.end(Outcome("completed", result='{"sum": 1}'), payload='{"to": "ann"}')
    inner = app.store.inner
    for column, raw in (("payload", inner.get(job).payload), ("result", inner.result(job))):
        inner.rewrite(job, [Rewrite(column, raw, raw[:-6] + "AAAAA=")])
    shown = run("show", job)
    assert (shown.code, "[unreadable: a value that was encrypted with the key 'k1'" in shown.out) == (exits.OK, True)
    assert json.loads(run("show", job, "--json").out)["result"].startswith("[unreadable: ")
    waiting = shop.add(payload='{"to": "bea"}')
    raw = inner.get(waiting).payload
    inner.rewrite(waiting, [Rewrite("payload", raw, raw[:-6] + "AAAAA=")])
    Path("new.json").write_text('{"to": "cleo"}', encoding="utf-8")
    edited = run("edit", waiting, "--from", "new.json")
    assert (edited.code, "is encrypted, and cannot be decrypted here" in edited.err) == (exits.USAGE, True)

"""An encrypted installation with other keys than its own: every verb refuses before it reads, seals, exports or removes anything."""

import base64
import json
import sqlite3
from contextlib import closing

import pytest

from mainstay import Mainstay
from mainstay.control.encryption import status
from mainstay.core import fields
from mainstay.core.change import Edit, Wish
from mainstay.core.errors import ConfigError, InvalidPayload
from mainstay.core.export import DeliveryRecord, Rewrite
from mainstay.core.job import Rule
from mainstay.core.keyring import VARIABLE, parse
from mainstay.core.outcome import Outcome
from mainstay.job import job_of
from mainstay.stores.encrypted import EncryptedStore
from tests.contract.building import draft
from tests.servers.engines import ONE_OF_EACH

OWN, MISSING, WRONG = (
    f"{name}:{base64.b64encode(byte * 32).decode()}" for name, byte in (("k1", b"1"), ("k2", b"2"), ("k1", b"x"))
)
PAYLOAD = json.dumps({"to": "hunter-planted"})

pytestmark = pytest.mark.engines(*ONE_OF_EACH)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv(VARIABLE, OWN)
    yield
    fields.hashed = None


@pytest.fixture(params=[WRONG, MISSING], ids=["another", "missing"])
def stranger(request, desk):
    """The same store with a key that is not the installation's."""
    desk.store.set_rule(Rule("webhook", "billing", {"set": {"url": "https://a.example/?token=1"}}, "ann", desk.now))
    return EncryptedStore(desk.store.inner, parse(request.param))


VERBS = {
    "get": lambda store, job, now: store.get(job),
    "result": lambda store, job, now: store.result(job),
    "attempts": lambda store, job, now: store.attempts(job),
    "logs": lambda store, job, now: store.logs(job, 0, 9),
    "audit": lambda store, job, now: store.audit(9),
    "rules": lambda store, job, now: store.rules(["webhook"]),
    "export": lambda store, job, now: store.export_jobs([job]),
    "change a rule": lambda store, job, now: store.set_rule(Rule("webhook", "billing", {"set": {}}, "ann", now)),
    "cancel": lambda store, job, now: store.cancel([job], now, "ann", note="no"),
    "edit": lambda store, job, now: store.change([job], now, "ann", Wish(edits={job: Edit(PAYLOAD, "{}", None)})),
    "delivery": lambda store, job, now: store.record_delivery(DeliveryRecord("billing", 0, job, 1, 1, 200, 1, "e", "a"), now),
    "enqueue": lambda store, job, now: store.enqueue([draft(payload=PAYLOAD)], now),
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_works_with_other_keys(desk, stranger, verb):
    claimed = desk.run(payload=PAYLOAD)
    desk.end(claimed, Outcome("completed", result=PAYLOAD))
    job = claimed.id
    before = desk.store.inner.export_rows("jobs", None, 9).rows, desk.store.inner.rules(["webhook"])
    with pytest.raises(ConfigError, match="this installation is encrypted"):
        VERBS[verb](stranger, job, desk.now)
    assert (desk.store.inner.export_rows("jobs", None, 9).rows, desk.store.inner.rules(["webhook"])) == before


def test_looking_does_not_switch_encryption_on(store, clock, monkeypatch):
    """A shell that has the variable, beside workers that have not: `mainstay ls` must not lock them out."""
    reader = EncryptedStore(store.inner, parse(OWN))
    reader.rules(["pause"])
    reader.get_many([])
    assert (reader.verified, reader.inner.setting("encryption")) == (True, None)


def test_the_status_tells_another_key_of_the_same_name(desk, stranger):
    desk.add()
    found = status(stranger)
    assert found["missing"] + found["wrong"] == ["k1"]
    assert status(desk.store)["wrong"] == []


@pytest.mark.engines("sqlite", "postgres")
def test_a_transaction_takes_no_job_that_nobody_could_read(url, clock, monkeypatch):
    with closing(Mainstay(url)) as app:
        app.enqueue("mail", {"to": "ann"})
    monkeypatch.setenv(VARIABLE, WRONG)
    with closing(Mainstay(url)) as app, closing(_connected(url)) as connection:
        connection.execute("BEGIN")
        with pytest.raises(ConfigError, match="'k1'"):
            app.enqueue("mail", {"to": "bea"}, tx=connection)
        connection.execute("ROLLBACK")


def _connected(url):
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    import psycopg

    return psycopg.connect(url.partition("?")[0])


# one value that cannot be opened ------------------------------------------------------------------------------------------
def test_a_damaged_value_is_named_where_it_is_read(desk):
    job = desk.run(payload=PAYLOAD)
    desk.end(job, Outcome("completed", result=PAYLOAD))
    raw = desk.store.inner.get(job.id).payload
    desk.store.inner.rewrite(job.id, [Rewrite("payload", raw, raw[:-6] + "AAAAA=")])
    with pytest.raises(InvalidPayload, match="cannot be decrypted here"):
        _ = job_of(desk.store.get(job.id), desk.store).args

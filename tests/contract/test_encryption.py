"""An encrypted installation: what is stored is sealed, what is read is what was written, and nothing runs without its key."""

import base64
import json

import pytest

from mainstay import Mainstay, by
from mainstay.control.encryption import Rotation, status
from mainstay.core import fields
from mainstay.core.change import Edit, Wish
from mainstay.core.errors import ConfigError, UsageError
from mainstay.core.export import PARTS, DeliveryRecord, Rewrite
from mainstay.core.job import Rule
from mainstay.core.keyring import MARK, VARIABLE, Unreadable
from mainstay.core.outcome import Outcome
from mainstay.core.search_terms import Term
from mainstay.core.updates import Line
from mainstay.stores import move, open_store
from mainstay.stores.encrypted import SETTING
from mainstay.stores.sealing import PRIVATE, SECRETS
from mainstay.worker.packed_lines import cleaned, pack
from tests.contract.building import checkpoint, draft, log, progress
from tests.servers.engines import ONE_OF_EACH

ONE, TWO, OTHER = (
    f"{name}:{base64.b64encode(byte * 32).decode()}" for name, byte in (("k1", b"1"), ("k2", b"2"), ("k1", b"x"))
)
SECRET = "hunter-planted"
PAYLOAD = json.dumps({"to": SECRET})
FAILED = Outcome("failed", f"ValueError: {SECRET}", f"Traceback {SECRET}", retry=False, reason=f"because {SECRET}")
REVIEW = Outcome("review", reason=f"may I {SECRET}?", result=json.dumps(SECRET), children=(draft("child", PAYLOAD),))
DONE = Outcome("completed", result=json.dumps(SECRET))

pytestmark = pytest.mark.engines(*ONE_OF_EACH)


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv(VARIABLE, ONE)
    yield
    fields.hashed = None


@pytest.fixture
def others(store, url, clock, monkeypatch):
    """Opens the same jobs with other keys; engines that cannot be shared are wrapped anew."""
    opened = []

    def others(keys):
        monkeypatch.setenv(VARIABLE, keys)
        if ":memory:" in url:
            from mainstay.core.keyring import parse
            from mainstay.stores.encrypted import EncryptedStore

            return EncryptedStore(store.inner, parse(keys))
        opened.append(open_store(url, clock))
        return opened[-1]

    yield others
    for each in opened:
        each.close()


def rows(store):
    """Everything that is stored, as text."""
    found = []
    for part in PARTS:
        after = None
        while True:
            batch = store.export_rows(part, after, 100)
            found += [json.dumps(row, default=str) for row in batch.rows]
            after = batch.after
            if after is None:
                break
    return "\n".join(found)


def fill(desk):
    """Jobs with secrets in every text; returns their ids."""
    ids = {}
    for name, outcome in (("dead", FAILED), ("review", REVIEW), ("done", DONE)):
        job = desk.run(payload=PAYLOAD)
        lines = [Line(n, 7, "error", "s", f"{n} {SECRET}", PAYLOAD) for n in (2, 3)]
        several = cleaned(pack((job.seq, job.token), lines, 9))
        told = progress(job)._replace(details=PAYLOAD)
        lines = [log(job, message=f"sent {SECRET}", fields=PAYLOAD), *several, checkpoint(job, PAYLOAD), told]
        desk.store.finish([], lines)
        assert desk.end(job, outcome) == "stored"
        ids[name] = job.id
    ids["waiting"] = desk.add(payload=PAYLOAD, run_at=desk.now + 10**9)
    spec = {"job": draft(payload=PAYLOAD).values(), "every": 60_000}
    desk.store.set_rule(Rule("schedule", "nightly", {"set": spec}, "ann", desk.now, "by night"))
    desk.store.cancel([desk.add(payload=PAYLOAD)], desk.now, "ann", note=f"no {SECRET}")
    return ids


def test_what_is_written_is_sealed_and_what_is_read_is_plain(desk):
    ids = fill(desk)
    assert SECRET not in rows(desk.store)
    dead, review = desk.job(ids["dead"]), desk.job(ids["review"])
    assert (dead.payload, dead.error, dead.reason) == (PAYLOAD, FAILED.error, FAILED.reason)
    (attempt,) = desk.store.attempts(dead.id)
    assert (attempt.error, attempt.traceback) == (FAILED.error, FAILED.traceback)
    assert [line.message for line in desk.store.logs(dead.id, 0, 9)] == [f"sent {SECRET}", f"2 {SECRET}", f"3 {SECRET}"]
    assert all(line.fields == {"to": SECRET} for line in desk.store.logs(dead.id, 0, 9))
    assert {line.message for line in desk.store.warnings(0, 9)[0]} == {f"2 {SECRET}", f"3 {SECRET}"}
    assert dead.details == PAYLOAD
    assert desk.store.checkpoint(dead.id) == PAYLOAD
    assert json.loads(review.review)["question"] == REVIEW.reason
    assert desk.store.result(ids["done"]) == DONE.result
    assert any(action.detail.get("note") == f"no {SECRET}" for action in desk.store.actions(None, 9))
    (rule,) = desk.store.rules(["schedule"])
    assert rule.value["set"]["job"]["payload"] == PAYLOAD


def test_a_handler_gets_its_payload_and_children_get_theirs(desk):
    ids = fill(desk)
    assert (
        desk.store.resolve_review(ids["review"], True, desk.now, "ann", f"yes {SECRET}", output=json.dumps([SECRET]))
        == "approved"
    )
    (child,) = desk.take(wants={"default": ["child"]})
    assert child.payload == PAYLOAD
    assert desk.store.result(ids["review"]) == json.dumps([SECRET])
    assert desk.job(ids["review"]).reason == f"yes {SECRET}"
    assert SECRET not in rows(desk.store)


def test_an_edit_is_compared_with_what_it_was(desk):
    job = desk.add(payload=PAYLOAD)
    edit = Edit(PAYLOAD, '{"to": "other"}', None)
    assert desk.store.change([job], desk.now, "ann", Wish(edits={job: edit})) == {job: "changed"}
    assert desk.store.change([job], desk.now, "ann", Wish(edits={job: edit})) == {job: "stale"}
    assert desk.job(job).payload == '{"to": "other"}'
    assert SECRET in desk.store.actions(job, 1)[0].detail["payload"]
    assert SECRET not in rows(desk.store)


def test_a_key_that_follows_from_a_payload_is_a_hash_and_still_unique(store, clock):
    app = Mainstay(store=store, clock=clock)
    app.job(lambda to: None, name="mail", key=by("to"))
    first, second = app.enqueue("mail", {"to": SECRET}), app.enqueue("mail", {"to": SECRET})
    assert (second.id, second.created) == (first.id, False)
    assert store.get(first.id).key.startswith("hmac:")
    assert SECRET not in rows(store)
    replaced = app.enqueue("mail", {"to": SECRET}, on_conflict="replace")
    assert app.get(replaced).args == {"to": SECRET}
    assert store.get(app.enqueue("mail", {"to": SECRET}, key="mine", tenant="acme").id).key == "mine"


@pytest.mark.parametrize(
    "term", [Term("args", "=", ("1",), path=("n",)), Term("text", "~", ("x",)), Term("error", "~", ("x",))]
)
def test_a_search_in_what_is_sealed_is_refused(desk, term):
    with pytest.raises(UsageError, match="encrypted, so no search can look"):
        desk.store.search([term], 10, None, desk.now)
    with pytest.raises(UsageError, match="encrypted"):
        desk.store.cancel([desk.add()], desk.now, "ann", [term])


def test_a_value_cannot_be_put_in_the_place_of_another(desk):
    first, second = desk.bring("completed", payload='{"n": 1}'), desk.bring("dead", payload='{"n": 2}')
    raw = {job.id: job.payload for job in desk.store.inner.get_many([first, second])}
    desk.store.inner.rewrite(first, [Rewrite("payload", raw[first], raw[second])])
    assert desk.job(first).payload == raw[second]  # as it is stored: it cannot be opened there


# keys -----------------------------------------------------------------------------------------------------------------
def test_a_missing_or_another_key_is_refused_by_name(desk, others):
    desk.add()
    for keys in (TWO, OTHER):
        with pytest.raises(ConfigError, match=r"this installation is encrypted.*'k1'"):
            others(keys).enqueue([draft()], desk.now)


def test_a_program_without_keys_is_refused_when_it_connects(desk, shared, clock, monkeypatch):
    desk.add()
    monkeypatch.delenv(VARIABLE)
    with open_store(shared, clock) as store, pytest.raises(ConfigError, match=f"is encrypted: set {VARIABLE}"):
        store.enqueue([draft()], desk.now)


def test_a_damaged_payload_is_dead_and_its_worker_goes_on(desk):
    damaged, whole = desk.add(payload=PAYLOAD), desk.add(payload=PAYLOAD)
    raw = desk.store.inner.get(damaged).payload
    desk.store.inner.rewrite(damaged, [Rewrite("payload", raw, raw[:-6] + "AAAAA=")])
    assert [job.id for job in desk.take(2)] == [whole]
    found = desk.job(damaged)
    assert (found.state, found.reason) == ("dead", "it cannot be decrypted")
    assert "'k1'" in found.error


def test_a_job_whose_key_is_missing_here_waits_and_loses_no_attempt(desk, others):
    job = desk.add(payload=PAYLOAD, max_attempts=1)
    stranger = others(TWO)
    stranger.verified = stranger._recorded = True  # when it started, the key was not in use yet
    assert stranger.claim("w-first", {"default": ["work"]}, 1, desk.now).jobs == []
    found = desk.job(job)
    assert (found.state, found.attempt, desk.store.attempts(job)) == ("scheduled", 0, [])
    assert "the key 'k1', which" in found.reason
    with pytest.raises(UsageError, match="cannot be enqueued"):
        stranger.enqueue([draft(payload=stranger.get(job).payload)], desk.now)


def test_a_damaged_result_names_its_key(desk):
    job = desk.run()
    desk.end(job, DONE)
    raw = desk.store.inner.result(job.id)
    desk.store.inner.rewrite(job.id, [Rewrite("result", raw, raw[:-6] + "AAAAA=")])
    with pytest.raises(Unreadable, match="'k1'"):
        desk.store.result(job.id)


# rotation -------------------------------------------------------------------------------------------------------------
def test_rotation_seals_everything_with_the_first_key(desk, others):
    ids = fill(desk)
    desk.store.resolve_review(ids["review"], None, desk.now, "ann", "")
    store = others(f"{TWO},{ONE}")
    assert Rotation(store).run(lambda count: None)["unreadable"] == 0
    told = "\n".join(line for line in rows(store).split("\n") if "ann" not in line)  # the audit trail stays
    assert f"{MARK}k1" not in told
    assert f"{MARK}k2" in told
    assert list(json.loads(store.setting(SETTING))) == ["k2"]
    alone = others(TWO)
    assert alone.get(ids["dead"]).payload == PAYLOAD
    assert alone.attempts(ids["dead"])[0].traceback == FAILED.traceback
    assert [line.fields for line in alone.logs(ids["dead"], 0, 9)] == [{"to": SECRET}] * 3
    assert alone.get(ids["dead"]).details == PAYLOAD
    assert alone.checkpoint(ids["dead"]) == PAYLOAD
    assert alone.result(ids["done"]) == DONE.result
    assert alone.rules(["schedule"])[0].value["set"]["job"]["payload"] == PAYLOAD
    assert Rotation(alone).run(lambda count: None)["sealed"] == 0


def test_rotation_that_was_stopped_goes_on(desk, others):
    fill(desk)
    store = others(f"{TWO},{ONE}")

    def stop(count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Rotation(store).run(stop)
    assert f"{MARK}k1" in rows(store)
    assert {*json.loads(store.setting(SETTING))} == {"k1", "k2"}
    Rotation(store).run(lambda count: None)
    assert others(TWO).get(desk.add()) is not None


def test_old_rows_stay_readable_and_rotation_seals_them(desk):
    plain = desk.store.inner
    ((old, _),) = plain.enqueue([draft(payload=PAYLOAD)], desk.now)
    assert desk.job(old).payload == PAYLOAD
    (job,) = desk.take(1)
    lines = [Line(n, 7, "info", None, f"{n} é {SECRET}", PAYLOAD) for n in (2, 3)]
    several = cleaned(pack((job.seq, job.token), lines, 9))
    plain.finish([], [log(job, message=SECRET, fields=PAYLOAD), *several, checkpoint(job, PAYLOAD)])
    assert desk.store.checkpoint(old) == PAYLOAD
    assert Rotation(desk.store).run(lambda count: None) == {"sealed": 8}
    assert SECRET not in rows(desk.store)
    assert desk.job(old).payload == PAYLOAD
    assert [line.message for line in desk.store.logs(old, 0, 9)] == [SECRET, f"2 é {SECRET}", f"3 é {SECRET}"]


def test_the_status_names_the_keys(desk, others):
    desk.add()
    found = {"keys": ["k2", "k1"], "seals": "k2", "used": ["k1"], "missing": [], "wrong": []}
    assert status(others(f"{TWO},{ONE}")) == found
    assert status(others(TWO))["missing"] == ["k1"]


# files ----------------------------------------------------------------------------------------------------------------
def test_a_move_keeps_values_as_they_are(desk, target):
    ids = fill(desk)
    desk.store.resolve_review(ids["review"], None, desk.now, "ann", "")
    desk.store.deregister("w-first")
    before = rows(desk.store)
    move.move(desk.store, target, lambda *_: None, clock=desk.clock)
    assert {line for line in before.split("\n") if MARK in line} <= {
        line for line in rows(target).split("\n") if MARK in line
    }
    assert target.get(ids["dead"]).payload == PAYLOAD


def test_an_export_is_plain_and_an_import_is_sealed(desk, target):
    ids = fill(desk)
    (history,) = desk.store.export_jobs([ids["dead"]])
    assert history.job.payload == PAYLOAD
    assert history.attempts[0].error == FAILED.error
    target.import_jobs([history])
    assert SECRET not in rows(target)
    assert target.get(ids["dead"]).payload == PAYLOAD


def test_what_operators_did_and_children_are_plain_in_an_export_and_sealed_by_an_import(desk, target):
    ids = fill(desk)
    edit = Edit(PAYLOAD, PAYLOAD.replace(SECRET, f"{SECRET}-2"), None, None)
    desk.store.change([ids["waiting"]], desk.now, "ann", Wish(edits={ids["waiting"]: edit}))
    desk.store.cancel([ids["waiting"]], desk.now, "ann", note=f"no {SECRET}")
    histories = desk.store.export_jobs([ids["review"], ids["waiting"]])
    assert json.loads(histories[0].job.children)[0]["payload"] == PAYLOAD
    assert [SECRET in action.detail for action in histories[1].actions] == [True, True]
    target.import_jobs(histories)
    assert SECRET not in rows(target)
    assert target.export_jobs([ids["review"]])[0].job.children == histories[0].job.children
    assert [SECRET in repr(action.detail) for action in target.actions(ids["waiting"], 9)] == [True, True]


def test_an_incident_is_sealed_compared_as_it_was_and_rotated(desk, others):
    value = {
        "alert": ["dead", "work", "error", "a job is dead", f"the last said {SECRET}"],
        "owed": [{"id": "1", "alert": ["dead", "", "", "", SECRET]}],
    }
    desk.store.set_rule(Rule("trouble", "dead:work", value, "", desk.now))
    (found,) = desk.store.rules(["trouble"])
    assert found.value == value
    assert SECRET not in rows(desk.store)
    desk.store.set_rule(found._replace(value=value | {"lease": 5}), was=(found,))
    assert desk.store.rules(["trouble"])[0].value == value | {"lease": 5}
    Rotation(others(f"{TWO},{ONE}")).run(lambda _: None)
    assert others(TWO).rules(["trouble"])[0].value == value | {"lease": 5}


def test_webhooks_are_sealed_and_rotated(desk, others):
    app, plain = Mainstay(store=desk.store, clock=desk.clock), desk.store.inner
    made = app.webhooks.add(f"https://hooks.example.com/{SECRET}", id="billing", description=SECRET, max_failures=2)
    for n in range(2):  # the second disables it: what counts is not sealed
        found = desk.store.record_delivery(
            DeliveryRecord("billing", 0, f"j{n}", 1, 1, 500, 5, SECRET, SECRET), desk.now
        )
    assert found == "max_failures_exceeded"
    assert app.webhooks.update("billing", max_failures=3).changed
    seen, deliveries = app.webhooks.show("billing"), app.webhooks.deliveries("billing")
    assert (seen.url, seen.description, deliveries[0].answer) == (
        f"https://hooks.example.com/{SECRET}", SECRET, SECRET,
    )  # fmt: skip
    assert app.actions()[0].detail["after"]["set"]["description"] == SECRET
    for hidden in (SECRET, made.secret):
        assert hidden not in rows(desk.store)
        assert hidden not in repr([plain.rules([kind]) for kind in ("webhook", "webhook_secret")])
    Rotation(others(f"{TWO},{ONE}")).run(lambda _: None)
    assert Rotation(others(f"{TWO},{ONE}")).run(lambda _: None)["sealed"] == 0
    with others(TWO) as store:
        app = Mainstay(store=store, clock=desk.clock)
        assert (app.webhooks.show("billing")._replace(updated_at=None), app.webhooks.deliveries("billing")) == (
            seen._replace(updated_at=None), deliveries,
        )  # fmt: skip
        assert store.rules(["webhook_secret"])[0].value["secrets"] == [[made.secret, None]]


def test_the_secret_of_a_webhook_is_no_note(desk):
    app, plain = Mainstay(store=desk.store, clock=desk.clock), desk.store.inner
    made = app.webhooks.add("https://hooks.example.com/", id="billing")
    dead = fill(desk)["dead"]
    ((sealed, _),) = plain.rules(["webhook_secret"])[0].value["secrets"]
    plain.rewrite(dead, [Rewrite("reason", plain.get(dead).reason, sealed)])
    assert desk.job(dead).reason == sealed
    assert desk.store.rules(["webhook_secret"])[0].value["secrets"] == [[made.secret, None]]
    (rule,) = plain.rules(["webhook_secret"])
    old = desk.store.ring.seal(made.secret, "note")  # as it was sealed before
    plain.set_rule(rule._replace(value={"secrets": [[old, None]]}))
    assert desk.store.rules(["webhook_secret"])[0].value["secrets"] == [[made.secret, None]]


def test_subscriptions_and_receivers_are_sealed_and_rotated(desk, others):
    app, plain = Mainstay(store=desk.store, clock=desk.clock), desk.store.inner
    app.job(name="book")(lambda invoice: None)
    made = app.incoming.add("shop", type="book", args={"invoice": SECRET})
    app.subscriptions.add("ledger", "invoice.paid", "book", {"invoice": SECRET})
    assert app.subscriptions.disable("ledger").changed
    seen = app.subscriptions.list(), app.incoming.list()
    assert (seen[0][0].args, seen[1][0].args) == ({"invoice": SECRET}, {"invoice": SECRET})
    for hidden in (SECRET, made.secret):
        assert hidden not in rows(desk.store)
        assert hidden not in repr([plain.rules([kind]) for kind in PRIVATE] + [plain.rules([kind]) for kind in SECRETS])
    Rotation(others(f"{TWO},{ONE}")).run(lambda _: None)
    with others(TWO) as store:
        app = Mainstay(store=store, clock=desk.clock)
        assert [each.args for each in (*app.subscriptions.list(), *app.incoming.list())] == [{"invoice": SECRET}] * 2
        assert store.rules(["webhook_incoming_secret"])[0].value["secrets"] == [[made.secret, None]]

"""Event subscriptions on every engine: an event creates all jobs that subscribe to it, or none."""

import json
import sqlite3

import pytest

from mainstay import Conflict, InvalidPayload, Mainstay, NotFound, UnknownType, UsageError
from mainstay.control import subscriptions
from mainstay.core.errors import QueueFull, TransactionUnsupported
from mainstay.core.rules import SUBSCRIPTION
from tests.contract.moving import arrive
from tests.servers.engines import ONE_OF_EACH

pytestmark = pytest.mark.engines(*ONE_OF_EACH)


@pytest.fixture
def app(store, clock):
    return furnished(Mainstay(store=store, clock=clock))


def furnished(app):
    @app.job
    def book(invoice: int, note: str = "") -> None:
        """Book an invoice."""

    @app.job(name="copy")
    def copy_all(id: int) -> None:
        """Copy an invoice."""

    return app


def jobs(app):
    return [(job.type, json.loads(app.store.get(job.id).payload)) for job in reversed(app.list(limit=50))]


def test_an_event_creates_the_jobs_that_subscribe_to_it(app):
    app.subscriptions.add(
        "ledger", "invoice.paid", "book", {"invoice": "$.data.id", "note": "paid"}, queue="money", priority=3
    )
    app.subscriptions.add("mirror", "invoice.*", "copy")
    app.subscriptions.add("all", "*", "book", {"invoice": 0, "note": "$.event"})
    app.subscriptions.add("other", "order.*", "copy")
    handles = app.publish("invoice.paid", {"id": 7})
    assert jobs(app) == [
        ("book", {"invoice": 0, "note": "invoice.paid"}),
        ("book", {"invoice": 7, "note": "paid"}),
        ("copy", {"id": 7}),
    ]
    assert [handle.created for handle in handles] == [True] * 3
    ledger = handles[1].job()
    assert (ledger.queue, ledger.priority) == ("money", 3)
    assert len(app.publish("invoices.paid")) == 1  # no part of a word
    assert app.publish("order", {"id": 1})[0].job().args["note"] == "order"


def test_an_event_that_nobody_wants_creates_nothing(app):
    assert app.publish("invoice.paid", {"id": 7}) == []
    assert jobs(app) == []


def test_options_have_values_of_the_event(app):
    app.subscriptions.add(
        "ledger", "invoice.paid", "book", {"invoice": "$.data.id"}, key="i-{data.id}", tenant="{data.who}", ref="invoice:{data.id}",
        tags=["eu"], delay="5m",
    )  # fmt: skip
    (first,), (again,) = (app.publish("invoice.paid", {"id": 7, "who": "acme"}) for _ in range(2))
    job = first.job()
    assert (job.key, job.tenant, job.ref, job.tags, job.state) == ("i-7", "acme", "invoice:7", ("eu",), "scheduled")
    assert (again.id, again.created) == (first.id, False)


def test_all_or_none(app):
    app.subscriptions.add("a", "invoice.paid", "copy", {"id": "$.data.id"})
    app.subscriptions.add("b", "invoice.paid", "book", {"invoice": "$.data.number"})
    with pytest.raises(InvalidPayload, match=r"subscription b of invoice\.paid takes data\.number"):
        app.publish("invoice.paid", {"id": 7})
    with pytest.raises(InvalidPayload):  # of the type itself
        app.publish("invoice.paid", {"id": 7, "number": "seven"})
    assert jobs(app) == []


def test_a_full_queue_creates_none(app):
    app.subscriptions.add("a", "invoice.paid", "copy")
    app.subscriptions.add("b", "invoice.paid", "book", {"invoice": 1}, queue="money")
    app.publish("invoice.paid", {"id": 1})
    app.set_queue("money", max_depth=1)
    with pytest.raises(QueueFull):
        app.publish("invoice.paid", {"id": 2})
    assert len(jobs(app)) == 2


def test_publishing_again_under_the_same_key_creates_nothing_new_even_after_the_end(app):
    app.subscriptions.add("a", "invoice.paid", "copy", key="own-{data.id}")
    app.subscriptions.add("b", "invoice.paid", "copy")
    first = app.publish("invoice.paid", {"id": 7}, key="evt-1")
    app.cancel(first[0])
    again = app.publish("invoice.paid", {"id": 7}, key="evt-1")
    assert [handle.id for handle in again] == [handle.id for handle in first]
    assert [handle.created for handle in again] == [False, False]
    assert [handle.created for handle in app.publish("invoice.paid", {"id": 7}, key="evt-2")] == [True, True]


def test_a_disabled_or_removed_subscription_creates_nothing(app):
    app.subscriptions.add("a", "invoice.paid", "copy")
    assert app.subscriptions.disable("a", actor="ada", reason="closed").changed
    assert not app.subscriptions.disable("a").changed
    assert app.publish("invoice.paid", {"id": 7}) == []
    app.subscriptions.enable("a")
    assert len(app.publish("invoice.paid", {"id": 7})) == 1
    assert app.subscriptions.remove("a").after == {}
    assert app.publish("invoice.paid", {"id": 7}) == []
    assert app.store.rules([SUBSCRIPTION]) == []
    lines = app.store.actions(None, 9)
    assert [line.detail["kind"] for line in lines] == ["subscription"] * 4
    assert (lines[2].actor, lines[2].detail["reason"]) == ("ada", "closed")


def test_one_that_is_there_is_replaced_on_request_only(app):
    app.subscriptions.add("a", "invoice.paid", "copy")
    before = app.subscriptions.show("a")
    with pytest.raises(Conflict, match="replace"):
        app.subscriptions.add("a", "order.*", "copy")
    app.clock.advance("1m")
    change = app.subscriptions.add("a", "order.*", "book", {"invoice": 1}, replace=True)
    assert (change.before["event"], change.after["event"]) == ("invoice.paid", "order.*")
    found = app.subscriptions.show("a")
    assert (found.args, found.created_at) == ({"invoice": 1}, before.created_at)
    assert found.updated_at > before.updated_at


def test_bad_input_is_refused_and_changes_nothing(app, monkeypatch):
    def add(**given):
        app.subscriptions.add(**{"name": "a", "event": "invoice.paid", "type": "book", **given})

    for given in ({"name": "a b"}, {"event": "a b"}, {"event": "*.a"}, {"event": ""}, {"args": []}, {"args": {"a": "$.dat.id"}}, {"type": 7},
                  {"colour": 1}, {"queue": ""}, {"priority": 9999}, {"delay": "soon"}, {"key": "{data.id"}, {"key": 7}, {"tenant": "{x.y}"}):  # fmt: skip
        with pytest.raises(UsageError):
            add(**given)
    with pytest.raises(InvalidPayload):
        add(args={"a": object()})
    with pytest.raises(UnknownType, match='did you mean "book"'):
        add(type="boook")
    with pytest.raises(NotFound, match="no subscription is called"):
        app.subscriptions.show("nothing")
    add(dry_run=True)
    assert app.subscriptions.list() == []
    for event, data in (("a b", {}), ("*", {}), ("invoice.*", {}), (7, {})):
        with pytest.raises(UsageError):
            app.publish(event, data)
    for data in ([], "x", {"a": object()}):
        with pytest.raises(InvalidPayload):
            app.publish("invoice.paid", data)
    monkeypatch.setattr(subscriptions, "MOST", 1)
    add()
    with pytest.raises(Conflict, match="which is the most"):
        add(name="b")


def test_a_subscription_holds_in_every_process(app, another):
    there = furnished(Mainstay(store=another, clock=app.clock))
    there.publish("invoice.paid", {"id": 1})
    app.subscriptions.add("a", "invoice.paid", "copy")
    assert len(there.publish("invoice.paid", {"id": 1})) == 1
    app.subscriptions.disable("a")
    assert there.publish("invoice.paid", {"id": 1}) == []


@pytest.mark.engines("sqlite")
def test_the_jobs_commit_with_a_transaction_of_the_caller(app, url):
    app.subscriptions.add("a", "invoice.paid", "copy")
    db = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    for end, left in (("ROLLBACK", 0), ("COMMIT", 1)):
        db.execute("BEGIN IMMEDIATE")
        app.publish("invoice.paid", {"id": 7}, tx=db)
        db.execute(end)
        assert len(jobs(app)) == left
    db.close()


@pytest.mark.engines("redis")
def test_redis_joins_no_transaction(app):
    app.subscriptions.add("a", "invoice.paid", "copy")
    with pytest.raises(TransactionUnsupported):
        app.publish("invoice.paid", {"id": 7}, tx=sqlite3.connect(":memory:"))


async def published(app):
    return await app.apublish("invoice.paid", {"id": 7}, key="k")


def test_it_is_awaited(app):
    import asyncio

    app.subscriptions.add("a", "invoice.paid", "copy")
    (handle,) = asyncio.run(published(app))
    assert handle.created
    app.subscriptions.remove("a")
    assert asyncio.run(published(app)) == []


def test_subscriptions_move(elsewhere, store):
    there = furnished(Mainstay(store=elsewhere.store, clock=elsewhere.clock))
    there.subscriptions.add("a", "invoice.paid", "copy", {"id": "$.data.id"}, queue="money")
    before = there.subscriptions.list()
    here = furnished(Mainstay(store=arrive(elsewhere, store).store, clock=elsewhere.clock))
    assert here.subscriptions.list() == before
    assert len(here.publish("invoice.paid", {"id": 7})) == 1

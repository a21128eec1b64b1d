"""The notifier of PostgreSQL: one NOTIFY for many rings, a listener that knows when it is deaf, and the poll behind it."""

import threading

import psycopg
import pytest

from mainstay.core.clock import ManualClock
from mainstay.stores import open_store
from mainstay.stores.postgres import notifier as bells
from tests.contract.building import Desk, draft
from tests.servers import postgres
from tests.servers.engines import postgres_server
from tests.waiting import eventually

LONG = 10_000


@pytest.fixture
def server():
    return postgres_server("18")


@pytest.fixture
def url(server):
    with server.database() as url:
        yield url


@pytest.fixture
def store(url):
    with open_store(url, ManualClock()) as store:
        store.types()
        yield store


@pytest.fixture
def notifier(store):
    notifier = store.notifier("w")
    yield notifier
    notifier.close()


def proven(notifier):
    """A notifier that has heard itself."""
    eventually(lambda: notifier.wait(20) == "" and not notifier._echo, "the listener hears its echo")
    return notifier


def test_a_listener_hears_itself(notifier):
    assert proven(notifier).listening


def test_rings_that_come_together_are_heard_one_after_the_other(url, notifier):
    """With an echo in between, which says nothing and must not silence the others."""
    proven(notifier)
    with psycopg.connect(url) as other:
        for word in ("cancel", "echo of somebody else", "jobs", "cancel", "echo once more"):
            other.execute("SELECT pg_notify('mainstay', %s)", (word,))
    assert [notifier.wait(LONG), notifier.wait(LONG), notifier.wait(60)] == ["cancel", "jobs", ""]


def test_many_rings_are_few_notifications_and_the_last_is_not_lost(url, store):
    with psycopg.connect(url, autocommit=True) as heard:
        heard.execute("LISTEN mainstay")
        for _ in range(500):
            store.notify()
        found = list(heard.notifies(timeout=5, stop_after=2))
        found += heard.notifies(timeout=0.2)
    assert 2 <= len(found) < 100  # the first ring at once; the last rings of all are told by one at the end


def test_each_kind_of_ring_comes_through(store, notifier):
    proven(notifier)
    store.notify("jobs")
    store.notify("cancel")
    assert {notifier.wait(LONG), notifier.wait(LONG)} == {"jobs", "cancel"}


def test_a_program_that_ends_takes_no_ring_with_it(url, store):
    with psycopg.connect(url, autocommit=True) as heard:
        heard.execute("LISTEN mainstay")
        store.notify("jobs")
        store.notify("cancel")
        store.close()
        assert [notify.payload for notify in heard.notifies(timeout=2, stop_after=2)] == ["jobs", "cancel"]


def test_b50_an_enqueue_succeeds_though_its_ring_fails(store, monkeypatch):
    monkeypatch.setitem(store.dialect._texts, "notify", ("SELECT no_such_function($1, $2)", ["channel", "what"]))
    ((job, created),) = store.enqueue([draft()], 1)
    assert created
    assert store.get(job).state == "queued"


def test_a_listener_that_was_terminated_listens_again(server, store, notifier):
    proven(notifier)
    mine = psycopg.conninfo.conninfo_to_dict(store.url)["dbname"]  # other tests use the same server
    assert server.terminate(f"application_name = '{bells.NAME}' AND datname = '{mine}'") == 1
    notifier._retry_at = 0.0
    eventually(lambda: notifier.wait(50) == "jobs", "it says that something may have come meanwhile")
    proven(notifier)
    store.notify()
    assert notifier.wait(LONG) == "jobs"


def test_a_listener_that_hears_nothing_gives_up_and_polls(store, monkeypatch):
    """As behind a pooler that hands its LISTEN to one server connection and its waiting to none."""
    monkeypatch.setattr(bells, "ECHO", 0.05)
    monkeypatch.setattr(bells, "CHECK", 0.05)
    notifier = store.notifier("w")
    notifier._connection.execute("UNLISTEN *")
    try:
        eventually(lambda: notifier.wait(60) == "" and not notifier.listening, "it notices that it is deaf")
        store.enqueue([draft()], 1)
        assert notifier.wait(LONG) == "jobs"  # by the poll
    finally:
        notifier.close()


@pytest.mark.parametrize("option", ["listen=no", "pooler=transaction"])
def test_without_a_listener_the_poll_finds_what_came(url, option):
    with open_store(f"{url}?{option}", ManualClock()) as store:
        desk, notifier = Desk(store, ManualClock()), store.notifier("w")
        assert not notifier.listening
        assert notifier.wait(60) == ""
        desk.add()
        assert notifier.wait(LONG) == "jobs"
        assert notifier.wait(600) == ""  # the same job rings once
        notifier.close()


def test_without_a_listener_the_poll_finds_who_is_to_stop(url):
    with open_store(f"{url}?listen=no", ManualClock()) as store:
        desk, notifier = Desk(store, ManualClock()), store.notifier("w-first")
        job = desk.run()
        assert notifier.wait(60) == ""
        store.cancel([job.id], desk.now, "me")
        assert notifier.wait(LONG) == "cancel"
        notifier.close()


def test_a_way_around_the_pooler_may_be_named(url):
    with open_store(f"{url}?pooler=transaction&listen={url.replace(':', '%3A')}", ManualClock()) as store:
        notifier = store.notifier("w")
        assert proven(notifier).listening
        store.notify()
        assert notifier.wait(LONG) == "jobs"
        notifier.close()


def test_a_closed_bell_lets_go_of_who_waits(store):
    notifier = store.notifier("w")
    waiting = threading.Thread(target=lambda: notifier.wait(LONG))
    waiting.start()
    notifier.close()
    waiting.join(5)
    assert not waiting.is_alive()


def test_schemas_do_not_hear_each_other(server, store, notifier):
    proven(notifier)
    with postgres.schema(server.url(store.db.params["dbname"])) as url, open_store(url) as other:
        other.notify()
        assert notifier.wait(100) == ""

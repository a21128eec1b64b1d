"""What can go wrong with a PostgreSQL server: each is one of our errors that says what to do, and the store goes on after."""

import psycopg
import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.errors import (
    ConfigError,
    SchemaMismatch,
    StoreBusy,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
    UsageError,
)
from mainstay.stores import open_store
from mainstay.stores.operations import Statement
from mainstay.stores.postgres import errors
from tests.contract.building import Desk, draft, keyed
from tests.servers.postgres import Postgres, run


@pytest.fixture(scope="module")
def server():
    """A server of our own, to be mistreated."""
    with Postgres("18") as server:
        yield server


@pytest.fixture
def url(server):
    with server.database() as url:
        yield url


@pytest.fixture
def desk(url):
    clock = ManualClock()
    with open_store(url, clock) as store:
        yield Desk(store, clock)


# the server comes and goes ----------------------------------------------------------------------------------------
def test_after_a_crash_of_the_server_the_next_verb_works(server, desk):
    job = desk.add()
    server.restart()
    assert desk.take_this(job)


def test_while_the_server_is_down_it_says_so_and_then_goes_on(server, desk):
    job = desk.add()
    server.kill()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="server runs"):
            desk.add()
    server.start()
    assert desk.take_this(job)


def test_connections_that_were_terminated_are_replaced_unnoticed(server, desk):
    for _ in range(3):
        desk.add()
        assert server.terminate() > 0
    assert len(desk.take(9)) == 3


def test_a_connection_that_dies_in_the_middle_of_a_verb_is_an_error_of_ours(server, desk):
    def steps():
        yield step
        server.terminate()
        yield step

    step = Statement("SELECT 1")
    with pytest.raises(StoreUnavailable):
        desk.store.db.run(steps)
    assert desk.add()


def test_a_server_that_does_not_answer_is_taken_for_gone(desk, monkeypatch):
    job = desk.add()
    monkeypatch.setattr("mainstay.stores.postgres.connect.ANSWER", 0.05)
    desk.store.db.close()
    with pytest.raises(StoreUnavailable, match="not known"):
        desk.store.db.send(Statement("SELECT pg_sleep(1)"))
    monkeypatch.undo()
    assert desk.take_this(job)


def test_a_server_that_turns_read_only_is_left_and_found_again(server, desk):
    database = desk.store.db.params["dbname"]
    job = desk.add()
    server.run(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    server.terminate()
    for _ in range(2):
        with pytest.raises(StoreReadOnly, match="primary"):
            desk.add()
    assert desk.state(job) == "queued"  # what can be read is read
    server.run(f"ALTER DATABASE {database} SET default_transaction_read_only = off")
    assert desk.add()  # by a new connection: the old ones were let go


# what is refused ----------------------------------------------------------------------------------------------------
def refused(url, kind, words):
    with open_store(url) as store, pytest.raises(kind, match=words):
        store.enqueue([draft()], 1)


def test_a_database_that_is_not_there(server):
    refused(server.url("nowhere"), StoreUnavailable, "createdb")


def test_a_server_that_is_not_there():
    refused("postgresql://postgres@127.0.0.1:1/x", StoreUnavailable, "Check that the server runs")


def test_a_wrong_password(server, url):
    server.run("CREATE ROLE stranger LOGIN PASSWORD 'right'")
    rules = server.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text("host all stranger all scram-sha-256\n" + before)
    server.run("SELECT pg_reload_conf()")
    try:
        wrong = url.replace("postgres@", "stranger:wrong@")
        refused(wrong, StoreUnavailable, "user and the password")
        assert "wrong" not in open_store(wrong).db.place
    finally:
        rules.write_text(before)
        server.run("SELECT pg_reload_conf()")


def test_a_role_without_rights(server, url):
    server.run("CREATE ROLE poor LOGIN")
    poor = url.replace("postgres@", "poor@")
    refused(poor, StoreReadOnly, "mainstay migrate up.*mainstay migrate sql")
    with open_store(url) as store:
        store.types()
    refused(poor, StoreReadOnly, "grant")


def test_who_only_looks_creates_nothing(url):
    refused(f"{url}?mode=existing", SchemaMismatch, "mainstay migrate up")
    assert run(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'mainstay'") == []


def test_a_schema_of_a_newer_mainstay(url, desk):
    run(url, "UPDATE mainstay.schema_version SET version = 99, readable_from = 99")
    refused(url, SchemaMismatch, "Upgrade mainstay")


def test_tables_that_were_dropped(url, desk):
    run(url, "DROP TABLE mainstay.job")
    with pytest.raises(SchemaMismatch, match="migrate"):
        desk.add()


@pytest.mark.parametrize("value", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize("field", ["ref", "type", "payload"])
def test_text_that_no_server_can_hold(desk, field, value):
    with pytest.raises(UsageError, match="cannot be stored"):
        desk.store.enqueue([draft(**{field: value})], desk.now)
    assert desk.add()


@pytest.mark.parametrize("field", ["timeout", "priority"])
def test_numbers_that_are_too_large(desk, field):
    with pytest.raises(UsageError, match="cannot be stored"):
        desk.store.enqueue([draft(**{field: 2**70})], desk.now)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("?schema=a-b", "plain name"),
        ("?connections=0", "from 1"),
        ("?pooler=maybe", "auto"),
        ("?mode=old", "existing"),
        ("?unheard=1", "schema"),
    ],
)
def test_options_that_are_not_understood(options, words):
    with pytest.raises(ConfigError, match=words):
        open_store(f"postgresql://app:secret@db/app{options}")


def test_a_key_that_an_open_transaction_holds_is_waited_for_but_not_for_ever(url, desk):
    desk.store.db.params["options"] = "-c lock_timeout=50ms"
    desk.store.db.close()
    with psycopg.connect(url) as other:
        other.execute(
            "INSERT INTO mainstay.body (job, created_at, max_attempts, id, payload, lock) VALUES (0, 1, 1, 'x', '', 'work:k')"
        )
        with pytest.raises(StoreBusy):
            desk.store.enqueue([keyed("k")], desk.now)
        other.rollback()
    assert desk.store.enqueue([keyed("k")], desk.now)[0][1] is True


def test_all_connections_in_use(url, monkeypatch):
    monkeypatch.setattr("mainstay.stores.postgres.pool.WAIT", 0.05)
    with open_store(f"{url}?connections=1") as store:
        with store.db.checkout(), pytest.raises(StoreBusy, match="connections=2"):
            store.types()
        assert store.types() == []


@pytest.mark.parametrize("name", sorted(dir(psycopg.errors)))
def test_every_error_of_the_driver_is_one_of_ours(name):
    kind = getattr(psycopg.errors, name)
    if isinstance(kind, type) and issubclass(kind, psycopg.Error):
        assert isinstance(errors.mapped(kind("no"), "db/app"), (StoreError, UsageError))

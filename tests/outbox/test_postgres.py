"""What is PostgreSQL's own about a shared transaction: waiting for others, savepoints, bells, roles, pipelines."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import asyncpg
import psycopg
import pytest

from mainstay import DuplicateKey, Mainstay, NotFound, StoreBusy, StoreError, StoreReadOnly, TransactionUnsupported
from tests.servers import postgres
from tests.waiting import eventually

KEYS = {"existing": False, "replace": False, "raise": DuplicateKey}


@pytest.fixture(
    params=[
        "psycopg",
        "asyncpg",
        "sqlalchemy session on psycopg",
        "sqlalchemy session on asyncpg",
        "django alias on psycopg",
    ]
)
def kind(request):
    """One of each driver and frame: the rest is the same underneath."""
    return request.param


@contextmanager
def later(condition, act):
    """Meanwhile: as soon as the condition holds, act."""
    with ThreadPoolExecutor(1) as thread:
        meanwhile = thread.submit(lambda: (eventually(condition, "someone to wait"), act()))
        yield
        meanwhile.result(30)


def outcome(work):
    try:
        return work()
    except Exception as error:  # noqa: BLE001  (it is looked at)
        return error


def waiting(place):
    """Whether someone waits for a lock on our tables."""
    asked = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    return postgres.run(place.database, asked)[0][0] > 0


# keys that another holds and has not committed ---------------------------------------------------------------------------
@pytest.mark.parametrize("on_conflict", KEYS)
@pytest.mark.parametrize("commits", [True, False])
def test_a_key_that_another_has_not_committed_yet(app, user, place, commits, on_conflict):
    """Nobody can tell what it will come to, so the enqueue waits for the other's end."""
    with psycopg.connect(place.database) as other:
        first = app.enqueue("work", {"n": 1}, key="k", tx=other)
        with later(lambda: waiting(place), other.commit if commits else other.rollback):
            answer = outcome(lambda: user.enqueue(app, "work", {"n": 2}, key="k", on_conflict=on_conflict))
    if commits and on_conflict == "raise":
        assert isinstance(answer, DuplicateKey)
        user.insert(1)
        user.commit()
        assert place.rows() == {1}
        return
    user.commit()
    assert (answer.created, answer.id == first.id) == (not commits, commits)
    assert answer.job().payload == ('{"n":1}' if commits and on_conflict == "existing" else '{"n":2}')


def test_an_error_of_the_server_leaves_the_transaction_usable(app, user, place):
    """A key that cannot be waited for: the statement fails, and what was done before stands."""
    with psycopg.connect(place.database) as other:
        app.enqueue("work", key="k", tx=other)
        user.execute("SET LOCAL lock_timeout = 50")
        user.insert(1)
        with pytest.raises(StoreBusy, match="lock timeout"):
            user.enqueue(app, "work", key="k")
        other.rollback()
    user.insert(2)
    handle = user.enqueue(app, "work", key="k")
    user.commit()
    assert (handle.state, place.rows()) == ("queued", {1, 2})


def test_a_plain_job_costs_no_savepoint(app, place):
    """A transaction with many savepoints slows down the whole server."""
    with psycopg.connect(place.database) as own:
        for _ in range(3):
            app.enqueue("work", tx=own)
        app.enqueue_many([app.work.prepare(n) for n in range(9)], tx=own)
        whole = own.execute("SELECT pg_current_xact_id()::text").fetchone()[0]
        schema = app.store.db.dialect.schema
        rows = own.execute(f'SELECT xmin::text FROM "{schema}".job').fetchall()
        assert rows == [(whole,)] * 12  # what is written behind a savepoint has an id of its own


# transactions that cannot be joined --------------------------------------------------------------------------------------
def test_a_transaction_that_has_failed_already(app, user):
    with pytest.raises(Exception, match="division by zero"):
        user.execute("SELECT 1 / 0")
    with pytest.raises(TransactionUnsupported, match="has failed already; roll it back first"):
        user.enqueue(app, "work")


def test_a_role_that_may_not_write_our_tables(place, app):
    role = postgres.fresh()
    postgres.run(place.database, f"CREATE ROLE {role}")
    try:
        with psycopg.connect(place.database) as own:
            own.execute(f"SET ROLE {role}")
            with pytest.raises(StoreReadOnly, match="GRANT USAGE ON SCHEMA"):
                app.enqueue("work", tx=own)
            assert own.execute("SELECT 1").fetchone() == (1,)
    finally:
        postgres.run(place.database, f"DROP ROLE {role}")


def test_a_connection_that_does_not_send_utf8(app, user, place):
    user.execute("SET client_encoding = 'LATIN1'")
    with pytest.raises(TransactionUnsupported, match=r"client_encoding LATIN1.*SET client_encoding = 'UTF8'"):
        user.enqueue(app, "work", ref="café")
    user.execute("SET client_encoding = 'UTF8'")
    handle = user.enqueue(app, "work", ref="café")
    user.commit()
    assert handle.job().ref == "café"


def test_the_first_job_ever_in_a_database(place):
    """Our tables are made on a connection of ours, while the caller's transaction is open."""
    with Mainstay(place.url).store as store, psycopg.connect(place.database) as own:
        own.execute(f"INSERT INTO {place.table} VALUES (1)")
        handle = Mainstay(store=store).enqueue("work", tx=own)
        own.commit()
        assert store.get(handle.id).state == "queued"


# ways to use a connection ------------------------------------------------------------------------------------------------
def test_in_a_pipeline(app, place):
    app.enqueue("work", key="taken")
    with psycopg.connect(place.database) as own:
        with own.pipeline():
            own.execute(f"INSERT INTO {place.table} VALUES (1)")
            handles = [app.enqueue("work", tx=own), app.enqueue("work", key="k", tags=["x"], tx=own)]
            with pytest.raises(DuplicateKey):
                app.enqueue("work", key="taken", on_conflict="raise", tx=own)
            app.cancel(handles[0], tx=own)
        own.commit()
    assert [handle.state for handle in handles] == ["cancelled", "queued"]


def test_a_stricter_isolation(app, place):
    """Where the caller's snapshot is older than a key's holder, the caller's own level says that they start again."""
    with psycopg.connect(place.database) as own:
        own.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        own.execute("SELECT 1")
        app.enqueue("work", key="k")
        with pytest.raises(StoreError, match="could not serialize"):
            app.enqueue("work", key="k", tx=own)
        assert own.execute("SELECT 1").fetchone() == (1,)
        own.rollback()
        assert not app.enqueue("work", key="k", tx=own).created


def test_a_cancelled_task_leaves_the_transaction_usable(app, place):
    """The task is cancelled while it waits for a key: its savepoint is rolled back, and the connection answers again."""

    async def enqueue(other):
        own = await asyncpg.connect(place.database)
        await own.execute("BEGIN")
        await own.execute(f"INSERT INTO {place.table} VALUES (1)")
        task = asyncio.create_task(app.aenqueue("work", key="k", tx=own))
        while not await asyncio.to_thread(waiting, place):
            assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await own.execute(f"INSERT INTO {place.table} VALUES (2)")
        await own.execute("COMMIT")
        await own.close()

    with psycopg.connect(place.database) as other:
        app.enqueue("work", key="k", tx=other)
        asyncio.run(enqueue(other))
        other.rollback()
    assert place.rows() == {1, 2}
    assert app.list() == []


def test_the_bell_rings_with_the_commit(app, user):
    """A listener hears nothing before, and at once after: it is not left to the poll."""
    bell = app.store.notifier("w")
    try:
        bell.wait(200)  # what it says of itself when it begins to listen
        user.enqueue(app, "work", delay="1h")  # which no poll would report
        assert bell.wait(0) == ""
        user.commit()
        eventually(lambda: bell.wait(100) == "jobs", "the bell to ring")
    finally:
        bell.close()


# parents ------------------------------------------------------------------------------------------------------------------
def test_a_job_whose_parent_does_not_exist_is_not_in_the_callers_transaction(app, place):
    parent = app.enqueue("work", {"n": 1})
    missing = "0" * 26  # not one beside the parent's id: the child may get that
    with psycopg.connect(place.database) as tx:
        tx.execute("SELECT 1")
        with pytest.raises(NotFound):
            app.enqueue("work", {"n": 2}, after=[parent, missing], tx=tx)
    assert sum(count.jobs for count in app.store.counts(10)) == 1

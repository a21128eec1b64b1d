"""What cannot be joined is refused before anything is written, in words that say what to do instead."""

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from inspect import iscoroutinefunction

import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session, sessionmaker

from mainstay import DuplicateKey, Mainstay, TransactionUnsupported
from tests.outbox.callers import ALL, SQLITE
from tests.outbox.conftest import place_for


def refused(user, app, words):
    """Every verb refuses this connection."""
    waiting = app.enqueue("work")
    for verb in (
        lambda: user.enqueue(app, "work"),
        lambda: user.cancel(app, waiting),
        lambda: user.enqueue_many(app, []),
    ):
        with pytest.raises(TransactionUnsupported, match=words):
            verb()
    assert [(job.id, job.state) for job in app.list()] == [(waiting.id, "queued")]


# every kind -----------------------------------------------------------------------------------------------------------
def test_without_a_transaction(app, kind, place):
    """Each statement would commit for itself."""
    user = ALL["psycopg" if kind == "psycopg block" else kind](place, bare=True)
    with user.closing():
        refused(user, app, "no transaction open: ")


def test_another_database(app, kind, elsewhere):
    user = ALL[kind](elsewhere)
    with user.closing():
        user.begin()
        user.insert(1)
        refused(user, app, "another database than the store")
        user.insert(2)
        user.commit()
        assert elsewhere.rows() == {1, 2}


def test_the_other_way_to_call(app, user):
    with pytest.raises(TransactionUnsupported, match=r"async: (await|call) "):
        user.wrong_way(app)


OPENED = [kind for kind in ALL if not kind.startswith(("asyncpg", "django", "psycopg block"))]  # by the first statement


@pytest.mark.parametrize("kind", OPENED)
def test_a_refusal_leaves_no_transaction_open_that_was_not(app, kind, elsewhere):
    """Whoever is refused may go on as if they had not asked: no lock and no snapshot is held meanwhile."""
    user = ALL[kind](elsewhere)
    with user.closing():
        with pytest.raises(TransactionUnsupported):
            user.enqueue(app, "work")
        assert not elsewhere.busy()


@pytest.mark.parametrize("kind", OPENED)
def test_a_refused_key_neither(app, kind, place):
    app.enqueue("work", key="k")
    user = ALL[kind](place)
    with user.closing():
        with pytest.raises(DuplicateKey):
            user.enqueue(app, "work", key="k", on_conflict="raise")
        assert not place.busy()


# one kind each ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def shop(tmp_path):
    """A store in a file, and its place."""
    with place_for("sqlite", tmp_path) as place, Mainstay(place.url).store as store:
        store.register_types([])
        yield Mainstay(store=store), place


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: sqlalchemy.create_engine(f"sqlite:///{path}"), "open a connection or session"),
        (lambda path: create_async_engine(f"sqlite+aiosqlite:///{path}"), "open a connection or session"),
        (lambda path: sessionmaker(), "call it, and pass the session"),
        (lambda path: sqlite3.connect(path).cursor(), "sqlite3.Cursor: pass its connection"),
        (lambda path: "postgresql", "tx=str: the store is .*jobs.db; pass a sqlite3.Connection"),
        (lambda path: 7, "tx=int: the store is"),
        (lambda path: "django:nowhere", "DATABASES has|has not loaded Django"),
        (lambda path: Session(), "cannot be used here: .*not located on configured with a bind|cannot be used here"),
    ],
)
def test_what_is_nearly_one(shop, make, words):
    app, place = shop
    with pytest.raises(TransactionUnsupported, match=words):
        app.enqueue("work", tx=make(place.path))


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind not in SQLITE])
def test_a_file_and_a_server_share_no_transaction(shop, kind, place):
    app, _ = shop
    user = ALL[kind](place)
    with user.closing():
        user.begin()
        refused(user, app, "another database than the store")


def test_a_server_and_a_file_neither(tmp_path, server_place):
    (tmp_path / "shop.db").touch()
    with (
        closing(sqlite3.connect(tmp_path / "shop.db")) as own,
        Mainstay(server_place.url).store as store,
        pytest.raises(TransactionUnsupported, match=r"sqlite3.Connection\) is connected to another database"),
    ):
        Mainstay(store=store).enqueue("work", tx=own)


def test_a_session_that_must_be_begun_by_hand(shop):
    app, place = shop
    with Session(sqlalchemy.create_engine(f"sqlite:///{place.path}"), autobegin=False) as session:
        with pytest.raises(TransactionUnsupported, match="Autobegin is disabled"):
            app.enqueue("work", tx=session)
        with session.begin():
            handle = app.enqueue("work", tx=session)
    assert handle.state == "queued"


def test_inside_run_sync(shop):
    """A plain session over an async engine: the sync verbs cannot wait there."""
    app, place = shop

    async def both():
        engine = create_async_engine(f"sqlite+aiosqlite:///{place.path}")
        try:
            async with engine.connect() as connection:
                await connection.run_sync(lambda inner: app.enqueue("work", tx=inner))
        finally:
            await engine.dispose()

    with pytest.raises(TransactionUnsupported, match="outside of run_sync"):
        asyncio.run(both())


@pytest.mark.parametrize("kind", ["sqlite3", "aiosqlite", "psycopg", "psycopg async", "asyncpg"])
def test_a_closed_connection(app, kind, user):
    if iscoroutinefunction(user.tx.close):
        user.run(user.tx.close())
    else:
        user.tx.close()
    with pytest.raises(TransactionUnsupported, match=r"cannot be used here: .*(closed|no active connection)"):
        user.enqueue(app, "work")


def test_a_database_in_memory():
    with (
        Mainstay("sqlite:///:memory:").store as store,
        closing(sqlite3.connect(":memory:")) as own,
        pytest.raises(TransactionUnsupported, match="needs a store in a file"),
    ):
        Mainstay(store=store).enqueue("work", tx=own)


@pytest.mark.engines("redis")
def test_redis_says_what_to_do_instead(engine, tmp_path):
    with (
        place_for(engine, tmp_path) as place,
        Mainstay(place.url).store as store,
        closing(sqlite3.connect(":memory:")) as own,
    ):
        app = Mainstay(store=store)
        for verb in (
            lambda: app.enqueue("work", tx=own),
            lambda: app.enqueue_many([], tx=own),
            lambda: app.cancel("0" * 26, tx=own),
            lambda: asyncio.run(app.aenqueue("work", tx=own)),
        ):
            with pytest.raises(TransactionUnsupported, match="Commit first and enqueue after it, with key="):
                verb()


def test_nothing_is_imported_that_the_caller_does_not_have(tmp_path):
    program = f"""
import sqlite3, sys
from mainstay import Mainstay
own = sqlite3.connect({str(tmp_path / "jobs.db")!r})
own.execute("CREATE TABLE t (a)")
Mainstay("sqlite:///{tmp_path / "jobs.db"}").enqueue("work", tx=own)
own.commit()
found = {{"psycopg", "asyncpg", "sqlalchemy", "aiosqlite", "django", "asyncio"}} & set(sys.modules)
assert not found, found
"""
    subprocess.run([sys.executable, "-c", program], check=True)

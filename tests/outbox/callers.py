"""Users of every kind of connection: each opens a transaction in its own way, writes its own rows, and enqueues in it.

The tests speak to all of them alike and plainly; those of an async kind have an event loop of their own.
"""

import asyncio
import itertools
import sqlite3
from contextlib import contextmanager

import aiosqlite
import asyncpg
import django
import flask
import flask_sqlalchemy
import psycopg
import sqlalchemy
from django.conf import settings
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from mainstay.stores import outbox

_numbers = itertools.count(1)


class Place:
    """A store's database, and the user's table in it."""

    def __init__(self, url, table="orders"):
        self.url, self.table = url, table
        self.database = url.partition("?")[0]
        self.path = self.database.removeprefix("sqlite:///")
        self.sqlite = url.startswith("sqlite")
        self.schema = url.partition("schema=")[2]

    def over(self, driver):
        """The URL as SQLAlchemy wants it."""
        return f"{self.database.replace('://', f'+{driver}://', 1)}"

    def django(self):
        """The settings as Django wants them."""
        if self.sqlite:
            return {"ENGINE": "django.db.backends.sqlite3", "NAME": self.path, "OPTIONS": {"timeout": 5}}
        given = psycopg.conninfo.conninfo_to_dict(self.database)
        names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
        return {"ENGINE": "django.db.backends.postgresql"} | {key: given.get(name, "") for key, name in names.items()}

    @contextmanager
    def direct(self):
        """A plain connection, to prepare and to look: every statement commits."""
        if self.sqlite:
            connection = sqlite3.connect(self.path, isolation_level=None)
        else:
            connection = psycopg.connect(self.database, autocommit=True)
        try:
            yield connection
        finally:
            connection.close()

    def prepare(self):
        with self.direct() as connection:
            connection.execute(f"CREATE TABLE {self.table} (id bigint PRIMARY KEY)")

    def drop(self):
        with self.direct() as connection:
            connection.execute(f"DROP TABLE {self.table}")

    def busy(self):
        """Whether anyone has a transaction open here."""
        with self.direct() as connection:
            if self.schema:
                return not lockable(connection, f"{self.schema}.job")
            if not self.sqlite:
                idle = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in tr%'"
                return connection.execute(idle).fetchone() is not None
            connection.execute("PRAGMA busy_timeout = 0")
            try:
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                return True
            return False

    def rows(self):
        with self.direct() as connection:
            return {row[0] for row in connection.execute(f"SELECT id FROM {self.table}")}


def lockable(connection, table):
    """Whether nobody holds anything of a table."""
    try:
        with connection.transaction():
            connection.execute(f"LOCK TABLE {table} NOWAIT")
    except psycopg.errors.LockNotAvailable:
        return False
    return True


class Caller:
    """A user of a sync connection; `tx` is what they pass."""

    tx = None

    def __init__(self, place, bare=False):
        self.place, self.bare = place, bare
        self.connect()

    def begin(self):
        """Open a transaction, where this kind does not do so by itself."""

    def insert(self, number):
        self.execute(f"INSERT INTO {self.place.table} VALUES ({number})")

    def execute(self, statement):
        self.tx.execute(statement)

    def commit(self):
        self.tx.commit()

    def rollback(self):
        self.tx.rollback()

    def close(self):
        self.tx.close()

    @contextmanager
    def closing(self):
        """Closed in the end, whatever became of the transaction."""
        try:
            yield self
        finally:
            self.close()

    # the verbs, as this kind of user calls them
    def enqueue(self, app, *job, **options):
        return app.enqueue(*job, tx=self.tx, **options)

    def enqueue_many(self, app, drafts):
        return app.enqueue_many(drafts, tx=self.tx)

    def cancel(self, app, job):
        return app.cancel(job, tx=self.tx)

    def finish(self, store, transition):
        outbox.finish(store, self.tx, transition)

    def wrong_way(self, app):
        """The verb that is not for this kind."""
        with asyncio.Runner() as loop:
            loop.run(app.aenqueue("work", tx=self.tx))

    def complete(self, ctx, result):
        ctx.complete_in(self.tx, result)


class AsyncCaller(Caller):
    """A user of an async connection."""

    def __init__(self, place, bare=False):
        self.loop = asyncio.Runner()
        super().__init__(place, bare)

    def connect(self):
        self.run(self.aconnect())

    def run(self, coroutine):
        return self.loop.run(coroutine)

    @classmethod
    async def inside(cls, place):
        """A user who is in a loop already: the awaited methods only."""
        user = cls.__new__(cls)
        user.place, user.bare = place, False
        await user.aconnect()
        return user

    def begin(self):
        self.run(self.abegin())

    def execute(self, statement):
        self.run(self.aexecute(statement))

    def commit(self):
        self.run(self.acommit())

    def rollback(self):
        self.run(self.arollback())

    def close(self):
        self.run(self.aclose())
        self.loop.close()

    async def abegin(self):
        pass

    async def ainsert(self, number):
        await self.aexecute(f"INSERT INTO {self.place.table} VALUES ({number})")

    async def aexecute(self, statement):
        await self.tx.execute(statement)

    async def acommit(self):
        await self.tx.commit()

    async def arollback(self):
        await self.tx.rollback()

    async def aclose(self):
        await self.tx.close()

    def enqueue(self, app, *job, **options):
        return self.run(app.aenqueue(*job, tx=self.tx, **options))

    def enqueue_many(self, app, drafts):
        return self.run(app.aenqueue_many(drafts, tx=self.tx))

    def cancel(self, app, job):
        return self.run(app.acancel(job, tx=self.tx))

    def finish(self, store, transition):
        self.run(outbox.afinish(store, self.tx, transition))

    def wrong_way(self, app):
        app.enqueue("work", tx=self.tx)

    def complete(self, ctx, result):
        self.run(ctx.acomplete_in(self.tx, result))


# drivers ----------------------------------------------------------------------------------------------------------------
class Sqlite3(Caller):
    def connect(self):
        level = {"isolation_level": None} if self.bare else {}
        self.tx = sqlite3.connect(self.place.path, **level)


class Aiosqlite(AsyncCaller):
    async def aconnect(self):
        level = {"isolation_level": None} if self.bare else {}
        self.tx = await aiosqlite.connect(self.place.path, **level)
        self.tx.row_factory = sqlite3.Row


class Psycopg(Caller):
    def connect(self):
        self.tx = psycopg.connect(self.place.database, autocommit=self.bare, row_factory=psycopg.rows.dict_row)


class PsycopgAsync(AsyncCaller):
    async def aconnect(self):
        self.tx = await psycopg.AsyncConnection.connect(self.place.database, autocommit=self.bare)


class PsycopgBlock(Caller):
    """A connection that commits every statement, but for those in a block."""

    def connect(self):
        self.tx = psycopg.connect(self.place.database, autocommit=True)

    def begin(self):
        self.block = self.tx.transaction()
        self.block.__enter__()

    def commit(self):
        self.block.__exit__(None, None, None)

    def rollback(self):
        self.block.__exit__(psycopg.Rollback, psycopg.Rollback(), None)


class Asyncpg(AsyncCaller):
    async def aconnect(self):
        self.tx = await asyncpg.connect(self.place.database)
        await self.encode()

    async def encode(self):
        import json

        for name in ("json", "jsonb"):  # as many users do: a value of ours must not go through this
            await self.tx.set_type_codec(name, encoder=json.dumps, decoder=json.loads, schema="pg_catalog")

    async def abegin(self):
        if not self.bare:
            self.block = self.tx.transaction()
            await self.block.start()

    async def acommit(self):
        await self.block.commit()

    async def arollback(self):
        await self.block.rollback()


class AsyncpgPool(Asyncpg):
    async def aconnect(self):
        self.pool = await asyncpg.create_pool(self.place.database, min_size=1, max_size=1)
        self.tx = await self.pool.acquire()

    async def aclose(self):
        await self.pool.release(self.tx)
        await self.pool.close()


# SQLAlchemy -------------------------------------------------------------------------------------------------------------
class Alchemy(Caller):
    driver = ""

    def connect(self):
        level = {"isolation_level": "AUTOCOMMIT"} if self.bare else {}
        self.engine = sqlalchemy.create_engine(self.place.over(self.driver), poolclass=NullPool, **level)
        self.open()

    def open(self):
        self.tx = Session(self.engine)

    def execute(self, statement):
        self.tx.execute(sqlalchemy.text(statement))

    def close(self):
        self.tx.close()
        self.engine.dispose()


class AlchemyConnection(Alchemy):
    def open(self):
        self.tx = self.engine.connect()


class AlchemyScoped(Alchemy):
    def open(self):
        self.tx = scoped_session(sessionmaker(self.engine))

    def close(self):
        self.tx.remove()
        self.engine.dispose()


class AlchemyAsync(AsyncCaller):
    driver = ""

    async def aconnect(self):
        level = {"isolation_level": "AUTOCOMMIT"} if self.bare else {}
        self.engine = create_async_engine(self.place.over(self.driver), poolclass=NullPool, **level)
        await self.open()

    async def open(self):
        self.tx = AsyncSession(self.engine)

    async def aexecute(self, statement):
        await self.tx.execute(sqlalchemy.text(statement))

    async def aclose(self):
        await self.tx.close()
        await self.engine.dispose()


class AlchemyAsyncConnection(AlchemyAsync):
    async def open(self):
        self.tx = await self.engine.connect()


class Flask(Caller):
    driver = ""

    def connect(self):
        self.app = flask.Flask("shop")
        level = {"isolation_level": "AUTOCOMMIT"} if self.bare else {}
        self.app.config["SQLALCHEMY_DATABASE_URI"] = self.place.over(self.driver)
        self.app.config["SQLALCHEMY_ENGINE_OPTIONS"] = {"poolclass": NullPool, **level}
        self.context = self.app.app_context()
        self.context.push()
        self.db = flask_sqlalchemy.SQLAlchemy(self.app)
        self.tx = self.db.session

    def execute(self, statement):
        self.tx.execute(sqlalchemy.text(statement))

    def close(self):
        self.tx.remove()
        self.context.pop()


# Django -----------------------------------------------------------------------------------------------------------------
class Django(Caller):
    """By the alias, as most will write it."""

    def connect(self):
        from django.db import connections, transaction

        if not settings.configured:
            settings.configure(DATABASES={}, USE_TZ=True)
            django.setup()
        self.alias = f"shop{next(_numbers)}"
        made = connections.configure_settings({"default": {}, self.alias: self.place.django()})
        connections.settings[self.alias] = made[self.alias]
        self.connections, self.transaction = connections, transaction
        self.tx = f"django:{self.alias}"

    def begin(self):
        if not self.bare:
            self.block = self.transaction.atomic(using=self.alias)
            self.block.__enter__()

    def execute(self, statement):
        with self.connections[self.alias].cursor() as cursor:
            cursor.execute(statement)

    def commit(self):
        self.block.__exit__(None, None, None)

    def rollback(self):
        self.block.__exit__(ZeroDivisionError, ZeroDivisionError(), None)

    def close(self):
        self.connections[self.alias].close()
        del self.connections[self.alias]


class DjangoConnection(Django):
    """By the connection itself."""

    def connect(self):
        super().connect()
        self.tx = self.connections[self.alias]


# the table --------------------------------------------------------------------------------------------------------------
def over(kind, driver):
    """A kind of SQLAlchemy user over a driver."""
    return type(f"{kind.__name__}_{driver}", (kind,), {"driver": driver})


SQLITE = {
    "sqlite3": Sqlite3,
    "aiosqlite": Aiosqlite,
    "sqlalchemy session on sqlite3": over(Alchemy, "pysqlite"),
    "sqlalchemy connection on sqlite3": over(AlchemyConnection, "pysqlite"),
    "sqlalchemy scoped session on sqlite3": over(AlchemyScoped, "pysqlite"),
    "sqlalchemy session on aiosqlite": over(AlchemyAsync, "aiosqlite"),
    "sqlalchemy connection on aiosqlite": over(AlchemyAsyncConnection, "aiosqlite"),
    "flask-sqlalchemy on sqlite3": over(Flask, "pysqlite"),
    "django alias on sqlite3": Django,
    "django connection on sqlite3": DjangoConnection,
}
POSTGRES = {
    "psycopg": Psycopg,
    "psycopg block": PsycopgBlock,
    "psycopg async": PsycopgAsync,
    "asyncpg": Asyncpg,
    "asyncpg pool": AsyncpgPool,
    "sqlalchemy session on psycopg": over(Alchemy, "psycopg"),
    "sqlalchemy connection on psycopg": over(AlchemyConnection, "psycopg"),
    "sqlalchemy scoped session on psycopg": over(AlchemyScoped, "psycopg"),
    "sqlalchemy session on psycopg async": over(AlchemyAsync, "psycopg"),
    "sqlalchemy session on asyncpg": over(AlchemyAsync, "asyncpg"),
    "sqlalchemy connection on asyncpg": over(AlchemyAsyncConnection, "asyncpg"),
    "flask-sqlalchemy on psycopg": over(Flask, "psycopg"),
    "django alias on psycopg": Django,
    "django connection on psycopg": DjangoConnection,
    "sqlalchemy session on psycopg2": over(Alchemy, "psycopg2"),
}
ALL = SQLITE | POSTGRES

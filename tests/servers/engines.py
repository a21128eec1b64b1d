"""Every engine that the tests run on: a name, and how to come to a fresh, empty store of it.

`MAINSTAY_TEST_POSTGRES` and `MAINSTAY_TEST_REDIS` name servers of your own: those replace the ones from the wheels.
"""

import functools
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

from mainstay.stores import open_store
from tests.servers import postgres, redis, session
from tests.servers.postgres import Postgres
from tests.servers.process import shared
from tests.servers.redis import Redis

REDIS = ["valkey", *["redis62"] * (sys.version_info < (3, 13))]  # the wheel with the oldest supported Redis ends there
WHEELS = {f"postgres{version}": "postgres" for version in postgres.TREES} | dict.fromkeys(REDIS, "redis")


@contextmanager
def sqlite_file(folder):
    """A file in the test's own folder: a copy of an empty store, because to make its tables takes 10 ms."""
    shutil.copyfile(empty_file(), folder / "jobs.db")
    yield f"sqlite:///{folder / 'jobs.db'}"


@functools.cache
def empty_file():
    """The session's file with the tables of a store."""
    path = session.folder() / "empty.db"
    with session.turn("sqlite"):
        if not path.exists():
            with open_store(f"sqlite:///{path}.new") as store:
                store.types()
            Path(f"{path}.new").rename(path)
    return path


@contextmanager
def sqlite_memory(folder):
    """A database that only one store object sees."""
    yield "sqlite:///:memory:"


@functools.cache
def postgres_server(version):
    """The session's PostgreSQL of this version."""
    return shared(functools.partial(Postgres, version), f"postgres{version}")


@functools.cache
def redis_server(kind):
    """The session's Valkey or Redis."""
    return shared(functools.partial(Redis, kind), kind)


def on_postgres(version):
    """An empty schema on a PostgreSQL from the wheel."""
    return lambda folder: postgres.emptied(postgres_server(version).url())


def on_redis(kind):
    """Fresh prefixes on a server from a wheel."""
    return lambda folder: redis.prefix(redis_server(kind).url())


def postgres_engines():
    """Both versions in the wheel, or the user's own server."""
    own = os.environ.get(postgres.VARIABLE)
    if own:
        return {"postgres": lambda folder: postgres.emptied(own)}
    return {f"postgres{version}": on_postgres(version) for version in postgres.TREES}


def redis_engines():
    """Valkey, and Redis 6.2 where there is a wheel of it, or the user's own server."""
    own = os.environ.get(redis.VARIABLE)
    if own:
        return {"redis": lambda folder: redis.prefix(own)}
    return {kind: on_redis(kind) for kind in REDIS}


def kind(name):
    """What sort of engine this is: sqlite, memory, postgres or redis."""
    return "postgres" if name.startswith("postgres") else "redis" if name in SERVERS else name


def installation(name):
    """The URL of a store that nobody has used, on the session's server from a wheel; with a database of its own."""
    if WHEELS[name] == "redis":
        return redis_server(name).url(prefix=postgres.fresh())
    server, database = postgres_server(name.removeprefix("postgres")), postgres.fresh()
    server.run(f"CREATE DATABASE {database}")
    return server.url(database)


LOCAL = {"sqlite": sqlite_file, "memory": sqlite_memory}
SERVERS = postgres_engines() | redis_engines()
ENGINES = LOCAL | SERVERS  # name: a context that answers the URL of an empty store


@contextmanager
def untouched(name, folder):
    """The URL of a store that not even its tables were made for."""
    if name == "sqlite":
        yield f"sqlite:///{folder / 'jobs.db'}"
        return
    with ENGINES[name](folder) as url:
        if kind(name) != "postgres":
            yield url
        else:
            with postgres.schema(postgres.place(url)[0]) as fresh:
                yield fresh


# For what is built on verbs that all versions are tested with: the newest server of each kind, or the user's own.
ONE_OF_EACH = [name for name in ENGINES if name in ("sqlite", "postgres18", "valkey", "postgres", "redis")]

"""Loads the fixtures of schema 1 into fresh stores, and reads and writes what the tests compare."""

import json
import re
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import redis

from mainstay.core.export import PARTS, JobRecord
from mainstay.stores import open_migrations, open_store
from tests.servers import engines, postgres
from tests.servers.redis import place

FIXTURES = Path(__file__).parent / "fixtures"
SINCE = {
    "jobs": (1, *[None] * (len(JobRecord._fields) - JobRecord._fields.index("version") - 1)), "attempts": (None,), "actions": (None,), "types": (None, None, None, None),
    "settings": (None, None),
}  # fmt: skip
NAMESPACE = re.compile(r"\bmainstay\b(?=[.;])")


@contextmanager
def loaded(engine, folder):
    """Yield the URL of a new store with the fixture of its engine."""
    folder.mkdir(exist_ok=True)
    with engines.untouched(engine, folder) as url:
        LOADERS[engines.kind(engine)](url)
        yield url


def load_sqlite(url):
    with closing(sqlite3.connect(path(url))) as connection:
        connection.executescript((FIXTURES / "sqlite-1.sql").read_text(encoding="utf-8"))


def load_postgres(url):
    server, schema = postgres.place(url)
    text = (FIXTURES / "postgres-1.sql").read_text(encoding="utf-8")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(NAMESPACE.sub(f'"{schema}"', text))


def load_redis(url):
    server, prefix = place(url)
    with closing(redis.Redis.from_url(server)) as client:
        for name, kind, content in json.loads((FIXTURES / "redis-1.json").read_text(encoding="utf-8")):
            key = raw(prefix + name)
            if kind == "string":
                client.set(key, raw(content))
            elif kind == "hash":
                client.hset(key, mapping={raw(field): raw(value) for field, value in content.items()})
            elif kind == "zset":
                client.zadd(key, {raw(member): score for member, score in content})
            elif kind == "set":
                client.sadd(key, *map(raw, content))
            else:
                client.rpush(key, *map(raw, content))


LOADERS = {"sqlite": load_sqlite, "postgres": load_postgres, "redis": load_redis}


def raw(text):
    return text.encode("latin-1")


def path(url):
    """The file of a SQLite store."""
    return url.removeprefix("sqlite:///")


def fixture_rows(engine):
    """What the code of schema 1 exported from the fixture, with the columns that were added since."""
    text = (FIXTURES / f"{engines.kind(engine)}-1.rows.json").read_text(encoding="utf-8")
    rows = dict.fromkeys(PARTS, ()) | json.loads(text)
    return {part: ordered(part, [[*row, *SINCE.get(part, ())] for row in each]) for part, each in rows.items()}


def exported(url):
    """What this code exports from a store."""
    with open_store(url) as store:
        return {part: ordered(part, store.export_rows(part, None, 10_000).rows) for part in PARTS}


def ordered(part, rows):
    """Rows that compare equal: Redis keeps types and settings in no order."""
    plain = [tuple(row) for row in rows]
    return sorted(plain) if part in ("types", "settings") else plain


def versions(url):
    return open_migrations(url).found()


def newest(url):
    """What `versions` returns of a store that is up to date."""
    return open_migrations(url).needed, 2, 0


def migrations(url, since=1):
    """The numbers of the migrations after a version."""
    return [int(name[:4]) for name in open_migrations(url).pending(since)]


def up(url):
    """Upgrade a store; returns the versions that were reached."""
    return open_migrations(url).up(lambda _: None)


def change(url, sql, *commands):
    """Change a store behind mainstay's back: by a statement on the tables, or by commands on the keys."""
    kind = url.partition(":")[0]
    if kind == "sqlite":
        with closing(sqlite3.connect(path(url))) as connection, connection:
            connection.execute(sql.replace("TABLE ", "mainstay_").replace("mainstay_schema_version", "mainstay_schema"))
    elif kind == "redis":
        server, prefix = place(url)
        with closing(redis.Redis.from_url(server)) as client:
            for command, key, *values in commands:
                client.execute_command(command, prefix + key, *values)
    else:
        server, schema = postgres.place(url)
        postgres.run(server, sql.replace("TABLE ", f'"{schema}".'))


def structure(url):
    """The tables and indexes of a store."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path(url))) as connection:
            rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE name LIKE 'mainstay%'")
            return {name: sql and " ".join(sql.split()) for name, sql in rows}
    server, schema = postgres.place(url)
    columns = (
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema"
    )
    indexes = "SELECT tablename, replace(indexdef, schemaname, ''), '', '' FROM pg_indexes WHERE schemaname"
    return sorted(postgres.run(server, f"{columns} = '{schema}' UNION ALL {indexes} = '{schema}'"))


def set_versions(url, version, readable_from):
    """Pretend that another version of mainstay has upgraded the store."""
    change(
        url, f"UPDATE TABLE schema_version SET version = {version}, readable_from = {readable_from}",
        ("SET", "schema", version), ("HSET", "migration", "readable_from", readable_from),
    )  # fmt: skip


def set_lease(url, worker, until):
    """Let the lease of a worker run until an instant."""
    change(
        url, f"UPDATE TABLE worker SET expires_at = {until} WHERE id = '{worker}'", ("ZADD", "workers", until, worker)
    )

"""Writes the fixtures of schema 1: one store of each engine, with jobs in every state and everything that a job can have.

It ran once, with the code of commit 01c9372 and that commit's names, in a worktree of it:

    git worktree add --detach OLD 01c9372 && cp tests/migrations/generate.py OLD/ && cd OLD
    PYTHONPATH=src:. python generate.py HERE/tests/migrations/fixtures

Every fixture has two files: the store (`sqlite-1.sql`, `postgres-1.sql`, `redis-1.json`) and the rows that the old code
exported from it (`…-1.rows.json`).
"""

# ruff: noqa: I001  (the imports are those of the old commit)
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import redis

from mainstay.core import states
from mainstay.core.clock import HOUR, SECOND, ManualClock
from mainstay.core.job import TypeInfo
from mainstay.core.outcome import COMPLETED
from mainstay.core.record import PARTS
from mainstay.stores import open_store
from tests.contract import building as b
from tests.servers.engines import postgres_server, redis_server


def furnish(desk):
    """Fill a store."""
    desk.store.declare([
        TypeInfo("work", "default", "work(n: int = 0)", {"max_attempts": 7}, desk.now),
        TypeInfo("mail", "mail", "mail(n: int = 0)", {}, desk.now),
    ])  # fmt: skip
    desk.store.set_setting("colour", "blü \N{SNOWMAN}")
    made = {state: desk.bring(state, priority=n) for n, state in enumerate(states.STATES)}
    rich(desk, made["dead"])
    dead = retried(desk)
    reviewed(desk)
    waiting(desk)
    running(desk)
    desk.store.retry([dead], desk.now, "someone")
    desk.store.cancel([desk.add(), desk.add(run_at=desk.now + HOUR, tags=("eu",))], desk.now, "someone")
    desk.store.delete([desk.add()], desk.now, "someone")


def only(desk, **given):
    """A new job, claimed before all others."""
    return desk.run(priority=99, **given)


def rich(desk, parent):
    """A completed job with a result, a log, a checkpoint, progress, tags, a key and a parent."""
    job = only(
        desk, payload='{"n":7}', tags=("eu", "a b"), tenant="acme", ref="doc:7", parent=parent, keep=None,
        key="rich", lock="work:rich",
    )  # fmt: skip
    desk.store.note([b.log(job, n, f"line {n} \N{SNOWMAN}") for n in range(5)])
    desk.store.note([b.log(job, 9, "with fields")._replace(fields='{"a":1}', stage="read")])
    desk.store.note([b.progress(job, 1.5, None, "read"), b.checkpoint(job, '{"page":3}')])
    desk.end(job, COMPLETED._replace(result='{"pages":[1,2,"é"]}'))


def retried(desk):
    """Two jobs that are dead after three attempts. Returns the second."""
    for _ in range(2):
        job = only(desk)
        for _ in range(2):
            desk.end(job, b.FAILED)
            desk.clock.move_to(desk.now + SECOND)
            job = desk.take_this(job.id)
        desk.end(job, b.FAILED)
    return job.id


def reviewed(desk):
    """One job was approved, one rejected."""
    for approve in (True, False):
        job = only(desk, keep=None)
        desk.end(job, b.REVIEW)
        desk.store.judge(job.id, approve, desk.now, "someone", "looked at")


def waiting(desk):
    """Jobs in several lanes, with keys of every kind, and one that replaced another."""
    desk.store.enqueue(
        [b.keyed("forever", priority=5), b.keyed("hour", desk.now + HOUR), b.keyed("start", 0, run_at=desk.now + HOUR)],
        desk.now,
    )
    desk.store.enqueue([b.keyed("forever", payload='{"n":2}', tags=("new",), on_conflict="replace")], desk.now)
    for n in range(6):
        desk.add(["mail", "work"][n % 2], queue="mail", priority=n % 3, payload=f'{{"n":{n}}}')
    desk.add("mail", queue="mail", run_at=desk.now + SECOND, ref="doc:8")


def running(desk):
    """Jobs that a second worker runs: one has saved a checkpoint, one was asked to stop. One waits to be retried."""
    desk.join("w-second")
    first, second = (only(desk, worker="w-second", tags=("held",)) for _ in range(2))
    desk.store.note([b.checkpoint(first), b.progress(first), b.log(first)])
    desk.store.cancel([second.id], desk.now, "someone")
    desk.end(only(desk, tenant="acme"), b.FAILED)


# One function an engine -----------------------------------------------------------------------------------------------
def filled(url):
    """Fill the store at a URL; returns what the old code exports of it."""
    with open_store(url, ManualClock()) as store:
        furnish(b.Desk(store, ManualClock()))
        return {part: store.dump(part, None, 10_000).rows for part in PARTS}


def sqlite(folder):
    with TemporaryDirectory() as scratch:
        rows = filled(f"sqlite:///{scratch}/jobs.db")
        with closing(sqlite3.connect(f"{scratch}/jobs.db")) as connection:
            write(folder / "sqlite-1.sql", "\n".join(connection.iterdump()))
    return rows


def postgres(folder):
    server = postgres_server("16")
    with server.database() as url:
        rows = filled(url)
        dump = [server.bin / "pg_dump", "--schema=mainstay", "--inserts", "--no-owner", "--no-privileges", url]
        text = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if line and not line.startswith(("--", "\\", "SET "))]
    write(folder / "postgres-1.sql", "\n".join(lines))
    return rows


def valkey(folder):
    url = redis_server("valkey").url()
    rows = filled(f"{url}?prefix=fixture")
    with closing(redis.Redis.from_url(url)) as client:
        names = sorted(key for key in client.scan_iter("{fixture}:*") if client.ttl(key) == -1)
        found = [[text(key).removeprefix("{fixture}:"), *content(client, key)] for key in names]
    write(folder / "redis-1.json", "[\n" + ",\n".join(json.dumps(entry) for entry in found) + "\n]")
    return rows


def content(client, key):
    """The type of a key and what is in it; bytes as Latin-1, so that JSON holds them."""
    kind = text(client.type(key))
    reading = {
        "string": lambda: text(client.get(key)),
        "hash": lambda: {text(name): text(value) for name, value in client.hgetall(key).items()},
        "zset": lambda: [[text(member), score] for member, score in client.zrange(key, 0, -1, withscores=True)],
        "set": lambda: sorted(text(member) for member in client.smembers(key)),
        "list": lambda: [text(item) for item in client.lrange(key, 0, -1)],
    }
    return kind, reading[kind]()


def text(raw):
    return raw.decode("latin-1")


def write(path, content):
    path.write_text(content + "\n", encoding="utf-8")


def main(folder):
    for name, engine in (("sqlite", sqlite), ("postgres", postgres), ("redis", valkey)):
        rows = engine(folder)
        lines = (f'"{part}": [\n' + ",\n".join(json.dumps(row) for row in rows[part]) + "\n]" for part in rows)
        write(folder / f"{name}-1.rows.json", "{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

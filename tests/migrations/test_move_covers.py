"""Every table and every family of keys is part of `mainstay move`, or is listed here as left out, with the reason."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mainstay.core.export import PARTS, DeliveryRecord
from mainstay.core.job import Rule
from mainstay.core.keys import FOREVER
from mainstay.stores import open_store
from mainstay.stores.move import move
from mainstay.stores.redis import script
from tests.contract.building import REVIEW, draft, keyed, transition, worker
from tests.contract.moving import silent
from tests.contract.ruled import after, limited
from tests.migrations.loading import path, up
from tests.servers import postgres
from tests.servers.engines import kind, untouched
from tests.servers.redis import place

pytestmark = pytest.mark.engines("sqlite", "postgres", "redis")
TABLES = {
    "jobs": {"job", "body", "tag", "result", "checkpoint", "progress", "acted", "hold", "review"}, "attempts": {"attempt"}, "logs": {"log"},
    "actions": {"action"}, "types": {"type"}, "settings": {"setting"}, "keys": {"key"}, "rules": {"rule"}, "after": {"after"}, "tallies": {"tally"},
    "deliveries": {"delivery"},
}  # fmt: skip
FAMILIES = {
    "jobs": {"job", "payload", "ids", "seq", "terms", "lock", "result", "children", "checkpoint", "progress", "bulks",
             "queue", "lanes", "due", "run", "review", "dead", "ended", "expiry", "wait", "hold", "lines", "start_by", "kept", "asked", "review_due", "fingerprint", "details"},
    "attempts": {"attempt", "error", "code", "codes"}, "logs": {"log", "warned"}, "actions": {"action", "actions", "acted", "bulk", "bulk_of"}, "types": {"type"},
    "settings": {"setting", "setting_note"}, "keys": {"key", "keys"}, "rules": {"rule", "ruled", "depth", "flow"}, "after": {"after"}, "tallies": {"tally", "tallies"},
    "deliveries": {"delivery", "delivered", "deliveries", "failed"},
}  # fmt: skip
NEXT = "what the next claim or chore goes on with: a chore of the target finds it"
ANEW = "rates, turns and breakers begin anew at the target"
WORKERS = "workers register anew at the target; none may run during a move"
LEFT_OUT = {
    "sqlite": {"worker": WORKERS, "declaration": WORKERS, "meter": ANEW, "freed": NEXT, "schema": "each store has its own version"},
    "postgres": {"worker": WORKERS, "declaration": WORKERS, "meter": ANEW, "freed": NEXT, "schema_version": "each store has its own version"},
    "redis": {
        "worker": WORKERS, "workers": WORKERS, "declared": WORKERS, "beat": WORKERS, "wanted": WORKERS,
        "gone": "dead workers whose jobs a sweep frees; the sweep of the target finds them by their jobs",
        "stop": "the running jobs of a worker that were asked to stop: the job's record has it, and its worker is gone",
        "schema": "each store has its own version", "migration": "each store has its own version",
        "seen": WORKERS, "stalled": WORKERS, "rings": "counts wake-ups", "first_action": "where the audit trail begins: the target counts from one", "armed": "workers that wait for a wake-up", "bell": "a wake-up, gone in seconds",
        "woken": NEXT, "ending": NEXT, "walks": NEXT, "walked": NEXT, "looked": NEXT, "swept": NEXT, "counting": NEXT, "meter": ANEW, "pushed": ANEW,
        "outcomes": ANEW, "schedules": "counts changes: workers of the target read all schedules when they start",
    },
}  # fmt: skip
KEY = re.compile(r'P \.\. "([a-z_]+)')


def tables(url):
    """The tables of a SQLite or PostgreSQL store."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path(url))) as connection:
            rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'mainstay%'")
            return {name.removeprefix("mainstay_") for (name,) in rows}
    server, schema = postgres.place(url)
    return {name for (name,) in postgres.run(server, f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'")}


def families(store):
    """The families of keys that a Redis store has: what stands before the first colon."""
    prefix = place(store.url)[1]
    _, found = store.server.command("SCAN", 0, "MATCH", prefix + "*", "COUNT", 1_000_000)
    return {key.removeprefix(prefix).partition(":")[0] for key in found}


def written():
    """The families of keys that the scripts name."""
    texts = [file.read_text(encoding="utf-8") for file in Path(script.FOLDER).parent.rglob("*.lua")]
    return {name for text in texts for name in KEY.findall(text)}


def test_every_part_has_its_tables_and_keys():
    assert TABLES.keys() == FAMILIES.keys() == PARTS.keys()


@pytest.mark.engines("sqlite", "postgres")
def test_every_table_moves_or_is_left_out_for_a_reason(old, engine):
    up(old)
    assert tables(old) == set().union(*TABLES.values()) | LEFT_OUT[kind(engine)].keys()


@pytest.mark.engines("redis")
def test_every_family_of_keys_moves_or_is_left_out_for_a_reason(old, engine):
    up(old)
    listed = set().union(*FAMILIES.values()) | LEFT_OUT["redis"].keys()
    with open_store(old) as store:
        assert families(store) | written() == listed


@pytest.mark.engines("redis")
def test_every_family_that_moves_is_there_after_a_move(old, engine, tmp_path):
    up(old)
    with untouched(engine, tmp_path) as url, open_store(old) as source, open_store(url) as target:
        before = families(source)
        move(source, target, silent)
        assert families(target) >= before & set().union(*FAMILIES.values())


@pytest.mark.engines("sqlite", "postgres")
def test_every_table_that_moves_has_its_rows_after_a_move(old, engine, tmp_path_factory):
    up(old)
    with untouched(engine, tmp_path_factory.mktemp("target")) as url:
        with open_store(old) as source, open_store(url) as target:
            held, child = limited(), after(source.export_rows("jobs", None, 1).rows[0][0])
            source.enqueue([keyed("ever", FOREVER), held, child], 0)
            ask_for_review(source)
            source.set_rule(Rule("pause", "type:nobody", {}, "me"))
            source.record_delivery(DeliveryRecord("billing", 0, "j", 1, 1, 200, 5, None, "ok"), 0)
            source.retry([row[0] for row in source.export_rows("jobs", None, 500).rows], 0, "me")
            move(source, target, silent)
        for name in set().union(*TABLES.values()):
            assert count(url, name) > 0, name


def ask_for_review(store):
    """Let one job wait for a person."""
    store.register(worker("w-asks", 0, lease=10**15, types=("asks",)))
    store.enqueue([draft("asks")], 0)
    (job,) = store.claim("w-asks", {"default": ["asks"]}, 1, 0).jobs
    store.finish([transition(job, REVIEW, 0)])
    store.deregister("w-asks")


def count(url, name):
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(path(url))) as connection:
            return connection.execute(f"SELECT count(*) FROM mainstay_{name}").fetchone()[0]
    server, schema = postgres.place(url)
    return postgres.run(server, f'SELECT count(*) FROM "{schema}".{name}')[0][0]

"""An upgrade beside workers of the older version: it waits until they have stopped, and changes nothing for them."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from mainstay import Mainstay
from mainstay.core.errors import SchemaMismatch
from mainstay.stores import open_store, outbox, worker_locks
from tests.contract.building import draft
from tests.migrations.loading import exported, fixture_rows, migrations, newest, path, set_lease, up, versions

pytestmark = pytest.mark.engines("sqlite", "postgres", "redis")
WORKER = "w-second"
REFUSED = r"has schema 1, this mainstay needs \d+, and 1 worker\(s\).*w-second.*Stop them.*mainstay migrate up"
# What a worker of schema 1 claims by.
OLD_CLAIM = """
SELECT id FROM mainstay_job INDEXED BY mainstay_job_claim WHERE state = 'queued' AND queue = 'default' AND type = 'work'
ORDER BY priority DESC, ord, seq LIMIT 1
"""


@pytest.fixture
def alive(old):
    """A store of schema 1 whose second worker runs."""
    set_lease(old, WORKER, later())
    return old


def later():
    return int(time.time() * 1000) + 60_000


def content(url):
    with closing(sqlite3.connect(path(url))) as connection:
        return list(connection.iterdump())


# SQLite: nothing at all happens while a worker runs -------------------------------------------------------------------
def read(store):
    store.counts(10)


def produce(store):
    store.enqueue([draft()], 1)


def produce_in_a_transaction(store):
    with closing(sqlite3.connect(path(store.url))) as own, own:
        own.execute("BEGIN IMMEDIATE")
        outbox.run(store, own, lambda verbs: verbs.enqueue([draft()], 1))


def start_a_worker(store):
    app = Mainstay(store.url)
    app.job(lambda: None, name="work")
    app.worker().start()


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("use", [read, produce, produce_in_a_transaction, start_a_worker], ids=lambda use: use.__name__)
def test_new_code_beside_a_living_worker_is_refused_and_writes_nothing(alive, use):
    before = content(alive)
    with open_store(alive) as store, pytest.raises(SchemaMismatch, match=REFUSED):
        use(store)
    assert content(alive) == before
    with closing(sqlite3.connect(path(alive))) as old_worker:
        assert old_worker.execute(OLD_CLAIM).fetchone(), "the worker claims as before"


@pytest.mark.engines("sqlite")
def test_a_transaction_of_the_callers_upgrades_the_file_too(old, engine):
    with open_store(old) as store:
        produce_in_a_transaction(store)
    assert versions(old) == newest(old)
    assert len(exported(old)["jobs"]) == len(fixture_rows(engine)["jobs"]) + 1


@pytest.mark.engines("sqlite")
def test_a_held_lock_counts_whatever_the_lease_says(old):
    worker_locks.hold(path(old), WORKER)
    try:
        with pytest.raises(SchemaMismatch, match=REFUSED):
            up(old)
    finally:
        worker_locks.release(path(old), WORKER)
    assert up(old) == migrations(old)


@pytest.mark.engines("sqlite")
def test_a_killed_worker_does_not_count_although_its_lease_runs(alive, tmp_path):
    (tmp_path / "jobs.db-mainstay").mkdir()
    Path(worker_locks.lock_file(path(alive), WORKER)).touch()  # held by nobody: its process is gone
    assert up(alive) == migrations(alive)


# Servers: what can be done beside running workers is done first -------------------------------------------------------
@pytest.mark.engines("postgres", "redis")
def test_up_prepares_and_then_waits_for_the_workers(alive, engine):
    with pytest.raises(SchemaMismatch, match=REFUSED):
        up(alive)
    assert versions(alive) == (1, 1, 2), "two of three steps are done; code of schema 1 sees its own version"
    set_lease(alive, WORKER, 1)
    assert up(alive) == migrations(alive)
    assert exported(alive) == fixture_rows(engine)

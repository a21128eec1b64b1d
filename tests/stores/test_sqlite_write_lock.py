"""SQLite's write lock: how a writer waits for it, and what it writes while it has it."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from mainstay.core.draft import Draft
from mainstay.core.job import WorkerInfo
from mainstay.stores import open_store
from mainstay.stores.sqlite import sql


def test_a_writer_looks_often_whether_the_lock_is_free(tmp_path, monkeypatch):
    """SQLite's own waits grow to 100 ms, in which a busy worker takes the lock again and again."""
    with closing(open_store(f"sqlite:///{tmp_path / 'jobs.db'}")) as store:
        other = sqlite3.connect(store.db.path, isolation_level=None)
        store.db.ready()
        other.execute("BEGIN IMMEDIATE")
        pauses = []

        def pause(seconds):
            pauses.append(seconds)
            if len(pauses) == 50:
                other.execute("ROLLBACK")

        monkeypatch.setattr("mainstay.stores.sqlite.connect.time.sleep", pause)
        store.db.write(lambda connection: None)
        other.close()
    assert len(pauses) == 50
    assert max(pauses) <= 0.005


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lists the open files of a process so")
def test_what_a_savepoint_would_bring_back_is_kept_in_memory(tmp_path):
    """SQLite writes it to a file beyond 64 KiB: of a claim for hundreds of jobs with limits, more than the claim itself."""
    with closing(open_store(f"sqlite:///{tmp_path / 'jobs.db'}")) as store:
        store.enqueue([Draft("work", "{}") for _ in range(1_000)], 0)

        def work(connection):
            connection.execute("SAVEPOINT batch")
            connection.execute("UPDATE mainstay_job SET priority = 1")
            return _temporary_files()

        assert store.db.write(work) == []


@pytest.mark.parametrize("works", [True, False])
def test_a_commit_of_a_worker_does_not_copy_a_short_log_into_the_file(tmp_path, works):
    """Most commits of busy workers did. A producer's log does not grow: what it adds to a file costs more than what it writes over."""
    file, log = tmp_path / "jobs.db", tmp_path / "jobs.db-wal"
    with closing(open_store(f"sqlite:///{file}")) as store:
        store.enqueue([Draft("work", "{}")], 0)
        if works:
            store.register(WorkerInfo("w", "host", 1, 1, ("default",), ("work",), 0, 0, 60_000, 0, stopping=False))
            store.claim("w", {"default": ["work"]}, 1, 0)
        before = file.stat().st_size
        for _ in range(20):
            store.enqueue([Draft("work", "x" * 4_000) for _ in range(100)], 0)
        assert (file.stat().st_size == before, log.stat().st_size > 8_000_000) == (works, works)


def _temporary_files():
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # of the listing itself
            found.append(each.readlink().name)
    return [name for name in found if name.startswith("etilqs_")]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9, 25, 26, 99, 100, 101, 329, 480])
def test_a_batch_is_cut_into_few_pieces_that_are_filled_with_null(count):
    pieces = sql.spacious(count)
    assert sum(size for _, size in pieces) >= count
    assert len(pieces) <= count // 100 + 4
    rows = [(n, "x") for n in range(count)]
    values = [value for start, size in pieces for value in sql.filled(rows[start : start + size], size, 2)]
    assert [value for value in values if value is not None] == [value for row in rows for value in row]
    assert len(values) == 2 * sum(size for _, size in pieces)

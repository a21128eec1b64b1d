"""The size of a SQLite file: to delete jobs does not grow it, and `compact` gives their pages back."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from mainstay.core.bulk import new_bulk
from mainstay.core.draft import Draft
from mainstay.stores import open_store

JOBS, CHUNK, PAGE = 20_000, 200, 4096
FEW = 8  # pages


def make(path, incremental):
    """A file of a new store, or one as before schema 5: without incremental vacuum."""
    if not incremental:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = wal")
    return open_store(f"sqlite:///{path}?synchronous=normal")


def pages(path):
    """How many pages the file has, those in its log included."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA page_count").fetchone()[0]


def mode(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA auto_vacuum").fetchone()[0]


@pytest.mark.parametrize("incremental", [True, False])
def test_to_delete_jobs_does_not_grow_the_file_and_compact_shrinks_it(tmp_path, incremental):
    path, bulk = tmp_path / "jobs.db", new_bulk()
    with make(path, incremental) as store:
        drafts = [Draft("work", '{"n": 1}') for _ in range(JOBS)]
        store.enqueue(drafts, 1)
        before = pages(path)
        for start in range(0, JOBS, CHUNK):
            store.delete([draft.id for draft in drafts[start : start + CHUNK]], 1, "ada", (), bulk)
        assert pages(path) <= before + FEW
        assert [action.detail["jobs"] for action in store.actions(None, 9)] == [JOBS]
        assert mode(path) == (2 if incremental else 0)
        reports = []
        done = store.compact(lambda freed, free: reports.append((freed, free)))
    assert (reports[0][0], len(reports) > 2) == (0, incremental)
    assert done.after < done.before / 10
    assert Path(path).stat().st_size < before * PAGE / 10


def test_others_write_while_a_file_is_compacted(tmp_path):
    path = tmp_path / "jobs.db"
    with make(path, incremental=True) as store, make(path, incremental=True) as other:
        drafts = [Draft("work", "{}") for _ in range(JOBS)]
        store.enqueue(drafts, 1)
        store.delete([draft.id for draft in drafts], 1, "ada")
        wrote = []

        def write(*_):
            thread = threading.Thread(target=lambda: wrote.append(other.enqueue([Draft("work", "{}")], 1)))
            thread.start()
            thread.join()

        store.compact(write)
        assert 100 > len(wrote) == len(store.export_rows("jobs", None, 500).rows) > 2


def test_the_reader_of_a_thread_keeps_less_in_memory_than_the_writer(tmp_path):
    with make(tmp_path / "jobs.db", incremental=True) as store:
        store.db.ready()
        kept = [store.db.read(_cache), store.db.write(_cache)]
    assert kept == [-2_000, -16_000]


def _cache(connection):
    return connection.execute("PRAGMA cache_size").fetchone()[0]

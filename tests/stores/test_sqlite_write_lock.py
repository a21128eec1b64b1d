"""Waiting for SQLite's write lock."""

import sqlite3
from contextlib import closing

from mainstay.stores import open_store


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

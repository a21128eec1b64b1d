"""Lock files of workers: who may use them, where they lie, and what is never written or believed."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest

from mainstay.core.clock import MINUTE
from mainstay.core.errors import StoreError
from mainstay.stores import worker_locks
from mainstay.stores.local_workers import LocalWorkers
from mainstay.stores.sqlite import connect
from mainstay.stores.sqlite.store import SqliteStore
from tests.contract.building import draft, worker
from tests.servers.worker_locks import released
from tests.waiting import eventually

NOW = 1_750_000_000_000
DYING = """
import os, sys
from mainstay.stores import open_store
from tests.contract.building import draft, worker
store, now = open_store(sys.argv[1]), int(sys.argv[2])
store.register(worker("dying", now))
store.started_jobs("dying")
store.enqueue([draft(max_attempts=1)], now)
assert store.claim("dying", {"default": ["work"]}, 1, now).jobs
os._exit(0)  # as if killed
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "jobs.db"


@pytest.fixture
def store(path):
    with SqliteStore(f"sqlite:///{path}") as store:
        store.enqueue([draft()], NOW)
        yield store


def test_two_sweeps_after_a_death_both_see_that_the_job_had_not_started(path):
    """The first has read the dead worker's marks, but has not stored yet what they say."""
    url = f"sqlite:///{path}"
    subprocess.run([sys.executable, "-c", DYING, url, str(NOW)], check=True, timeout=60)
    with SqliteStore(url) as one, SqliteStore(url) as two:
        found = [store.orphans(NOW, MINUTE, 9) for store in (one, two)]
    assert [[orphan.begun for orphan in each] for each in found] == [[False], [False]]


def test_a_dead_workers_files_go_when_no_job_of_it_is_left(store, path):
    subprocess.run([sys.executable, "-c", DYING, store.url, str(NOW)], check=True, timeout=60)
    (orphan,) = store.orphans(NOW, MINUTE, 9)
    store.delete([orphan.job.id], NOW, "test")
    store.db.write(lambda connection: connection.execute("DELETE FROM mainstay_job"))
    folder = path.with_name("jobs.db-mainstay")
    eventually(lambda: not (store.orphans(NOW, MINUTE, 9) or [*folder.iterdir()]), "a sweep has removed the files")


def test_all_names_of_a_file_have_the_same_locks(store, path, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(path)
    store.register(worker("w", NOW))
    with SqliteStore(f"sqlite:///{link}") as other:
        assert other.db.path == store.db.path
        assert other.orphans(NOW, MINUTE, 9) == []
        assert [info.id for info in other.workers()] == ["w"]
    assert not link.with_name("link.db-mainstay").exists()
    store.deregister("w")


def test_whoever_may_use_the_database_may_look_for_dead_workers(store, path):
    path.chmod(0o664)
    store.register(worker("w", NOW))
    folder = path.with_name("jobs.db-mainstay")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o775
    assert stat.S_IMODE((folder / "w.lock").stat().st_mode) == 0o664
    store.deregister("w")


def test_nothing_is_written_through_a_link(store, path, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = path.with_name("jobs.db-mainstay")
    folder.mkdir()
    (folder / "w.lock").symlink_to(victim)
    with pytest.raises(StoreError):
        store.register(worker("w", NOW))
    assert victim.read_text() == "precious"


def writable(folder):
    folder.chmod(0o777)


def linked(folder):
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))


def foreign(folder):
    if os.getuid():
        pytest.skip("only root can give a folder to another user")
    os.chown(folder, 65534, 65534)


WRONG = {
    writable: "can be written by other users",
    linked: "is a link or a file",
    foreign: "belongs to another user (65534)",
}


@pytest.mark.parametrize("spoil", WRONG)
def test_a_runtime_folder_that_others_control_is_neither_used_nor_believed(spoil, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    workers = LocalWorkers("postgres", "somewhere")
    workers.hold("first")
    (lock,) = tmp_path.rglob("first.lock")
    workers.release("first")
    spoil(tmp_path / f"mainstay-{os.getuid()}")
    planted = lock.with_name("alive.lock")
    planted.touch()
    os.utime(planted, (0, 0))
    monkeypatch.setattr("mainstay.stores.local_workers.YOUNG", -1)
    deregistered = []
    workers.hold("second")
    assert not lock.with_name("second.lock").exists()
    assert workers.orphans(deregistered.append, list, 9) == []
    assert deregistered == []
    workers.hold("third")
    (warning,) = caplog.messages
    assert workers.problem() in warning
    assert WRONG[spoil] in warning


def test_a_new_file_that_another_program_writes_is_waited_for(path, monkeypatch):
    """SQLite itself does not wait when it switches a file to WAL."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other, SqliteStore(f"sqlite:///{path}") as store:
        other.execute("CREATE TABLE customer (name TEXT)")
        other.execute("BEGIN IMMEDIATE")
        waits = []

        def wait(_seconds):
            waits.append(other.in_transaction and other.execute("COMMIT"))

        monkeypatch.setattr(connect.time, "sleep", wait)
        assert store.enqueue([draft()], NOW)[0][1]
        assert waits


def test_a_test_releases_the_locks_of_its_workers(store, path):
    with released():
        store.register(worker("left", NOW))
        assert worker_locks.held(str(path), "left")
    assert not worker_locks.held(str(path), "left")
    assert worker_locks.free(worker_locks.lock_file(str(path), "left"))

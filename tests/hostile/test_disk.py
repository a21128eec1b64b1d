"""A disk that is full or fails: a clear error for who enqueues, nothing lost, and work goes on when there is room again.

Two ways to run out: a limit on the size of files (SQLite calls that an I/O error), and a small file system (it is full).
"""

import os
import subprocess
import threading

import pytest

from mainstay import Mainstay
from mainstay.core.errors import StoreFull, StoreUnavailable
from tests.hostile.conftest import at_work, ended, finished
from tests.waiting import eventually

# In an interpreter of its own: the limit holds for the whole process.
LIMITED = """
import resource, sqlite3, sys, threading, time
from mainstay import Mainstay, StoreError
from tests.waiting import eventually

app = Mainstay(sys.argv[1])
lease, outage = sys.argv[2], float(sys.argv[3])
gate, started = threading.Event(), threading.Event()
errors = []
app.events.on("store_error", lambda error, wait: errors.append(error))

@app.job(timeout=None)
def waits(n):
    started.set()
    gate.wait(60)
    return n

@app.job
def quick(n):
    return n

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

with app.worker(concurrency=4, lease=lease, poll="50ms", grace="1s"):
    accepted = [quick.enqueue(n) for n in range(20)]
    accepted.append(waits.enqueue(20))
    assert started.wait(30)
    begun = time.monotonic()
    limit(1)
    eventually(lambda: time.monotonic() - begun > outage, "the outage is over", 60)
    try:
        quick.enqueue(99)
    except StoreError as error:
        print("refused:", type(error).__name__, error)
    gate.set()  # it ends now, and its outcome cannot be stored
    eventually(lambda: errors, "the worker has noticed")
    limit(resource.RLIM_INFINITY)
    accepted += [quick.enqueue(n) for n in range(21, 30)]
    found = [handle.result(timeout=60) for handle in accepted]
    assert found == list(range(30)), found
app.close()
check = sqlite3.connect(sys.argv[1].removeprefix("sqlite:///"))
assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
states = dict(check.execute("SELECT state, count(*) FROM mainstay_job GROUP BY state"))
check.close()
print("states:", states)
"""


@pytest.mark.parametrize(("lease", "outage"), [("10s", 0.2), ("500ms", 1.5)], ids=["short", "longer than a lease"])
def test_a_disk_that_fails_for_a_while_loses_nothing(program, path, lease, outage):
    pytest.importorskip("resource", reason="this system has no limits on the size of files")
    said = finished(program(LIMITED, f"sqlite:///{path}", lease, outage), 90)
    assert "refused: StoreUnavailable" in said
    assert "check the disk" in said
    assert "states: {'completed': 30}" in said


@pytest.fixture
def small(tmp_path):
    """A file system of one megabyte."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system; the limit on the size of files is tested all the same")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    """Leave no room at all."""
    with (folder / "ballast").open("wb", buffering=0) as ballast:
        for size in (65_536, 4_096, 1):
            try:
                while True:
                    ballast.write(b"x" * size)
            except OSError:
                continue


@pytest.fixture
def full_app(small):
    app = Mainstay(f"sqlite:///{small / 'jobs.db'}")
    yield app
    app.close()


def test_a_full_disk_is_named_and_work_goes_on_when_there_is_room(full_app, small):
    app = full_app

    @app.job
    def quick(n):
        return n

    with at_work(app) as worker:
        accepted = [quick.enqueue(n) for n in range(10)]
        assert [handle.result(timeout=20) for handle in accepted] == list(range(10))
        fill(small)
        with pytest.raises(StoreFull, match="Free some space"):
            accepted.extend(map(quick.enqueue, range(10, 1_000)))
        (small / "ballast").unlink()
        accepted.append(quick.enqueue(7))
        assert {ended(app, handle).state for handle in accepted} == {"completed"}
        assert all(isinstance(error, StoreUnavailable) for error in worker.store_errors)


def test_an_outcome_that_finds_the_disk_full_is_stored_later(full_app, small):
    app, gate = full_app, threading.Event()

    @app.job
    def waits():
        gate.wait(30)
        return "x" * 50_000

    with at_work(app) as worker:
        handles = [waits.enqueue() for _ in range(4)]
        eventually(lambda: all(handle.state == "running" for handle in handles), "all to run")
        fill(small)
        gate.set()
        eventually(lambda: worker.store_errors, "the worker to notice")
        assert all(handle.state == "running" for handle in handles)
        (small / "ballast").unlink()
        assert [len(handle.result(timeout=40)) for handle in handles] == [50_000] * 4
        assert {app.get(handle.id).attempt for handle in handles} == {1}


BEGINS = """
import sys
from mainstay.core.clock import SystemClock
from mainstay.stores import open_store
from tests.contract.building import draft, worker
store, now = open_store(sys.argv[1]), SystemClock().now()
store.register(worker("w", now))
marks = store.started_jobs("w")
store.enqueue([draft()], now)
(job,) = store.claim("w", {"default": ["work"]}, 1, now).jobs
print("full?", flush=True)
sys.stdin.readline()
for n in range(4_000):
    marks.begin(job._replace(seq=n + 1))
print("alive", flush=True)
sys.stdin.readline()
"""


def test_jobs_that_begin_on_a_full_disk_kill_no_worker(small, program):
    """What a worker notes about itself lies on the same disk: it must have its room from the start."""
    worker = program(BEGINS, f"sqlite:///{small / 'jobs.db'}")
    assert worker.stdout.readline() == "full?\n"
    fill(small)
    worker.stdin.write("yes\n")
    worker.stdin.flush()
    assert worker.stdout.readline() == "alive\n", f"ended by signal {-worker.wait(10)}"
    (small / "ballast").unlink()
    worker.stdin.write("bye\n")
    finished(worker)


def test_a_worker_cannot_start_where_there_is_no_room_and_says_so(small):
    fill(small)
    app = Mainstay(f"sqlite:///{small / 'jobs.db'}")

    @app.job
    def work():
        pass

    with pytest.raises(StoreUnavailable):
        app.worker().start()
    with pytest.raises(StoreUnavailable):
        work.enqueue()
    app.close()

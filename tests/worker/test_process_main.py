"""How process slots begin and end: where they find handlers, and that none outlives its worker."""

import os
import sys

import pytest

from mainstay import JobFailed
from mainstay.worker import pipes
from tests.waiting import eventually
from tests.worker.conftest import WORKER, attempt, gone, installed

SCRIPT = """
import os
from mainstay import Mainstay, Retry, ctx

app = Mainstay("sqlite:///script.db")

@app.job(process=True, retry=Retry(1))
def triple(n: int) -> list[int]:
    ctx.log(__name__)
    return [n * 3, os.getpid()]
"""
GUARDED = """
if __name__ == "__main__":
    job = triple.enqueue(5)
    with app.worker(concurrency=1):
        print(job.result(timeout=30)[0], app.logs(job.id)[0].message)
"""
UNGUARDED = """
from mainstay import JobFailed
job = triple.enqueue(5)
with app.worker(concurrency=1):
    try:
        job.result(timeout=30)
    except JobFailed as error:
        print(error, len(app.list("type:triple")))
"""
LATE = """
import os, threading
from mainstay import Mainstay, Retry

app = Mainstay("sqlite:///:memory:")
if os.environ["OWNER"] != str(os.getpid()):
    threading.Event().wait(float(os.environ["LOADING"]))
    if os.environ["LOADING"] == "0":
        raise RuntimeError("no licence in this process")

@app.job(process=True, retry=Retry(1), timeout="200ms")
def quick() -> str:
    return "in time"

@app.job(process=True, retry=Retry(1))
def enqueues() -> None:
    quick.enqueue()
"""


def test_what_a_handler_prints_goes_to_stderr_and_its_stdin_is_empty(jobs, capfd):
    with jobs.app.worker(process_slots=1):
        assert jobs.talk.enqueue().result(timeout=20) == "read ''"
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == ['{"outcome": "printed"}', "written", '{"note": "raw"}', "echoed"]


def test_no_child_is_left_when_the_worker_stops(jobs, journal):
    with jobs.app.worker(concurrency=2, process_slots=2, grace=0) as worker:
        jobs.surroundings.enqueue().result(timeout=20)
        handle = jobs.separate.enqueue("gate")
        pid = journal.pid("started separate gate")
        children = [slot.child.process for _, slot in worker.slots.processes.threads if slot.child]
    assert gone(pid)
    assert [child.poll() is not None for child in children] == [True] * len(children)
    assert (handle.state, handle.job().attempt) == ("queued", 0)


@pytest.mark.parametrize("before", ["", "/somewhere:/else"])
def test_a_child_searches_where_its_worker_does_and_leaves_no_trace_of_it(monkeypatch, before):
    monkeypatch.setattr(sys, "path", ["/own", "/other"])
    monkeypatch.setenv("PYTHONPATH", before)
    monkeypatch.setattr(os, "environ", pipes._environment())
    monkeypatch.setattr(sys, "path", ["/fresh"])
    pipes.restore_path()
    assert sys.path == ["/own", "/other"]
    left = {name: value for name, value in os.environ.items() if "PYTHONPATH" in name}
    assert left == ({"PYTHONPATH": before} if before else {})


@pytest.mark.parametrize("handler", ["separate", "freezes"])
def test_a_child_dies_with_its_worker(jobs, start, journal, handler):
    _ = jobs.separate.enqueue("gate") if handler == "separate" else jobs.freezes.enqueue()
    process = start(WORKER, '{"process_slots": 1}')
    pid = journal.pid(f"started {handler}" + " gate" * (handler == "separate"))
    process.kill()
    eventually(lambda: gone(pid), "the child to follow its worker")


def test_handlers_of_a_script_are_found(folder, start):
    (folder / "script.py").write_text(SCRIPT + GUARDED, encoding="utf-8")
    out, err = start("script.py").communicate(timeout=40)
    assert (out.split(), err) == (["15", "__mainstay_main__"], "")


def test_a_script_that_starts_workers_when_it_is_loaded_is_told_so(folder, start):
    (folder / "script.py").write_text(SCRIPT + UNGUARDED, encoding="utf-8")
    out, _ = start("script.py").communicate(timeout=40)
    assert 'if __name__ == "__main__":' in out
    assert out.split()[-1] == "1"  # nothing was enqueued again


def test_a_handler_that_no_module_holds_is_refused_with_advice(jobs):
    @jobs.app.job(process=True, retry=1)
    def hidden() -> None: ...

    with jobs.app.worker(process_slots=1):
        assert "top level of a module" in attempt(jobs.app, hidden.enqueue()).error


@pytest.fixture
def late(folder, monkeypatch):
    """A module that takes its time, or fails, when another process imports it. Its database is in memory."""
    (folder / "late.py").write_text(LATE, encoding="utf-8")
    monkeypatch.setenv("OWNER", str(os.getpid()))
    with installed(folder, "late") as module:
        yield module


def test_loading_the_module_is_not_on_the_job_s_time(late, monkeypatch):
    monkeypatch.setenv("LOADING", "0.6")
    with late.app.worker(process_slots=1):
        assert late.quick.enqueue().result(timeout=20) == "in time"


def test_a_module_that_does_not_load_fails_the_job_with_the_reason(late, monkeypatch):
    monkeypatch.setenv("LOADING", "0")
    with late.app.worker(process_slots=1):
        failed = attempt(late.app, late.quick.enqueue())
    assert failed.error == "RuntimeError: no licence in this process"
    assert "late.py" in failed.traceback


def test_a_database_in_memory_is_out_of_reach(late, monkeypatch):
    monkeypatch.setenv("LOADING", "0.01")
    with late.app.worker(process_slots=1), pytest.raises(JobFailed, match="hand new jobs over"):
        late.enqueues.enqueue().result(timeout=20)

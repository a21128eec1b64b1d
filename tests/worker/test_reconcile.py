"""A worker checks completed jobs once when it starts: beside claiming, and a stop does not wait for it long."""

import threading
import time

import pytest

from mainstay import Mainstay
from mainstay.cli.worker import WorkerLog
from tests.waiting import eventually


@pytest.fixture
def app(tmp_path):
    app = Mainstay(f"sqlite:///{tmp_path}/jobs.db")
    yield app
    app.close()


@pytest.fixture
def saved(app):
    """The files that jobs have saved, by name."""
    there = set()

    @app.job(verify=lambda job: None if job.args["name"] in there else "is gone")
    def save(name: str) -> None:
        there.add(name)

    return there, save


@pytest.fixture
def reports(app):
    found = []
    app.events.on("reconciled", lambda report: found.extend([report]))
    return found


def complete(app, type, *names):
    with app.worker(reconcile=0):
        for name in names:
            type.enqueue(name).result(timeout=10)


def test_a_worker_reports_what_does_not_hold_when_it_starts(app, saved, reports, capsys):
    there, save = saved
    complete(app, save, "a", "b")
    there.remove("a")
    assert reports == []  # 0 turns it off
    WorkerLog(app, "info", "text")
    with app.worker():
        (report,) = eventually(lambda: reports, "the report")
        assert save.enqueue("c").result(timeout=10) is None
    assert (report.wrong, report.checked) == (1, 2)
    job = report.found[0].id
    lines = capsys.readouterr().err
    assert f"! save {job}: is gone\n" in lines
    assert "checked 2 completed jobs: 1 wrong\n" in lines
    assert len(reports) == 1


def test_jobs_run_and_a_stop_is_quick_while_a_check_hangs(app, reports):
    hanging, let_go = threading.Event(), threading.Event()

    def hang(job):
        hanging.set()
        let_go.wait(30)

    @app.job(verify=hang)
    def save(name: str) -> str:
        return name

    complete(app, save, "a", "b")
    with app.worker():
        assert hanging.wait(10)
        assert save.enqueue("c").result(timeout=10) == "c"
        began = time.monotonic()
    assert time.monotonic() - began < 10
    let_go.set()
    (report,) = eventually(lambda: reports, "the report")
    assert (report.checked, report.complete) == (1, False)  # the other one was not begun


def test_a_drain_checks_nothing(app, saved, reports):
    there, save = saved
    complete(app, save, "a")
    there.clear()
    app.drain()
    assert reports == []


def test_only_types_that_the_worker_serves_are_checked(app, saved, reports):
    _, save = saved

    @app.job(verify=lambda job: "is wrong")
    def other() -> None: ...

    complete(app, save, "a")
    with app.worker(reconcile=0):
        other.enqueue().result(timeout=10)
    with app.worker(types=["save"]):
        (report,) = eventually(lambda: reports, "the report")
    assert (report.checked, report.found) == (1, ())

"""A write of the user's own that keeps everybody else out of a SQLite file for longer than a lease."""

import sqlite3
import threading
from contextlib import closing

from mainstay import Mainstay, Retry
from mainstay.core.errors import StoreBusy
from tests.waiting import eventually


def test_workers_that_could_not_renew_their_lease_keep_their_jobs(tmp_path):
    """Two workers, a lease of a second, and an import of the user's that takes two and a half."""
    path, started, go = tmp_path / "jobs.db", [], threading.Event()
    with closing(Mainstay(f"sqlite:///{path}")) as app, closing(Mainstay(f"sqlite:///{path}")) as other:
        for each in (app, other):
            each.job(name="long", retry=Retry(attempts=1))(lambda: started.append(1) or go.wait(60))
        with app.worker(lease="1s") as one, other.worker(lease="1s") as two:
            before = (one.id, two.id)
            jobs = [app.enqueue("long") for _ in range(4)]
            eventually(lambda: len(started) == 4, "four jobs run")
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                eventually(lambda: app.store.stalled() > 2_500 and other.store.stalled() > 2_500, "nobody writes")
                connection.execute("COMMIT")
            swept = [threading.Event(), threading.Event()]
            for each, event in zip((app, other), swept, strict=True):
                each.events.on("beat", lambda event=event, **_: event.set())
            assert all(event.wait(10) for event in swept)
            assert (one.id, two.id) == before
            go.set()
            for job in jobs:
                job.result(timeout=20)
    assert len(started) == 4


def test_a_worker_that_cannot_renew_for_long_keeps_its_jobs(tmp_path, monkeypatch):
    """One write of others after the other, and the heartbeat never comes in between."""
    started, go, errors = [], threading.Event(), []
    with closing(Mainstay(f"sqlite:///{tmp_path}/jobs.db")) as app:
        job = app.job(name="long", retry=Retry(attempts=1))(lambda: started.append(1) or go.wait(60))
        app.events.on("store_error", lambda error, **_: errors.append(error))
        with app.worker(lease="1s") as worker:
            before, renew = worker.id, app.store.renew
            handle = job.enqueue()
            eventually(lambda: started, "the job runs")
            monkeypatch.setattr(app.store, "renew", raising)
            eventually(lambda: len(errors) > 10, "two leases without a renewal")
            monkeypatch.setattr(app.store, "renew", renew)
            go.set()
            assert handle.result(timeout=20) is True
            assert worker.id == before
    assert started == [1]


def raising(*_):
    raise StoreBusy("others write")

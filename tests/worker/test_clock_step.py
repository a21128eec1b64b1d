"""The wall clock of a machine is put forward or back: no worker on a SQLite file loses its lease."""

import threading
from contextlib import ExitStack, closing

import pytest

from mainstay import Mainstay, Retry
from mainstay.core.clock import HOUR, SystemClock
from tests.waiting import eventually


class Stepped(SystemClock):
    """The machine's clock, which someone sets."""

    offset = 0

    def now(self):
        return super().now() + self.offset


@pytest.mark.parametrize("by", [HOUR, -HOUR])
def test_a_clock_that_is_set_ends_no_lease(tmp_path, by):
    clock, started, go, events = Stepped(), [], threading.Event(), []
    with ExitStack() as stack:
        apps = [stack.enter_context(closing(Mainstay(f"sqlite:///{tmp_path}/jobs.db", clock=clock))) for _ in range(2)]
        for app in apps:
            app.job(name="long", retry=Retry(attempts=1))(lambda: started.append(1) or go.wait(60))
            app.events.on("lease_lost", lambda **event: events.append(event))
        workers = [stack.enter_context(app.worker(lease="1s", concurrency=1)) for app in apps]
        jobs = [apps[0].enqueue("long") for _ in range(2)]
        eventually(lambda: len(started) == 2, "both jobs run")
        clock.offset = by
        for app, worker in zip(apps, workers, strict=True):
            calls(app, worker, "heartbeat", "beat")
            calls(app, worker, "sweep")
        go.set()
        for job in jobs:
            job.result(timeout=20)
    assert (len(started), events) == (2, [])


def calls(app, worker, service, event=None, count=4):
    """Wait until a part of a worker has done its step so often: a step whose time comes, not one more call."""
    seen = threading.Semaphore(0)
    if event:
        app.events.on(event, lambda **_: seen.release())
    else:
        real = app.store.orphans
        app.store.orphans = lambda *given: (real(*given), seen.release())[0]
    for _ in range(count):
        assert seen.acquire(timeout=20), f"{worker.id} does nothing more as {service}"

"""A killed worker's jobs run again within two seconds, by themselves, whatever waits; and its death is not their fault."""

import signal
from contextlib import closing

import pytest

from mainstay import Mainstay
from tests.crash.cluster import ROLES
from tests.crash.engines import Sqlite
from tests.crash.recovery import PROMISE, measure
from tests.crash.waiting import until
from tests.crash.zygote import Zygote

pytestmark = pytest.mark.slow


def test_the_jobs_of_a_killed_worker_start_again_within_two_seconds():
    assert max(measure(kills=6)) <= PROMISE


def test_they_do_not_queue_up_again_behind_everything_that_waits():
    assert max(measure(kills=2, backlog=4_000)) <= PROMISE


def test_a_job_that_kills_its_workers_takes_no_other_job_along(tmp_path):
    """Not even those that were claimed with it and waited for a slot when the worker died."""
    engine = Sqlite(tmp_path)
    app = Mainstay(engine.url)
    draft = app._draft  # by name: this process has no handlers
    jobs = [draft("quick", {"item": str(n)}, {}) for n in range(600)]
    jobs.insert(300, draft("killer", {"item": "k"}, {"retry": 30}))
    app.enqueue_many(jobs)
    engine.prepare()
    settings = {"folder": str(tmp_path), "engine": "sqlite", "slot": 0, "slots": 1}
    with closing(app), Zygote(tmp_path / "errors.log") as zygote:
        for _ in range(3):
            assert zygote.reap(zygote.fork(ROLES["worker"], **settings)) == -signal.SIGKILL
        zygote.fork(ROLES["worker"], **settings)
        assert until(lambda: app.list("state:queued,running", limit=1) == [], 30)
        ended = app.list(limit=1_000)
    assert {(job.type, job.state) for job in ended} == {("quick", "completed"), ("killer", "dead")}
    blamed = [job for job in ended if job.crashes and job.type == "quick"]
    assert len(blamed) <= 3 * 3  # three times, what ran in the other three slots at that very moment

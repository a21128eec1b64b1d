"""Operators end workers by a request in the store: a drain finishes what runs, a stop releases it; neither is started again."""

import pytest

from mainstay import NotFound, UsageError
from tests.waiting import eventually
from tests.worker.conftest import ended, everywhere


def only(app):
    """The only worker, once it is registered."""

    def one():
        found = app.workers()
        return found[0] if len(found) == 1 else None

    return eventually(one, "one worker to be registered")


def stopping(app):
    return [worker.state for worker in app.workers()] == ["stopping"]


@everywhere
@pytest.mark.parametrize("kind", ["plain", "asynchronous", "separate"])
def test_a_drained_worker_finishes_what_it_runs_claims_nothing_more_and_ends(jobs, start_worker, journal, folder, kind):
    process = start_worker(concurrency=1)
    running = getattr(jobs, kind).enqueue("gate")
    journal.wait(f"started {kind}")
    assert jobs.app.stop_worker(only(jobs.app).id[:8], drain=True, actor="ada") == only(jobs.app).id
    eventually(lambda: stopping(jobs.app), "it to show as stopping", 5)
    waiting = jobs.counts.enqueue(1)
    (folder / "gate").touch()
    assert ended(process) == (0, "")
    assert running.result(20) == kind
    assert journal.lines("told") == []  # it was not asked to stop at a safe point
    assert (waiting.state, waiting.job().token) == ("queued", 0)
    assert jobs.app.workers() == []
    (line,) = jobs.app.actions()
    assert (line.actor, line.action, list(line.detail)) == ("ada", "drain", ["worker"])


@everywhere
def test_a_stopped_worker_releases_what_it_runs_at_its_next_safe_point(jobs, start_worker, journal):
    process = start_worker(concurrency=1)
    running = jobs.reads.enqueue()
    journal.wait("from page")  # its handler runs
    jobs.app.stop_worker(only(jobs.app).id, actor="ada")
    assert ended(process) == (0, "")
    job = running.job()
    assert (job.state, job.attempt, job.token) == ("queued", 0, 1)


@everywhere
def test_a_stop_cuts_a_drain_short(jobs, start_worker, journal):
    process = start_worker(concurrency=1, grace="30s")
    running = jobs.reads.enqueue()
    journal.wait("from page")  # its handler runs
    worker = only(jobs.app).id
    jobs.app.stop_worker(worker, drain=True)
    eventually(lambda: stopping(jobs.app), "it to show as stopping", 5)
    assert running.state == "running"
    jobs.app.stop_worker(worker)
    assert ended(process) == (0, "")
    assert running.state == "queued"


@everywhere
def test_a_supervisor_does_not_replace_a_worker_that_an_operator_ended(jobs, start_supervisor, journal, folder):
    supervisor = start_supervisor(2, concurrency=1)
    eventually(lambda: len(jobs.app.workers()) == 2, "two workers")
    first, second = jobs.app.workers()
    jobs.app.stop_worker(first.id, drain=True)
    eventually(lambda: [each.id for each in jobs.app.workers()] == [second.id], "the first to be gone")
    assert jobs.plain.enqueue().result(20) == "plain"  # the other goes on
    assert [each.id for each in jobs.app.workers()] == [second.id]
    jobs.app.stop_worker(second.id)
    assert ended(supervisor) == (0, "")


def test_a_worker_in_another_program_ends_and_the_program_goes_on(jobs, journal):
    told = []
    jobs.app.events.on("worker_asked", lambda worker, what: told.append(what))
    worker = jobs.app.worker(concurrency=1).start()
    jobs.app.stop_worker(worker.id, drain=True)
    eventually(lambda: not worker.services, "the worker to end")
    assert (told, jobs.app.workers()) == (["drain"], [])


@everywhere
def test_an_unknown_worker_changes_nothing(jobs):
    with pytest.raises(NotFound, match="there is no worker nobody"):
        jobs.app.stop_worker("nobody")
    assert jobs.app.actions() == []


def test_a_beginning_must_be_of_one_worker(jobs):
    with jobs.app.worker(identity="west-a"), jobs.app.worker(identity="west-b"):
        with pytest.raises(UsageError, match=r"'west' stands for several workers: west-a-.*, west-b-"):
            jobs.app.stop_worker("west")
        with pytest.raises(NotFound, match='did you mean "west-'):
            jobs.app.stop_worker(jobs.app.workers()[0].id.replace("west", "wast"))
        assert jobs.app.actions() == []

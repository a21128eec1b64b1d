"""What running handlers report: logs, progress and checkpoints are kept while their token is current, and never doubled."""

from types import SimpleNamespace

import pytest

from mainstay.core.events import Events
from mainstay.core.outcome import COMPLETED, RELEASED
from mainstay.worker.reporter import WorkerReporter
from mainstay.worker.update_buffer import UpdateBuffer
from tests.contract.building import CANCELLED, FAILED, FINAL, REVIEW, checkpoint, log, progress, transition


def seen(desk, job_id):
    """Everything that updates of a job change."""
    return desk.store.get(job_id), desk.store.checkpoint(job_id), desk.store.logs(job_id, 0, 99)


def test_a_log_line_is_kept_whole(desk):
    job = desk.run()
    line = log(job, level="warning", stage="read", message="x → y", fields='{"page":{"n":1}}')
    assert desk.store.finish([], [line]) == []
    (found,) = desk.store.logs(job.id, 0, 9)
    assert (found.at, found.token, found.level, found.stage, found.message) == (7, 1, "warning", "read", "x → y")
    assert found.fields == {"page": {"n": 1}}


def test_progress_shows_on_the_job_and_only_the_newest_counts(desk):
    job = desk.run()
    desk.store.finish([], [progress(job, 1, 4), progress(job, 2, None, "read")])
    found = desk.job(job.id)
    assert (found.done, found.total, found.stage) == (2.0, None, "read")


def test_a_checkpoint_is_there_for_the_next_attempt(desk):
    job = desk.run()
    assert desk.store.checkpoint(job.id) is None
    desk.store.finish([], [checkpoint(job), checkpoint(job, '{"page":2}')])
    desk.end(job, FAILED)
    desk.clock.advance("1s")
    desk.take_this(job.id)
    assert desk.store.checkpoint(job.id) == '{"page":2}'


def test_an_attempt_that_lost_its_job_reads_no_later_checkpoint(desk):
    """The job may have been replaced by new work meanwhile: a handler that goes on must not continue that."""
    reporter = WorkerReporter(desk.store, SimpleNamespace(updates=UpdateBuffer()), desk.clock, None, Events())
    attempts = [desk.run()]
    for _ in range(2):
        desk.end(attempts[-1], RELEASED)
        attempts.append(desk.take_this(attempts[-1].id))
        desk.store.finish([], [checkpoint(attempts[-1], f'{{"page":{len(attempts)}}}')])
    assert [reporter.checkpoint(job) for job in attempts] == [None, None, '{"page":3}']


@pytest.mark.parametrize("update", [log, progress, checkpoint])
def test_an_update_sent_twice_is_kept_once(desk, update):
    job = desk.run()
    desk.store.finish([], [update(job)])
    once = seen(desk, job.id)
    desk.store.finish([], [update(job), update(job)])
    assert seen(desk, job.id) == once
    assert len(once[2]) == (update is log)


@pytest.mark.parametrize("update", [log, progress, checkpoint])
def test_the_updates_of_an_older_attempt_are_refused(desk, update):
    old = desk.run()
    desk.end(old, RELEASED)
    new = desk.take_this(old.id)
    untouched = seen(desk, old.id)
    desk.store.finish([], [update(new)])
    before = seen(desk, old.id)
    assert before != untouched
    desk.store.finish([], [update(old)])
    assert seen(desk, old.id) == before


@pytest.mark.parametrize("update", [log, progress, checkpoint])
def test_the_attempt_that_completed_its_job_may_still_report(desk, update):
    """A handler that completes its job in its own transaction does so before its last words are written."""
    job = desk.run()
    desk.end(job, COMPLETED)
    before = seen(desk, job.id)
    desk.store.finish([], [update(job)])
    assert seen(desk, job.id) != before
    assert desk.state(job.id) == "completed"
    desk.store.delete([job.id], desk.now, "me")
    desk.store.finish([], [update(job)])
    assert seen(desk, job.id) == (None, None, [])


@pytest.mark.parametrize("update", [log, progress, checkpoint])
@pytest.mark.parametrize("outcome", [FAILED, RELEASED, REVIEW, CANCELLED, FINAL], ids=lambda outcome: outcome.kind)
def test_a_job_that_neither_runs_nor_completed_takes_no_updates(desk, update, outcome):
    job = desk.run()
    desk.end(job, outcome)
    before = seen(desk, job.id)
    desk.store.finish([], [update(job)])
    assert seen(desk, job.id) == before
    desk.store.delete([job.id], desk.now, "me")
    desk.store.finish([], [update(job)])
    assert seen(desk, job.id) == (None, None, [])


def test_updates_are_accepted_or_refused_one_by_one(desk):
    old, new = desk.run(), desk.run()
    desk.end(old, FAILED)
    before = seen(desk, old.id)
    assert desk.store.finish([], [log(new), log(old), progress(new), checkpoint(old)]) == []
    assert seen(desk, old.id) == before
    assert (desk.job(new.id).done, len(desk.store.logs(new.id, 0, 9))) == (1.0, 1)
    assert desk.store.finish([], []) == []


def test_the_last_words_are_written_before_the_end(desk):
    job = desk.run()
    assert desk.store.finish([transition(job, COMPLETED, desk.now)], [log(job), checkpoint(job)]) == ["stored"]
    assert len(desk.store.logs(job.id, 0, 9)) == 1
    assert desk.store.checkpoint(job.id) == '{"page":1}'


@pytest.mark.parametrize("outcome", [COMPLETED, FAILED, RELEASED, REVIEW, FINAL], ids=lambda outcome: outcome.kind)
def test_outcomes_and_updates_of_many_attempts_are_written_together(desk, outcome):
    """Of the attempts that end, of one that goes on, and of an older one, which is refused; the second time everything is old."""
    old = desk.run()
    desk.end(old, RELEASED)
    new, ends, goes_on = desk.take_this(old.id), desk.run(), desk.run()
    transitions = [transition(new, outcome, desk.now), transition(ends, COMPLETED, desk.now)]
    said = [log(new), progress(ends), log(goes_on), log(ends), checkpoint(goes_on), log(old, message="too late")]
    for verdict in ("stored", "already"):
        assert desk.store.finish(transitions, said) == [verdict] * 2
        assert [[line.message for line in desk.store.logs(each.id, 0, 9)] for each in (new, ends, goes_on)] == [
            ["hello"]
        ] * 3
        assert (desk.job(ends.id).done, desk.store.checkpoint(goes_on.id)) == (1.0, '{"page":1}')


def test_updates_come_before_an_outcome_that_is_refused(desk):
    stays, ends = desk.run(), desk.run()
    desk.store.cancel([stays.id], desk.now, "me")
    transitions = [transition(each, COMPLETED, desk.now) for each in (stays, ends)]
    assert desk.store.finish(transitions, [log(stays), log(ends)]) == ["cancelling", "stored"]
    assert [len(desk.store.logs(each.id, 0, 9)) for each in (stays, ends)] == [1, 1]


def test_the_last_words_come_with_the_next_claim(desk):
    job, waiting = desk.run(), desk.add()
    answer = desk.claim(1, finishing=[transition(job, COMPLETED, desk.now)], updates=[log(job), progress(job)])
    assert (answer.verdicts, [each.id for each in answer.jobs]) == (["stored"], [waiting])
    assert [line.message for line in desk.store.logs(job.id, 0, 9)] == ["hello"]


def test_logs_come_in_order_and_by_pages(desk):
    job = desk.run()
    desk.store.finish([], [log(job, n, f"line {n}") for n in (3, 1, 2)])
    desk.end(job, RELEASED)
    again = desk.take_this(job.id)
    desk.store.finish([], [log(again, n, f"line {n + 3}") for n in (1, 2)])
    assert [line.message for line in desk.store.logs(job.id, 0, 99)] == [f"line {n}" for n in range(1, 6)]
    assert [line.message for line in desk.store.logs(job.id, 2, 2)] == ["line 3", "line 4"]
    assert desk.store.logs(job.id, 5, 9) == []
    assert desk.store.logs("01NONE", 0, 9) == []

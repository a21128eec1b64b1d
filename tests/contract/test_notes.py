"""What running handlers say: logs, progress and checkpoints are kept while their token is current, and never doubled."""

import pytest

from mainstay.core.outcome import COMPLETED, RELEASED
from tests.contract.building import FAILED, checkpoint, log, progress, transition


def test_a_log_line_is_kept_whole(desk):
    job = desk.run()
    line = log(job, level="warning", stage="read", message="x → y", fields='{"page":{"n":1}}')
    assert desk.store.note([line]) == [True]
    (found,) = desk.store.logs(job.id, 0, 9)
    assert (found.at, found.token, found.level, found.stage, found.message) == (7, 1, "warning", "read", "x → y")
    assert found.fields == {"page": {"n": 1}}


def test_progress_shows_on_the_job_and_only_the_newest_counts(desk):
    job = desk.run()
    assert desk.store.note([progress(job, 1, 4), progress(job, 2, None, "read")]) == [True, True]
    found = desk.job(job.id)
    assert (found.done, found.total, found.stage) == (2.0, None, "read")


def test_a_checkpoint_is_there_for_the_next_attempt(desk):
    job = desk.run()
    assert desk.store.checkpoint(job.id) is None
    assert desk.store.note([checkpoint(job), checkpoint(job, '{"page":2}')]) == [True, True]
    desk.end(job, FAILED)
    desk.clock.advance("1s")
    desk.take_this(job.id)
    assert desk.store.checkpoint(job.id) == '{"page":2}'


@pytest.mark.parametrize("note", [log, progress, checkpoint])
def test_a_note_sent_twice_is_kept_once_and_still_current(desk, note):
    job = desk.run()
    assert desk.store.note([note(job)]) == [True]
    assert desk.store.note([note(job), note(job)]) == [True, True]
    assert len(desk.store.logs(job.id, 0, 9)) == (note is log)


@pytest.mark.parametrize("note", [log, progress, checkpoint])
def test_the_notes_of_an_older_attempt_are_refused(desk, note):
    old = desk.run()
    desk.end(old, RELEASED)
    new = desk.take_this(old.id)
    assert desk.store.note([note(new)]) == [True]
    before = desk.job(old.id), desk.store.checkpoint(old.id), desk.store.logs(old.id, 0, 9)
    assert desk.store.note([note(old)]) == [False]
    assert (desk.job(old.id), desk.store.checkpoint(old.id), desk.store.logs(old.id, 0, 9)) == before


@pytest.mark.parametrize("note", [log, progress, checkpoint])
@pytest.mark.parametrize("outcome", [COMPLETED, FAILED, RELEASED], ids=lambda outcome: outcome.kind)
def test_a_job_that_does_not_run_takes_no_notes(desk, note, outcome):
    job = desk.run()
    desk.end(job, outcome)
    assert desk.store.note([note(job)]) == [False]
    desk.store.delete([job.id], desk.now, "me")
    assert desk.store.note([note(job)]) == [False]


def test_each_note_has_its_own_answer(desk):
    old, new = desk.run(), desk.run()
    desk.end(old, COMPLETED)
    assert desk.store.note([log(new), log(old), progress(new), checkpoint(old)]) == [True, False, True, False]
    assert desk.store.note([]) == []


def test_the_last_words_are_written_before_the_end(desk):
    job = desk.run()
    assert desk.store.finish([transition(job, COMPLETED, desk.now)], [log(job), checkpoint(job)]) == ["stored"]
    assert len(desk.store.logs(job.id, 0, 9)) == 1
    assert desk.store.checkpoint(job.id) == '{"page":1}'


def test_the_last_words_come_with_the_next_claim(desk):
    job, waiting = desk.run(), desk.add()
    answer = desk.claim(1, finishing=[transition(job, COMPLETED, desk.now)], updates=[log(job), progress(job)])
    assert (answer.verdicts, [each.id for each in answer.jobs]) == (["stored"], [waiting])
    assert [line.message for line in desk.store.logs(job.id, 0, 9)] == ["hello"]


def test_logs_come_in_order_and_by_pages(desk):
    job = desk.run()
    desk.store.note([log(job, n, f"line {n}") for n in (3, 1, 2)])
    desk.end(job, RELEASED)
    again = desk.take_this(job.id)
    desk.store.note([log(again, n, f"line {n + 3}") for n in (1, 2)])
    assert [line.message for line in desk.store.logs(job.id, 0, 99)] == [f"line {n}" for n in range(1, 6)]
    assert [line.message for line in desk.store.logs(job.id, 2, 2)] == ["line 3", "line 4"]
    assert desk.store.logs(job.id, 5, 9) == []
    assert desk.store.logs("01NONE", 0, 9) == []

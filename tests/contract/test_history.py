"""Jobs with all that belongs to them: read whole, written as lines, and imported into a store where they are not."""

import json

import pytest

from mainstay.core import jsonl
from mainstay.core.clock import DAY, HOUR
from mainstay.stores import open_store
from tests.contract.building import COMPLETED, FAILED, FINAL, Desk, checkpoint, log, progress


@pytest.fixture
def elsewhere(tmp_path, clock):
    """Another store, on another engine."""
    with open_store(f"sqlite:///{tmp_path / 'elsewhere.db'}", clock) as store:
        yield store


@pytest.fixture
def rich(desk):
    """A dead job with attempts, codes, a log, a checkpoint, progress, tags, a key, actions by itself and with others."""
    job = desk.run(
        payload='{"n":7,"text":"é \\u0007"}', tags=("eu", "a b"), tenant="acme", ref="doc/7", key="k", lock="work:k",
        keep_dead=DAY, keep_last=5, trace=f"00-{7:032x}-{9:016x}-01",
    )  # fmt: skip
    desk.store.finish([], [log(job, n, f"line {n} ☃") for n in range(3)])
    desk.store.finish([], [progress(job, 1.5, None, "read"), checkpoint(job)])
    desk.end(job, FAILED._replace(code="503"))
    desk.clock.advance("1s")
    desk.end(desk.take_this(job.id), FINAL)
    desk.store.retry([job.id], desk.now, "ada")
    desk.end(desk.take_this(job.id), FINAL)
    other = desk.bring("dead")
    desk.store.retry([job.id, other], desk.now, "bob")
    desk.store.cancel([other], desk.now, "bob")
    desk.end(desk.take_this(job.id), FINAL)
    return job.id


def whole(store, id):
    """What people see of a job."""
    job = store.get(id)._replace(expires_at=None)
    return (
        job, store.result(id), store.checkpoint(id), store.attempts(id), store.logs(id, 0, 99), store.actions(id, 99),
    )  # fmt: skip


def test_a_job_is_read_with_all_that_belongs_to_it(desk, rich):
    (found,) = desk.store.export_jobs([rich])
    assert (found.job.id, found.job.state, found.job.tags) == (rich, "dead", '["eu", "a b"]')
    assert (found.attempts[0].job, found.attempts[0].outcome, found.attempts[0].code) == (rich, "failed", "503")
    assert [row.message for row in found.logs] == [f"line {n} ☃" for n in range(3)]
    assert [(row.actor, row.action, row.job) for row in found.actions] == [
        ("ada", "retry", rich),
        ("bob", "retry", None),
    ]


def test_jobs_come_in_the_order_asked_and_those_that_are_missing_are_left_out(desk):
    jobs = [desk.add() for _ in range(3)]
    found = desk.store.export_jobs([jobs[2], "0" * 26, jobs[0]])
    assert [history.job.id for history in found] == [jobs[2], jobs[0]]
    assert desk.store.export_jobs([]) == []


def test_a_job_imported_elsewhere_is_the_same(desk, rich, elsewhere):
    (found,) = desk.store.export_jobs([rich])
    copy = jsonl.as_history(jsonl.parse(jsonl.line(found)), desk.now)
    assert elsewhere.import_jobs([copy]) == [rich]
    assert whole(elsewhere, rich) == whole(desk.store, rich)
    assert elsewhere.get(rich).expires_at == desk.now + DAY
    (again,) = elsewhere.export_jobs([rich])
    assert (again.attempts, again.logs) == (found.attempts, found.logs)


def test_a_job_comes_back_after_it_was_deleted_and_its_actions_are_not_doubled(desk, rich):
    (found,) = desk.store.export_jobs([rich])
    before = whole(desk.store, rich)
    desk.store.delete([rich], desk.now, "ada")
    assert desk.store.import_jobs([jsonl.as_history(found, desk.now)]) == [rich]
    after = whole(desk.store, rich)
    assert after[:-1] == before[:-1]
    assert [each for each in after[-1] if each.action != "delete"] == before[-1]
    desk.store.retry([rich], desk.now, "ada")
    desk.end(desk.take_this(rich), COMPLETED)
    assert desk.state(rich) == "completed"


def test_a_job_that_exists_is_left_alone(desk, rich):
    (found,) = desk.store.export_jobs([rich])
    desk.store.retry([rich], desk.now, "ada")
    before = whole(desk.store, rich)
    assert desk.store.import_jobs([jsonl.as_history(found, desk.now)]) == []
    assert whole(desk.store, rich) == before


def test_imported_jobs_are_found_and_pruned(desk, elsewhere):
    jobs = [desk.bring(state, tags=("x",), keep=HOUR) for state in ("completed", "cancelled")]
    copies = [jsonl.as_history(history, desk.now) for history in desk.store.export_jobs(jobs)]
    desk.store.delete(jobs, desk.now, "me")
    assert desk.store.import_jobs(copies) == jobs
    assert desk.store.prune(desk.now, 9) == 0
    desk.clock.advance("1h")
    assert desk.store.prune(desk.now, 9) == 2


def test_a_retry_of_an_imported_job_takes_its_key_again(desk):
    job = desk.bring("dead", key="k", lock="work:k")
    copies = [jsonl.as_history(history, desk.now) for history in desk.store.export_jobs([job])]
    desk.store.delete([job], desk.now, "me")
    other = desk.add(key="k", lock="work:k")
    assert desk.store.import_jobs(copies) == [job]
    assert other in desk.store.retry([job], desk.now, "me")[job]
    desk.store.cancel([other], desk.now, "me")
    assert desk.store.retry([job], desk.now, "me") == {job: "queued"}


def test_many_jobs_are_imported_at_once(store, clock, elsewhere):
    desk = Desk(elsewhere, clock)
    jobs = [desk.bring("completed", payload=json.dumps({"n": n})) for n in range(300)]
    copies = [jsonl.as_history(history, clock.now()) for history in elsewhere.export_jobs(jobs)]
    assert store.import_jobs(copies) == jobs
    assert [job.payload for job in store.get_many(jobs)] == [json.dumps({"n": n}) for n in range(300)]

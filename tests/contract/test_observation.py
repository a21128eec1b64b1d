"""What can be seen: one job, many, by the start of an id; attempts, counts, what ended last, types, and facts of the store."""

import threading

import pytest

from mainstay.core.clock import SECOND
from mainstay.core.errors import UsageError
from mainstay.core.job import TypeInfo
from mainstay.core.outcome import COMPLETED, RELEASED
from mainstay.stores.redis import reads
from tests.contract.building import FAILED, FINAL, REVIEW, WORKER, Desk, draft
from tests.contract.ruled import limited, send


def test_a_job_that_is_not_there_is_none(store):
    assert store.get("01NONE") is None
    assert store.get("") is None


def test_many_come_in_the_order_asked_and_the_missing_are_left_out(desk):
    first, second = desk.add(), desk.add()
    assert [job.id for job in desk.store.get_many([second, "01NONE", first, second])] == [second, first, second]
    assert desk.store.get_many([]) == []


def test_ids_are_found_by_how_they_start_newest_first(desk):
    ids = [desk.send(draft(id=each)) for each in ("01ABC", "01ABD", "01B", "ZZZZ")]
    assert desk.store.find("01AB", 9) == ["01ABD", "01ABC"]
    assert desk.store.find("01ABC", 9) == ["01ABC"]
    assert desk.store.find("", 9) == ids[::-1]
    assert desk.store.find("Z", 9) == ["ZZZZ"]
    assert desk.store.find("01AB", 1) == ["01ABD"]
    assert desk.store.find("02", 9) == desk.store.find("01ABCX", 9) == []


# attempts ---------------------------------------------------------------------------------------------------------
def test_a_job_that_never_ran_has_no_attempts(desk):
    assert desk.store.attempts(desk.add()) == []
    assert desk.store.attempts("01NONE") == []


def test_the_running_attempt_is_among_them(desk):
    job = desk.run()
    desk.end(job, FAILED)
    desk.clock.advance("1s")
    desk.take_this(job.id)
    first, second = desk.store.attempts(job.id)
    assert (first.outcome, first.ended_at) == ("failed", desk.now - SECOND)
    assert (second.number, second.token, second.worker, second.started_at) == (2, 2, WORKER, desk.now)
    assert (second.outcome, second.ended_at, second.error) == ("running", None, None)


def test_the_one_that_completed_is_among_them(desk):
    job = desk.run()
    desk.clock.advance("3s")
    desk.end(job, COMPLETED)
    (attempt,) = desk.store.attempts(job.id)
    assert (attempt.number, attempt.token, attempt.outcome) == (1, 1, "completed")
    assert (attempt.started_at, attempt.ended_at) == (desk.now - 3 * SECOND, desk.now)


def test_the_last_error_shows_on_the_job(desk):
    job = desk.run()
    assert desk.job(job.id).error is None
    desk.end(job, FAILED)
    desk.clock.advance("1s")
    desk.end(desk.take_this(job.id), FINAL)
    assert desk.job(job.id).error == "ValueError: never"


# counts -----------------------------------------------------------------------------------------------------------
def test_counts_by_type_and_label_with_the_age_of_the_oldest(desk):
    start = desk.now
    desk.bring("running")
    desk.bring("review")
    desk.bring("dead")
    desk.bring("completed")
    job = desk.run()
    desk.end(job, FAILED)
    desk.add(run_at=start + 60 * SECOND)
    desk.add("mail")
    desk.clock.advance("1ms")
    desk.add("mail")
    found = {(count.type, count.label): (count.jobs, count.oldest, count.capped) for count in desk.store.counts(100)}
    assert found == {
        ("work", "running"): (1, start, False), ("work", "review"): (1, start, False),
        ("work", "dead"): (1, start, False), ("work", "retrying"): (1, start + SECOND, False),
        ("work", "scheduled"): (1, start + 60 * SECOND, False), ("mail", "queued"): (2, start, False),
    }  # fmt: skip


def test_counts_of_a_type_in_two_queues(desk):
    desk.add(run_at=desk.now + SECOND)
    for queue in ("default", "images", "images"):
        desk.add(queue=queue)
    found = {(count.queue, count.type, count.label): count.jobs for count in desk.store.counts(100)}
    places = {("default", "queued"): 1, ("default", "scheduled"): 1, ("images", "queued"): 2}
    assert found == {(queue, "work", label): jobs for (queue, label), jobs in places.items()}


def test_blocked_jobs_are_counted(desk):
    send(desk, *(limited(str(n % 2)) for n in range(1_004)), limited(type="other", queue="slow"))
    found = {(count.queue, count.type, count.label): (count.jobs, count.capped) for count in desk.store.counts(5_000)}
    assert found[("default", "work", "blocked")] == (1_002, False)
    assert ("slow", "other", "blocked") not in found
    capped = {count.label: (count.jobs, count.capped) for count in desk.store.counts(1_000)}
    assert capped["blocked"] == (1_000, True)


@pytest.mark.engines("redis")
def test_no_more_blocked_jobs_are_counted_than_the_server_reads_in_a_moment(desk, monkeypatch):
    send(desk, *(limited("a") for _ in range(8)))
    monkeypatch.setattr(reads, "MOST_BLOCKED", 5)
    found = {count.label: (count.jobs, count.capped) for count in desk.store.counts(100)}
    assert found == {"queued": (1, False), "blocked": (5, True)}


def test_counts_look_at_no_more_than_the_cap_and_say_so(desk):
    desk.store.enqueue([draft() for _ in range(30)], desk.now)
    (count,) = desk.store.counts(10)
    assert (count.jobs, count.capped) == (10, True)
    (count,) = desk.store.counts(31)
    assert (count.jobs, count.capped) == (30, False)


@pytest.mark.parametrize("cap", [1, 4, 5, 6, 7, 100])
def test_counts_of_several_queues_and_types_around_the_cap(desk, cap):
    for queue, type in [("a", "x"), ("a", "x"), ("a", "y"), ("b", "x"), ("default", "work"), ("default", "work")]:
        desk.add(type=type, queue=queue)
    found = desk.store.counts(cap)
    assert sum(count.jobs for count in found) == min(cap, 6)
    assert {count.capped for count in found} == {cap <= 6}
    if cap >= 6:
        assert {(count.queue, count.type): count.jobs for count in found} == {
            ("a", "x"): 2, ("a", "y"): 1, ("b", "x"): 1, ("default", "work"): 2,
        }  # fmt: skip


def test_an_empty_store_has_nothing_to_count(store):
    assert store.counts(10) == []
    assert store.ended(0, 10) == ([], None)
    assert store.totals() == store.tallies(0, 10**15, 1) == []


def test_a_job_that_moves_is_counted_once(desk):
    """However it comes and goes between claim and hand-back: the counts are of one instant."""
    desk.add()
    through, verdicts = threading.Event(), []

    def move():
        try:
            for _ in range(200):
                (job,) = desk.take()
                verdicts.append(desk.end(job, RELEASED))
        finally:
            through.set()

    thread = threading.Thread(target=move)
    thread.start()
    seen = set()
    while not through.is_set():
        seen.add(sum(count.jobs for count in desk.store.counts(10)))
    thread.join()
    assert (seen, verdicts) == ({1}, ["stored"] * 200)


def test_jobs_come_in_the_order_in_which_they_ended_page_by_page(desk):
    desk.bring("completed")
    desk.clock.advance("1s")
    since, jobs = desk.now, []
    for state in ("completed", "cancelled", "dead", "completed", "completed"):
        jobs.append(desk.bring(state))
        desk.clock.advance("1s" if state == "cancelled" else "0s")
    desk.bring("review")
    found, after = desk.store.ended(since, 2)
    while after is not None:
        more, after = desk.store.ended(since, 2, after)
        found += more
    assert set(found[:3]) == set(jobs[2:])  # at the same instant
    assert sorted(found) == sorted(jobs)
    assert desk.store.ended(desk.now + 1, 9) == ([], None)


def test_a_place_that_no_page_has_named_is_refused(store):
    for after in ("7", "x:1", ":", "1:", "1:a b", "-1:1"):
        with pytest.raises(UsageError, match="no place to continue from"):
            store.ended(0, 9, after)


# types and facts --------------------------------------------------------------------------------------------------
def test_types_are_known_as_last_declared(desk):
    policy = {"queue": "q", "priority": 1, "max_attempts": 2, "backoff": None, "timeout": 3, "keep": None}
    mail, work = TypeInfo("mail", "q", "mail(to: str)", policy, 1), TypeInfo("work", "default", "work()", {}, 1)
    assert desk.store.types() == []
    desk.store.register_types([work, mail])
    known = {"created_at": 1, "updated_at": 1}
    assert desk.store.types() == [mail._replace(**known), work._replace(**known)]
    desk.store.register_types([newer := mail._replace(signature="mail(to: str, cc: str)", seen_at=2)])
    assert desk.store.types() == [newer._replace(created_at=1, updated_at=2), work._replace(**known)]
    desk.store.register_types([])


def test_the_store_tells_its_engine_and_how_durable_it_is(store):
    facts = store.diagnostics()
    assert {"engine", "schema", "readable from", "durability"} <= facts.keys()
    assert all(isinstance(value, str) for value in facts.values())


def test_a_proposed_result_shows_while_the_job_is_in_review(desk):
    assert desk.store.result(desk.bring("review")) == REVIEW.result


@pytest.mark.parametrize("verb", ["types", "workers"])
def test_a_fresh_store_can_be_looked_at(store, verb):
    assert getattr(store, verb)() == []


# changes ----------------------------------------------------------------------------------------------------------
@pytest.mark.engines("sqlite", "postgres", "redis")
def test_the_mark_of_changes_differs_after_a_commit_of_another(desk, another):
    desk.add()
    marks = [desk.store.change_mark()]
    job = Desk(another, desk.clock).add()
    marks.append(desk.store.change_mark())
    another.cancel([job], desk.clock.now(), "ada")
    marks.append(desk.store.change_mark())
    assert len(set(marks)) == len(marks)


def test_the_mark_of_changes_differs_after_a_commit_of_the_same_store(desk):
    desk.add()
    before = desk.store.change_mark()
    desk.add()
    assert desk.store.change_mark() != before


@pytest.mark.engines("sqlite", "memory")
def test_the_mark_of_changes_stays_while_nothing_is_written(desk):
    desk.add()
    before = desk.store.change_mark()
    desk.store.counts(10)
    assert desk.store.change_mark() == before

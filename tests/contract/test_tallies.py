"""Counters: every outcome that was stored is counted once, in its transaction; minutes become hours without a loss."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mainstay.core.clock import DAY, HOUR, MINUTE, SECOND
from mainstay.core.ids import Ids
from mainstay.core.outcome import COMPLETED, CRASHED, RELEASED, Outcome
from mainstay.core.tally import BOUNDS, average, histogram, quantile
from mainstay.stores import open_store
from mainstay.stores.move import move
from tests.contract.building import CANCELLED, FAILED, FINAL, REVIEW, WORKER, draft, keyed, transition
from tests.contract.moving import silent
from tests.contract.ruled import after

SNOOZED = Outcome("snoozed", reason="later", delay=5 * SECOND)
RETURNED = Outcome("completed", result='{"n":1}')
KEPT = 3 * HOUR, 30 * DAY


def counts(store, type="work"):
    """All that was counted of a type but for new jobs, by name."""
    return {each.name: each.n for each in store.totals() if each.type == type and each.name != "enqueued"}


def timeless(store, type="work"):
    """The same without times."""
    return {
        name: n
        for name, n in counts(store, type).items()
        if not name[1:].isdecimal() and name[1:] != "sum" and name != "untimed"
    }


# what is counted ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("outcome", "names"),
    [
        (COMPLETED, {"completed": 1}),
        (RETURNED, {"completed": 1}),
        (FAILED, {"failed": 1, "retried": 1}),
        (FINAL, {"failed": 1, "dead": 1}),
        (CRASHED, {"failed": 1, "retried": 1}),
        (RELEASED, {"released": 1}),
        (SNOOZED, {"snoozed": 1}),
        (REVIEW, {"review": 1}),
        (CANCELLED, {"cancelled": 1}),
    ],
    ids=lambda value: value.kind if isinstance(value, Outcome) else "",
)
def test_an_outcome_is_counted_by_its_names(desk, outcome, names):
    desk.end(desk.run(), outcome)
    assert timeless(desk.store) == names


@pytest.mark.parametrize("refused", [False, True], ids=["all", "one refused"])
@pytest.mark.parametrize("outcome", [COMPLETED, RETURNED, FINAL], ids=["plain", "result", "dead"])
def test_how_long_jobs_waited_and_ran_falls_into_the_same_buckets_on_every_engine(desk, outcome, refused):
    times = [0, 1, 99, 100, 101, 5_000, 86_400_000, 10**9]
    desk.store.enqueue([draft() for _ in times], desk.now)
    desk.clock.advance("150ms")
    jobs = desk.take(len(times))
    sent = [transition(job, outcome, desk.now + ran) for job, ran in zip(jobs, times, strict=True)]
    if refused:  # then an engine counts in another way
        sent.append(sent[0]._replace(seq=desk.run().seq, token=9))
    assert desk.store.finish(sent) == ["stored"] * len(times) + ["lost"] * refused
    found = counts(desk.store)
    assert histogram(found, "r") == [(1, 2), (100, 2), (125, 1), (5_000, 1), (86_400_000, 2)]
    assert (histogram(found, "w"), found["rsum"]) == ([(160, len(times))], sum(times))
    assert average(found, "w") == 150


def test_a_clock_that_was_set_keeps_no_outcome_from_being_stored(desk):
    """A sum beyond 10^14, and times below zero."""
    desk.store.enqueue([draft() for _ in range(120)], desk.now)
    jobs = desk.take(120)
    far = [transition(job, COMPLETED, desk.now + 10**12) for job in jobs[:118]]
    back = [
        transition(job, outcome, desk.now - HOUR) for job, outcome in zip(jobs[118:], (COMPLETED, FINAL), strict=True)
    ]
    assert desk.store.finish(far + back) == ["stored"] * 120
    assert counts(desk.store)["rsum"] == 118 * 10**12
    assert dict(histogram(counts(desk.store), "r")) == {1: 2, 86_400_000: 118}


@pytest.mark.parametrize("refused", [False, True], ids=["all", "one refused"])
def test_attempts_are_counted_when_a_job_ends(desk, refused):
    for tries, ended in ((1, COMPLETED), (3, COMPLETED), (2, RETURNED)):
        job = desk.run(max_attempts=9)
        for _ in range(tries - 1):
            desk.end(job, FAILED)
            desk.clock.advance("1s")
            job = desk.take_this(job.id)
        sent = [transition(job, ended, desk.now)]
        desk.store.finish([*sent, *(each._replace(seq=desk.run().seq, token=9) for each in sent if refused)])
    found = counts(desk.store)
    assert {name: n for name, n in found.items() if name[0] == "a"} == {"a2": 1, "a3": 1, "asum": 3}


def test_a_job_that_came_back_to_the_queue_does_not_wait_from_its_first_place_on(desk):
    for outcome in (RELEASED, CRASHED):
        job = desk.run()
        desk.clock.advance("5s")
        desk.end(job, outcome)
        desk.join()
        before = counts(desk.store)
        desk.end(desk.take_this(job.id))
        assert histogram(counts(desk.store), "w") == histogram(before, "w")


def test_a_batch_of_many_types_and_outcomes_adds_up(desk):
    desk.store.enqueue([draft(type) for type in ("work", "other") for _ in range(30)], desk.now)
    jobs = desk.take(60, wants={"default": ["work", "other"]})
    outcomes = [(COMPLETED, FINAL, RETURNED)[n % 3] for n in range(60)]
    desk.store.finish([transition(job, outcome, desk.now) for job, outcome in zip(jobs, outcomes, strict=True)])
    both = [timeless(desk.store, type) for type in ("work", "other")]
    assert {name: sum(each[name] for each in both) for name in both[0]} == {"completed": 40, "failed": 20, "dead": 20}


# what is not ----------------------------------------------------------------------------------------------------------
def test_an_outcome_that_the_fence_refuses_is_not_counted(desk):
    first, second, third = (desk.run() for _ in range(3))
    stale = [transition(job, COMPLETED, desk.now) for job in (first, third)]
    desk.end(first, RELEASED)
    desk.end(third, FINAL)
    verdicts = desk.store.finish([*stale, transition(second, RETURNED, desk.now)])
    assert verdicts[2] == "stored" != verdicts[0]
    assert timeless(desk.store) == {"released": 1, "failed": 1, "dead": 1, "completed": 1}


@pytest.mark.parametrize("outcome", [COMPLETED, RETURNED, FAILED], ids=["plain", "result", "failed"])
def test_an_outcome_sent_again_after_a_lost_reply_is_counted_once(desk, outcome):
    sent = [transition(desk.run(), outcome, desk.now) for _ in range(3)]
    assert desk.store.finish(sent[:2]) == ["stored"] * 2
    before = timeless(desk.store)
    assert desk.store.finish(sent) == ["already", "already", "stored"]
    assert {name: n * 2 for name, n in timeless(desk.store).items()} == {name: n * 3 for name, n in before.items()}


def test_a_job_named_twice_is_counted_once(desk):
    job = desk.run()
    desk.store.finish([transition(job, COMPLETED, desk.now), transition(job, FINAL, desk.now)])
    assert timeless(desk.store) == {"completed": 1}


def test_outcomes_that_come_with_a_claim_are_counted(desk):
    job = desk.run()
    desk.claim(finishing=[transition(job, COMPLETED, desk.now)])
    assert timeless(desk.store) == {"completed": 1}


# ends without an attempt ----------------------------------------------------------------------------------------------
def test_jobs_that_end_without_running_are_counted(desk):
    desk.store.cancel([desk.add(), desk.add()], desk.now, "me")
    desk.add(start_by=desk.now + SECOND)
    desk.clock.advance("2s")
    assert desk.store.expire(desk.now, 10) == 1
    assert timeless(desk.store) == {"cancelled": 3}


def test_what_a_person_decides_is_counted(desk):
    for approve in (True, False):
        job = desk.run()
        desk.end(job, REVIEW)
        desk.store.resolve_review(job.id, approve, desk.now, "me", "")
    assert timeless(desk.store) == {"review": 2, "completed": 1, "dead": 1}


def test_a_child_that_ends_with_its_parent_is_counted(desk):
    parent = desk.run()
    desk.send(after(parent.id))
    desk.end(parent, FINAL)
    desk.claim(0)
    assert timeless(desk.store) == {"failed": 1, "dead": 1, "cancelled": 1}


def test_a_running_job_that_is_cancelled_is_counted_when_it_stops(desk):
    job = desk.run()
    desk.store.cancel([job.id], desk.now, "me")
    assert timeless(desk.store) == {}
    desk.end(job._replace(cancelling=True))
    assert timeless(desk.store) == {"cancelled": 1}


# new jobs -------------------------------------------------------------------------------------------------------------
def enqueued(store):
    return {each.type: each.n for each in store.totals() if each.name == "enqueued"}


def test_new_jobs_are_counted_once_their_minute_is_over_or_at_once(desk):
    ids = Ids()
    desk.store.roll_up(desk.now, *KEPT)
    desk.clock.advance("2m")
    new = [draft(), draft(), draft("other"), keyed("k")]
    ids.give(new, desk.now)
    desk.store.enqueue(new, desk.now)
    desk.store.enqueue([keyed("k", id=ids.new(desk.now))], desk.now)
    desk.clock.advance("3m")
    for _ in range(3):
        assert desk.store.roll_up(desk.now, *KEPT) is False
        assert enqueued(desk.store) == {"work": 3, "other": 1}
    desk.add(id=ids.new(desk.now))
    desk.clock.advance("50d")
    desk.store.roll_up(desk.now, *KEPT)
    assert enqueued(desk.store) == {"work": 4, "other": 1}


# reading --------------------------------------------------------------------------------------------------------------
def test_a_time_is_read_in_steps_and_by_type(desk):
    begin = desk.now - desk.now % HOUR + 2 * HOUR
    for minute, type in ((0, "work"), (1, "work"), (1, "other"), (7, "work")):
        desk.clock.move_to(begin + minute * MINUTE)
        desk.join()
        desk.add(type)
        desk.end(desk.take(wants={"default": [type]})[0])

    def read(until, step, types=()):
        found = desk.store.tallies(begin, begin + until, step, types)
        return [((each.at - begin) // MINUTE, each.type, each.n) for each in found if each.name == "completed"]

    assert read(8 * MINUTE, MINUTE) == [(0, "work", 1), (1, "other", 1), (1, "work", 1), (7, "work", 1)]
    assert read(7 * MINUTE, 5 * MINUTE) == [(0, "other", 1), (0, "work", 2)]
    assert read(HOUR, HOUR, ["work"]) == [(0, "work", 3)]
    assert read(HOUR, HOUR, ["nobody", "other"]) == [(0, "other", 1)]


def test_minutes_become_hours_and_hours_go_but_the_totals_stay(desk):
    begin = desk.now - desk.now % HOUR + 2 * HOUR
    for minute in (0, 59, 60, 300):
        desk.clock.move_to(begin + minute * MINUTE)
        desk.join()
        desk.end(desk.run())

    def read(until=DAY, step=MINUTE):
        found = desk.store.tallies(begin, begin + until, step)
        return [((each.at - begin) // MINUTE, each.n) for each in found if each.name == "completed"]

    assert read() == [(0, 1), (59, 1), (60, 1), (300, 1)]
    for _ in range(2):
        while desk.store.roll_up(desk.now, 2 * HOUR, 30 * DAY):
            pass
        assert read() == [(0, 2), (60, 1), (300, 1)]
        assert timeless(desk.store) == {"completed": 4}
    desk.store.roll_up(begin + DAY + 60 * MINUTE, 2 * HOUR, DAY)
    assert read() == [(60, 1), (300, 1)]
    assert timeless(desk.store) == {"completed": 4}


def test_a_late_outcome_joins_the_hour_of_its_minute(desk):
    begin = desk.now - desk.now % HOUR + 2 * HOUR
    desk.clock.move_to(begin)
    desk.join()
    jobs = [desk.run(), desk.run()]
    ended = [transition(job, COMPLETED, begin) for job in jobs]
    for each in ended:
        desk.store.finish([each])
        desk.store.roll_up(begin + 5 * HOUR, HOUR, 30 * DAY)
    found = desk.store.tallies(begin, begin + HOUR, HOUR)
    assert [each.n for each in found if each.name == "completed"] == [2]


# several processes ----------------------------------------------------------------------------------------------------
def test_two_workers_and_two_chores_at_the_same_time_lose_nothing(desk, shared, clock):
    """Outcomes of two workers, while two others make hours of the same minutes."""
    each, size = 15, 8
    desk.store.enqueue([draft() for _ in range(2 * each * size)], desk.now)
    old = desk.now - 5 * HOUR

    def work(name):
        with open_store(shared, clock) as store:
            desk.join(name)
            for _ in range(each):
                jobs = store.claim(name, {"default": ["work"]}, size, clock.now()).jobs
                done = [transition(job, COMPLETED, old) for job in jobs]
                assert store.finish(done) == ["stored"] * size

    def tidy(_):
        with open_store(shared, clock) as store:
            for _ in range(each):
                store.roll_up(clock.now(), HOUR, 30 * DAY)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda task: task[0](task[1]), [(work, "w-a"), (tidy, 0), (work, "w-b"), (tidy, 1)]))
    found = counts(desk.store)
    assert found["completed"] == sum(n for _, n in histogram(found, "r")) == 2 * each * size
    desk.store.roll_up(clock.now(), HOUR, 30 * DAY)
    assert counts(desk.store) == found


def test_the_job_of_a_killed_worker_is_counted_by_the_sweep_that_frees_it(desk):
    job = desk.run()
    desk.outlive()
    desk.store.orphans(desk.now, MINUTE, 10)
    assert timeless(desk.store) == {}
    desk.store.finish([transition(job, CRASHED, desk.now)])
    desk.end(job)  # the worker was only slow
    assert timeless(desk.store) == {"failed": 1, "retried": 1}


# moving ---------------------------------------------------------------------------------------------------------------
def test_counters_move_with_the_jobs(desk, target):
    begin = desk.now - desk.now % HOUR + 2 * HOUR
    for minute in (0, 61, 600):
        desk.clock.move_to(begin + minute * MINUTE)
        desk.join()
        desk.end(desk.run())
        desk.store.roll_up(desk.now, 2 * HOUR, 30 * DAY)
    desk.store.deregister(WORKER)
    move(desk.store, target, silent)
    for read in (lambda store: store.tallies(begin, begin + DAY, MINUTE), lambda store: store.totals()):
        assert read(target) == read(desk.store) != []


# estimates ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", [0.5, 0.95, 0.99])
def test_a_quantile_is_at_most_16_percent_wrong(part):
    values = [round(1.004**n) for n in range(200, 4_000)]
    found = dict.fromkeys(BOUNDS, 0)
    for value in values:
        found[next((bound for bound in BOUNDS if value <= bound), BOUNDS[-1])] += 1
    true = values[round(part * len(values)) - 1]
    assert abs(quantile(sorted(found.items()), part) / true - 1) < 0.16

"""Slots that are given back while claims are full: kept, examined together by a later claim, and by the first that is not full."""

import threading

import pytest

from mainstay.core.outcome import COMPLETED, RELEASED
from mainstay.stores.turns import FULL, TURN
from tests.contract.building import WORKER, Desk, draft, transition
from tests.contract.ruled import Operator, held, limited, rated, ruled, send, states

pytestmark = pytest.mark.engines("sqlite", "postgres")
KEYS = [f"k{n}" for n in range(FULL)]


def finish(desk, jobs, limit=FULL, outcome=COMPLETED):
    """A claim that brings the outcomes of jobs: the jobs that it got."""
    claims = desk.claim(limit, finishing=[transition(job, outcome, desk.now) for job in jobs])
    assert set(claims.verdicts) <= {"stored"}
    return claims.jobs


class Rush:
    """A desk whose last claim was full and examined lines; a job of every key runs, and others wait in line or may start."""

    def __init__(self, desk, others=None):
        self.desk = desk
        send(desk, *(limited(key) for key in ["first", "last", *KEYS]))
        self.waiting = send(desk, *(limited(key) for key in ["first", *KEYS]))
        self.others = send(desk, *(others or [draft() for _ in range(6 * FULL)]))
        first, self.last, *self.running = desk.take(FULL + 2)
        assert len(finish(desk, [first])) == FULL
        assert desk.state(self.waiting[0]) != "blocked"
        assert self.in_line == "b" * FULL

    @property
    def in_line(self):
        """The states of the jobs in line: b, or q for those that were let in; a claim that examines may have taken them."""
        return states(self.desk, *self.waiting[1:]).replace("r", "q")

    def postpone(self):
        """Give the slot of every key back with a full claim."""
        assert len(finish(self.desk, self.running)) == FULL


@pytest.fixture
def rush(desk):
    return Rush(desk)


def test_a_full_claim_leaves_lines_to_a_later_one(rush):
    rush.postpone()
    assert rush.in_line == "b" * FULL


def test_a_full_claim_examines_all_of_them_when_the_turn_is_over(desk, rush):
    rush.postpone()
    desk.clock.move_to(desk.now + TURN)
    assert len(finish(desk, [rush.last])) == FULL
    assert rush.in_line == "q" * FULL


@pytest.mark.engines("sqlite")  # on PostgreSQL a claim after one for two jobs does not postpone
def test_a_full_claim_whose_turn_it_is_takes_jobs_in_line_in_their_places(desk, rush):
    """Those of the keys come before the others that wait, and two of a lower priority behind them."""
    send(desk, *(limited(f"l{n}", priority=9) for n in range(2)))
    low = send(desk, *(limited(f"l{n}", priority=-1) for n in range(2)))
    last = desk.take(2)
    rush.postpone()
    desk.clock.move_to(desk.now + TURN)
    jobs = [job.id for job in finish(desk, last, limit=FULL + 2)]
    waiting = [job for job in rush.others if job in jobs or desk.state(job) == "queued"]
    assert jobs == [*rush.waiting[1:], *waiting[:2]]
    assert states(desk, *low) == "bb"
    assert all(holders <= 1 for holders, _ in held(desk).values())


def test_a_full_claim_whose_turn_it_is_takes_the_highest_priority_in_line_first(desk, rush):
    urgent = send(desk, *(limited(key, priority=5) for key in KEYS))
    rush.postpone()
    desk.clock.move_to(desk.now + TURN)
    assert [job.id for job in finish(desk, [rush.last])] == urgent
    assert rush.in_line == "b" * FULL
    assert all(holders <= 1 for holders, _ in held(desk).values())


def test_a_full_claim_whose_turn_it_is_queues_jobs_in_line_of_other_workers(desk, another):
    first, second, theirs = send(desk, limited("a"), limited("b"), limited("a", type="other"))
    send(desk, *(draft() for _ in range(4 * FULL)))
    jobs = desk.take(FULL)
    assert {first, second} <= {job.id for job in jobs}
    desk.clock.move_to(desk.now + TURN)
    finish(desk, jobs)
    assert desk.state(theirs) == "queued"


def test_a_line_may_be_shorter_than_the_room_and_than_what_a_claim_wants(desk):
    *_, last = send(desk, *(limited("a", running=3) for _ in range(4)))
    jobs = desk.take(3)
    assert [job.id for job in finish(desk, jobs, limit=2)] == [last]
    assert held(desk) == {"mail\na": (1, 0)}


def test_a_line_that_was_shorter_than_its_room_leaves_more_to_the_next(desk):
    """The second line is looked at twice: what was wanted of it at first was less than it has room for."""
    send(desk, *(limited(key, running=5) for key in "ab" for _ in range(5)))
    short, *long = send(desk, limited("a", running=5), *(limited("b", running=5) for _ in range(6)))
    jobs = finish(desk, desk.take(10), limit=7)
    assert [job.id for job in jobs] == [short, *long[:5]]
    assert held(desk) == {"mail\na": (1, 0), "mail\nb": (5, 1)}


def test_a_clock_that_was_set_back_postpones_nothing(desk, rush):
    desk.clock.move_to(desk.now - 1)
    rush.postpone()
    assert rush.in_line == "q" * FULL


def test_a_claim_that_is_not_full_takes_them_at_once(desk, rush):
    rush.postpone()
    left = {job.id for job in desk.take(len(rush.others) + 2 * FULL)}
    assert left >= set(rush.waiting[1:])


@pytest.mark.parametrize("wanted", [3, FULL + 1])
def test_jobs_in_line_come_in_the_order_of_their_places_not_in_that_in_which_their_slots_were_given_back(desk, wanted):
    keys = [f"k{n}" for n in range(2 * FULL)]
    send(desk, *(limited(key) for key in keys))
    waiting = send(desk, *(limited(key) for key in keys))
    running = desk.take(len(keys))
    assert [job.id for job in finish(desk, running[::-1], limit=wanted)] == waiting[:wanted]


def test_a_claim_of_another_process_takes_them(desk, rush, another):
    rush.postpone()
    other = Desk(another, desk.clock)
    other.join("w-other")
    left = {job.id for job in other.take(len(rush.others) + 2 * FULL, "w-other")}
    assert left >= set(rush.waiting[1:])


def test_a_claim_for_few_jobs_postpones_nothing(desk, rush):
    assert len(finish(desk, rush.running, limit=FULL - 1)) == FULL - 1
    assert rush.in_line == "q" * FULL


def test_an_outcome_without_a_claim_postpones_nothing(desk, rush):
    desk.store.finish([transition(job, COMPLETED, desk.now) for job in rush.running])
    assert rush.in_line == "q" * FULL


def test_the_chore_finds_them(desk, rush):
    rush.postpone()
    desk.clock.advance("1s")  # before, claims look themselves
    desk.store.admit(desk.now, 100)
    assert rush.in_line == "q" * FULL


def test_a_new_job_does_not_pass_one_in_line_at_a_postponed_slot(desk, rush):
    rush.postpone()
    late = desk.send(limited(KEYS[0]))
    assert states(desk, rush.waiting[1], late) == "qb"  # whoever stands in line examines it
    assert all(holders <= 1 for holders, _ in held(desk).values())


def test_a_postponed_slot_of_a_paused_type_stays_empty_until_the_end_of_the_pause(desk, rush):
    rush.postpone()
    Operator(desk).pause("type:work")
    assert desk.take(50) == []
    assert rush.in_line == "b" * FULL
    Operator(desk).resume("type:work")
    assert {job.id for job in desk.take(len(rush.others) + 2 * FULL)} >= set(rush.waiting[1:])


def test_a_limit_that_operators_raise_or_lower_holds_for_postponed_slots(desk, rush):
    more = send(desk, *(limited(KEYS[0]) for _ in range(4)))
    rush.postpone()
    Operator(desk).set("limit", "mail", set={"running": 2})
    desk.take(len(rush.others) + 2 * FULL)
    assert states(desk, rush.waiting[1], *more) == "rrbbb"
    Operator(desk).set("limit", "mail", set={"running": 1})
    desk.clock.move_to(desk.now + TURN)
    first, second = (job for job in desk.store.claimed_by(WORKER) if job.id in (rush.waiting[1], more[0]))
    finish(desk, [first], 50)
    assert states(desk, *more[1:]) == "bbb"
    finish(desk, [second], 50)
    assert states(desk, *more[1:]) == "rbb"


def test_a_released_job_comes_back_before_those_in_line(desk, rush):
    finish(desk, rush.running, outcome=RELEASED)
    assert rush.in_line == "b" * FULL
    assert {job.id for job in rush.running} <= {job.id for job in desk.store.claimed_by(WORKER)} | {
        job.id for job in desk.take(50)
    }


def test_jobs_in_line_with_more_rules_follow_all_of_them(desk):
    send(desk, limited("prime"), *(limited("a", running=FULL) for _ in range(FULL)))
    both = {"limits": [["mail", "a", FULL], ["other", "", 1]]}
    first, second = send(desk, ruled(both), ruled(both))
    fast, slow = send(
        desk, *(ruled({"limits": [["mail", "a", FULL]], "rates": [["api", "", 3_600_000_000, 1]]}) for _ in range(2))
    )
    send(desk, *(draft() for _ in range(2 * FULL)))
    prime, *running = desk.take(FULL + 1)
    assert len(finish(desk, [prime])) == FULL
    assert len(finish(desk, running)) == FULL
    assert states(desk, first, second, fast, slow) == "bbbb"
    desk.take(50)
    assert states(desk, first, second, fast, slow)[:3] == "rbr"
    assert states(desk, slow) in "bs"


def test_a_job_that_was_let_in_at_an_old_place_is_not_passed_over(desk, another):
    """It lies before the place up to which another process has read the lane."""
    send(desk, limited(), limited())
    desk.take_this(send(desk, draft(priority=1))[0])
    (job,) = desk.take(1)
    other = Desk(another, desk.clock)
    other.join("w-other")
    desk.clock.advance("5s")
    send(desk, *(draft() for _ in range(3)))
    assert len(other.take(2, "w-other")) == 2  # its cursor is behind the job in line
    desk.end(job)
    found = other.take(5, "w-other")
    assert [each.rules is None for each in found] == [False, True]


def test_rates_beside_postponed_slots_are_charged(desk, rush):
    rush.postpone()
    now, later = send(desk, rated(every=3_600_000), rated(every=3_600_000))
    desk.take(len(rush.others) + 3 * FULL)
    assert states(desk, now) == "r"
    assert states(desk, later) in "bs"


def test_processes_that_finish_while_others_examine_lose_no_slot(desk, url, shared):
    """Nobody runs the chore: what a claim leaves in line, another has to find."""
    ids = send(desk, *(limited(f"k{n % 20}", running=2) for n in range(600)))
    threads = [threading.Thread(target=drain, args=(url, desk.clock, f"w-{n}", ids)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states(desk, *ids) == "c" * len(ids)
    assert held(desk) == {}


def drain(url, clock, name, ids):
    """Claim and finish, as a process of its own, until nothing is left; then some empty claims in a row."""
    from mainstay.stores import open_store

    with open_store(url, clock) as store:
        mine = Desk(store, clock)
        mine.join(name)
        jobs, empty = [], 0
        while empty < 50:
            given = [transition(job, COMPLETED, mine.now) for job in jobs]
            jobs = mine.claim(FULL, name, finishing=given).jobs
            assert all(holders <= 2 for holders, _ in held(mine).values())
            empty = 0 if jobs else empty + 1


def test_a_claim_of_one_job_looks_past_slots_at_which_nobody_waits(desk):
    """It looks at some slots at once, and goes on until it has its job."""
    Operator(desk).set("limit", "mail", set={"running": 1})  # known without a job that has carried it
    keys = [f"idle{n}" for n in range(60)]
    send(desk, *(limited(key) for key in [*keys, "last"]))
    running = desk.take(len(keys) + 1)
    send(desk, *(draft() for _ in range(FULL)))
    (waiting,) = send(desk, limited("last"))
    last = next(job for job in running if '"last"' in (job.rules or ""))
    others = [job for job in running if job is not last]
    taken = finish(desk, [*others, last])
    assert len(taken) == FULL
    assert waiting in {job.id for job in [*taken, *desk.take(1)]}

"""Lines of slots that were given back: while claims are full they wait for the process's turn, and any other claim looks at once.

Claims for 8 and more jobs take the first jobs in line directly, if these have one limit and no other rule.

Redis decides before a claim whether it may leave lines; the SQL engines, after it (test_postponed.py).
"""

import pytest

from mainstay.core.outcome import COMPLETED, RELEASED
from mainstay.core.rules import slot
from mainstay.stores.turns import FULL, TURN
from tests.contract.building import WORKER, draft, transition
from tests.contract.ruled import held, limited, rated, ruled, send, states

pytestmark = pytest.mark.engines("redis")
MAIL = slot("mail", "")
WANTS = {"default": ["work"]}
MANY = {"default": ["work", *(f"other{n}" for n in range(20))]}  # in another variant of the script
TWO = {"urgent": ["work"], "default": ["work"]}


@pytest.fixture
def desk(desk):
    """A desk whose process has just examined lines."""
    desk.claim(1)
    return desk


def give_back(desk, job, limit=FULL):
    """The jobs of a claim that finishes one."""
    return desk.claim(limit, finishing=[transition(job, COMPLETED, desk.now)]).jobs


def running(desk, waiting=2, others=FULL):
    """A running job of a limit, the ids of those in line behind it, and other jobs."""
    first, *rest = send(desk, *(limited() for _ in range(1 + waiting)))
    job = desk.take_this(first)
    return job, rest, send(desk, *(draft() for _ in range(others)))


def test_a_full_claim_leaves_a_slot_that_it_gave_back_to_a_later_one(desk):
    job, rest, others = running(desk)
    assert [job.id for job in give_back(desk, job)] == others
    assert states(desk, job.id, *rest) == "cbb"
    assert held(desk) == {MAIL: (0, 2)}


def test_a_claim_of_another_process_that_is_not_full_looks_at_once(desk, another):
    desk.join("w-second")
    assert another.claim("w-second", WANTS, FULL, desk.now).jobs == []  # it has just looked, too
    job, (second, third), _ = running(desk)
    give_back(desk, job)
    assert [job.id for job in another.claim("w-second", WANTS, FULL, desk.now).jobs] == [second]
    assert states(desk, second, third) == "rb"
    assert held(desk) == {MAIL: (1, 1)}


def test_a_claim_that_is_not_full_looks_before_it_answers_and_its_jobs_are_in_order(desk):
    first, second = send(desk, limited(priority=5), limited(priority=5))
    job, others = desk.take_this(first), send(desk, *(draft() for _ in range(FULL - 1)))
    assert [job.id for job in give_back(desk, job)] == [second, *others]


def give_back_by_turns(desk, priority, wants=None):
    """Jobs in line at three slots and others that wait, whose claims give a slot back each; the last one has its turn."""
    jobs = [desk.take_this(desk.send(limited(key))) for key in "abc"]
    rest = send(desk, *(limited(key, priority=priority) for key in "abc"))
    others = send(desk, *(draft(priority=5) for _ in range(3 * FULL)))
    for wait, job in ((0, jobs[0]), (TURN - 1, jobs[1])):
        desk.clock.move_to(desk.now + wait)
        assert [job.id for job in give_back(desk, job)] == others[:FULL]
        assert states(desk, *rest) == "bbb"
        del others[:FULL]
    desk.clock.move_to(desk.now + 1)
    return rest, others, desk.claim(FULL, wants=wants, finishing=[transition(jobs[2], COMPLETED, desk.now)]).jobs


@pytest.mark.parametrize("wants", [WANTS, MANY, TWO])
def test_a_full_claim_takes_jobs_in_line_in_their_places_when_it_is_the_turn(desk, wants):
    rest, others, jobs = give_back_by_turns(desk, 6, wants)
    assert [job.id for job in jobs] == [*rest, *others[: FULL - 3]]
    assert held(desk) == {slot("mail", key): (1, 0) for key in "abc"}


def test_a_full_claim_leaves_jobs_in_line_that_come_after_its_own_when_it_is_the_turn(desk):
    rest, others, jobs = give_back_by_turns(desk, priority=4)
    assert [job.id for job in jobs] == others
    assert states(desk, *rest) == "bbb"
    assert [job.id for job in desk.take(FULL)] == rest


def test_a_turn_takes_of_a_line_only_what_comes_before_queued_jobs(desk):
    first, *rest = send(desk, *(limited(running=2, priority=priority) for priority in (9, 9, 7, 3)))
    jobs = desk.take(2)
    assert [job.id for job in jobs] == [first, rest[0]]
    others = send(desk, *(draft(priority=5) for _ in range(FULL)))
    desk.clock.move_to(desk.now + TURN)
    claims = desk.claim(FULL, finishing=[transition(job, COMPLETED, desk.now) for job in jobs])
    assert [job.id for job in claims.jobs] == [rest[1], *others[: FULL - 1]]
    assert [job.id for job in desk.take(FULL)] == [others[-1], rest[2]]


def test_a_claim_for_few_jobs_always_looks(desk):
    job, rest, _ = running(desk)
    assert len(give_back(desk, job, FULL - 1)) == FULL - 1
    assert states(desk, *rest) in ("qb", "rb")


def test_a_finish_always_looks(desk):
    job, rest, _ = running(desk)
    desk.end(job)
    assert states(desk, *rest) == "qb"


def test_a_chore_finds_what_was_left(desk):
    job, rest, _ = running(desk)
    give_back(desk, job)
    desk.store.admit(desk.now, 100)
    assert states(desk, *rest) == "qb"


def test_a_higher_priority_that_comes_meanwhile_takes_the_slot(desk):
    job, (second, third), _ = running(desk)
    give_back(desk, job)
    urgent = desk.send(limited(priority=5))
    assert states(desk, urgent, second, third) in ("qbb", "bbb")
    assert [job.id for job in desk.take(FULL)] == [urgent]
    assert held(desk) == {MAIL: (1, 2)}


def test_many_slots_that_were_given_back_are_looked_at_together(desk):
    keys = [f"t{n}" for n in range(FULL)]
    first, second = (send(desk, *(limited(key, running=2) for key in keys for _ in range(2))) for _ in range(2))
    jobs = desk.take(2 * FULL)
    assert [job.id for job in jobs] == first
    others = send(desk, *(draft() for _ in range(FULL)))
    claims = desk.claim(FULL, finishing=[transition(job, COMPLETED, desk.now) for job in jobs])
    assert [job.id for job in claims.jobs] == others
    assert states(desk, *second) == "b" * len(second)
    assert [job.id for job in desk.take(4 * FULL)] == second
    assert held(desk) == {slot("mail", key): (2, 0) for key in keys}


def test_a_rate_lets_the_next_one_in_when_a_claim_is_not_full(desk):
    first, second = send(desk, rated(every=1), rated(every=1))
    assert [job.id for job in desk.take(FULL)] == [first]
    desk.clock.advance(1)
    assert [job.id for job in desk.take(FULL, WORKER)] == [second]


# jobs in line that are taken directly ------------------------------------------------------------------------------
def finish(desk, jobs, limit, wants=None):
    """The ids of the jobs of a claim that finishes others."""
    claims = desk.claim(limit, wants=wants, finishing=[transition(job, COMPLETED, desk.now) for job in jobs])
    return [job.id for job in claims.jobs]


@pytest.mark.parametrize("wants", [WANTS, MANY, TWO])
def test_a_claim_takes_jobs_in_line_and_leaves_others_in_line(desk, wants):
    keys = [f"t{n}" for n in range(2 * FULL)]
    first, second = (send(desk, *(limited(key) for key in keys)) for _ in range(2))
    jobs = desk.take(2 * FULL)
    assert [job.id for job in jobs] == first
    assert finish(desk, jobs, FULL, wants) == second[:FULL]
    assert states(desk, *second) == "r" * FULL + "b" * FULL
    assert held(desk) == dict.fromkeys((slot("mail", key) for key in keys[:FULL]), (1, 0)) | dict.fromkeys(
        (slot("mail", key) for key in keys[FULL:]), (0, 1)
    )
    assert [job.id for job in desk.take(3 * FULL)] == second[FULL:]


def test_slots_without_jobs_are_forgotten(desk):
    keys = [f"t{n}" for n in range(FULL)]
    send(desk, *(limited(key) for key in keys))
    assert finish(desk, desk.take(FULL), FULL) == []
    assert desk.store.server.read("ZCARD", "lines") == desk.store.server.read("SCARD", "woken") == 0


def test_the_highest_priority_in_line_starts_first(desk):
    keys = [f"t{n}" for n in range(2 * FULL)]
    send(desk, *(limited(key) for key in keys))
    jobs = desk.take(2 * FULL)
    rest = send(desk, *(limited(key, priority=n) for n, key in enumerate(keys)))
    assert finish(desk, jobs, FULL) == rest[: FULL - 1 : -1]


def test_a_job_in_line_that_another_worker_wants_is_queued_for_it(desk):
    send(desk, limited("a"), limited("b"))
    jobs = desk.take(FULL)
    theirs, mine = send(desk, limited("a", type="other"), limited("b"))
    assert finish(desk, jobs, FULL) == [mine]
    assert desk.state(theirs) == "queued"
    assert held(desk) == {slot("mail", key): (1, 0) for key in "ab"}


def test_jobs_of_the_first_queue_in_line_start_first(desk):
    keys = [f"t{n}" for n in range(2 * FULL)]
    send(desk, *(limited(key) for key in keys))
    jobs = desk.take(2 * FULL)
    send(desk, *(limited(key) for key in keys[:FULL]))
    urgent = send(desk, *(limited(key, queue="urgent") for key in keys[FULL:]))
    assert finish(desk, jobs, FULL, TWO) == urgent


def test_jobs_with_several_limits_in_line_are_examined(desk):
    both = {"limits": [["mail", "a", 1], ["other", "", 1]]}
    send(desk, limited("a"), limited("b"))
    jobs = desk.take(FULL)
    second, third = send(desk, ruled(both), limited("b"))
    assert finish(desk, jobs, FULL) == [second, third]
    assert held(desk) == {slot("mail", "a"): (1, 0), slot("mail", "b"): (1, 0), slot("other", ""): (1, 0)}


def test_a_released_job_does_not_keep_others_in_line(desk):
    keys = [f"t{n}" for n in range(FULL)]
    send(desk, *(limited(key) for key in keys))
    rest = send(desk, *(limited(key) for key in keys))
    first, *jobs = desk.take(FULL)
    ended = [transition(first, RELEASED, desk.now), *(transition(job, COMPLETED, desk.now) for job in jobs)]
    assert [job.id for job in desk.claim(FULL, finishing=ended).jobs] == [first.id, *rest[1:]]
    assert states(desk, rest[0]) == "b"


def test_claims_that_are_filled_from_lines_go_on_with_these(desk):
    """A turn that comes meanwhile does not queue them."""
    keys = [f"t{n}" for n in range(3 * FULL)]
    send(desk, *(limited(key) for key in keys))
    rest = send(desk, *(limited(key) for key in keys))
    found = finish(desk, desk.take(3 * FULL), FULL)
    desk.clock.move_to(desk.now + TURN)
    found += [job.id for job in desk.take(FULL)]
    assert found == rest[: 2 * FULL]
    assert states(desk, *rest[2 * FULL :]) == "b" * FULL


def test_a_turn_examines_the_rates_of_what_it_starts(desk):
    first, second = send(desk, rated(every=1_000), rated(every=1_000))
    job = desk.take_this(desk.send(limited(priority=9)))
    send(desk, limited(), *(draft() for _ in range(FULL)))
    desk.clock.move_to(desk.now + TURN)
    assert first in [each.id for each in give_back(desk, job)]
    assert desk.state(second) == "scheduled"

"""Lines of slots that were given back: while claims are full they wait for the process's turn, and any other claim looks at once.

Redis decides before a claim whether it may leave lines; the SQL engines, after it (test_postponed.py).
"""

import pytest

from mainstay.core.outcome import COMPLETED
from mainstay.core.rules import slot
from mainstay.stores.turns import FULL, TURN
from tests.contract.building import WORKER, draft, transition
from tests.contract.ruled import held, limited, rated, send, states

pytestmark = pytest.mark.engines("redis")
MAIL = slot("mail", "")
WANTS = {"default": ["work"]}


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


def test_a_full_claim_looks_when_it_is_the_turn(desk):
    jobs = [desk.take_this(desk.send(limited(key))) for key in "abc"]
    rest = send(desk, *(limited(key) for key in "abc"))
    others = send(desk, *(draft(priority=5) for _ in range(3 * FULL)))
    for wait, job, found in ((0, jobs[0], "bbb"), (TURN - 1, jobs[1], "bbb"), (1, jobs[2], "qqq")):
        desk.clock.move_to(desk.now + wait)
        assert [job.id for job in give_back(desk, job)] == others[:FULL]
        del others[:FULL]
        assert states(desk, *rest) == found


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

"""Breakers: a type that fails rests, then one job is tried; nothing is lost meanwhile."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from mainstay.core.breaker import breaker_meter
from mainstay.core.clock import SECOND
from mainstay.core.errors import StoreBusy
from mainstay.core.outcome import COMPLETED, CRASHED, RELEASED, Outcome
from mainstay.stores import outbox
from mainstay.stores.postgres.connect import parse_url
from tests.contract.building import CANCELLED, FAILED, FINAL, REVIEW, transition
from tests.contract.ruled import Operator, rated, ruled, send, states, watched


def ended(desk, *outcomes):
    """Run a job to each of these outcomes."""
    for outcome in outcomes:
        job_id = desk.send(watched(priority=9))
        assert desk.end(desk.take_this(job_id), outcome) == "stored"


def breaker(desk):
    """The open breaker's value, or None."""
    found = desk.store.rules(["breaker"])
    return found[0].value if found else None


def test_nothing_happens_before_enough_outcomes_are_known(desk):
    ended(desk, FINAL, FINAL, FINAL)
    assert breaker(desk) is None
    ended(desk, FINAL)
    assert breaker(desk) == {"until": desk.now + SECOND, "rest": SECOND}


@pytest.mark.parametrize(
    ("outcomes", "opens"),
    [
        ("sfsf", True),
        ("ssff", True),
        ("sssf", False),
        ("ffss", True),
        ("fsss", False),
        ("fsssff", True),
        ("fsssf", False),
    ],
)
def test_the_last_outcomes_decide(desk, outcomes, opens):
    ended(desk, *({"s": COMPLETED, "f": FINAL}[letter] for letter in outcomes))
    assert (breaker(desk) is not None) == opens


@pytest.mark.parametrize(
    "outcome",
    [FAILED, FINAL, CRASHED, Outcome("timed out", error="late")],
    ids=["failed", "final", "crashed", "timeout"],
)
def test_what_counts_as_a_failure(desk, outcome):
    ended(desk, COMPLETED, COMPLETED._replace(result="1"), FINAL)
    ended(desk, outcome)
    assert breaker(desk) is not None


@pytest.mark.parametrize("outcome", [CANCELLED, REVIEW, RELEASED, Outcome("snoozed", delay=SECOND)])
def test_what_counts_as_nothing(desk, outcome):
    ended(desk, FINAL, FINAL, FINAL)
    job_id = desk.send(watched(priority=9))
    desk.end(desk.take_this(job_id), outcome)
    assert breaker(desk) is None
    desk.store.cancel([job_id], desk.now, "me")
    ended(desk, FINAL)
    assert breaker(desk) is not None


def test_a_resting_type_is_left_out_of_claims_and_costs_no_attempts(desk):
    ended(desk, *[FINAL] * 4)
    waiting, other = desk.send(watched(priority=9)), desk.add("other")
    wants = {"default": ["work", "other"]}
    assert [job.id for job in desk.take(9, wants=wants)] == [other]
    assert (states(desk, waiting), desk.job(waiting).attempt) == ("q", 0)
    desk.clock.advance("999ms")
    assert desk.take(9, wants=wants) == []


def test_after_the_rest_one_job_is_tried(desk):
    ended(desk, *[FINAL] * 4)
    ids = send(desk, *(watched() for _ in range(3)), watched(queue="slow"))
    desk.clock.advance("1s")
    wants = {"default": ["work"], "slow": ["work"]}
    assert [job.id for job in desk.take(9, wants=wants)] == ids[:1]
    assert breaker(desk) == {"until": desk.now + SECOND, "rest": SECOND}
    assert desk.take(9, wants=wants) == []
    desk.clock.advance("1s")
    assert len(desk.take(9, wants=wants)) == 1, "the first may have been lost"


def test_a_trial_that_completes_closes_the_breaker(desk):
    ended(desk, *[FINAL] * 4)
    ids = send(desk, *(watched() for _ in range(3)))
    desk.clock.advance("1s")
    (job,) = desk.take(9)
    desk.end(job)
    assert breaker(desk) is None
    assert [job.id for job in desk.take(9)] == ids[1:]
    ended(desk, FINAL, FINAL, FINAL)
    assert breaker(desk) is None, "the outcomes are counted anew"


def test_a_trial_that_fails_lets_the_type_rest_again(desk):
    ended(desk, *[FINAL] * 4)
    send(desk, *(watched() for _ in range(3)))
    desk.clock.advance("1s")
    (job,) = desk.take(9)
    desk.clock.advance("500ms")
    desk.end(job, FINAL)
    assert breaker(desk) == {"until": desk.now + SECOND, "rest": SECOND}
    assert desk.take(9) == []


def test_a_claim_that_closes_the_breaker_takes_the_rest(desk):
    ended(desk, *[FINAL] * 4)
    ids = send(desk, *(watched() for _ in range(3)))
    desk.clock.advance("1s")
    (job,) = desk.take(9)
    claims = desk.claim(9, finishing=[transition(job, COMPLETED, desk.now)])
    assert [job.id for job in claims.jobs] == ids[1:]


def test_a_claim_that_opens_the_breaker_takes_no_more_of_the_type(desk):
    ended(desk, *[FINAL] * 3)
    job_id = desk.send(watched(priority=9))
    job = desk.take_this(job_id)
    desk.send(watched())
    assert desk.claim(9, finishing=[transition(job, FINAL, desk.now)]).jobs == []


def test_outcomes_of_a_batch_are_counted_one_by_one(desk):
    ids = send(desk, *(watched() for _ in range(4)))
    jobs = desk.take(9)
    assert [job.id for job in jobs] == ids
    desk.store.finish([transition(job, FINAL, desk.now) for job in jobs])
    assert breaker(desk) is not None


def test_an_operator_closes_a_breaker(desk):
    ended(desk, *[FINAL] * 4)
    job_id = desk.send(watched())
    Operator(desk).remove("breaker", "work")
    desk.take_this(job_id)


def test_a_paused_type_is_not_tried(desk):
    ended(desk, *[FINAL] * 4)
    desk.send(watched())
    Operator(desk).pause("type:work")
    desk.clock.advance("1s")
    assert desk.take(9) == []


def test_a_trial_that_its_rate_does_not_permit_is_none(desk):
    ended(desk, *[FINAL] * 4)
    both = {"breaker": [0.5, 4, SECOND], "rates": [["api", "", 10_000_000, 1]]}
    denied, free = desk.send(ruled(both, priority=5)), desk.send(watched())
    desk.clock.advance("1s")
    desk.store.push_rate(["api\n\nrate"], desk.now, 10 * SECOND)
    taken = [job.id for _ in range(2) for job in desk.take(9)]
    assert taken == [free]
    assert states(desk, denied) == "s"


def test_jobs_without_a_breaker_do_not_count(desk):
    for _ in range(6):
        desk.end(desk.take_this(desk.send(rated(str(desk.now)))), FINAL)
        desk.clock.advance("1s")
    assert breaker(desk) is None


@pytest.fixture
def own(url):
    """A caller's own connection."""
    with psycopg.connect(**parse_url(url)[0]) as connection:
        yield connection
        connection.rollback()


@pytest.mark.engines("postgres")
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_nobody_waits_for_a_breaker_that_a_callers_transaction_holds(desk, own, end):
    others = [desk.take_this(desk.send(watched())) for _ in range(3)]
    ended(desk, *[FINAL] * 4)
    desk.send(watched())
    desk.clock.advance("1s")
    (tried,) = desk.take(9)
    outbox.run(desk.store, own, lambda verbs: verbs.finish(transition(tried, COMPLETED, desk.now)))
    with ThreadPoolExecutor(1) as pool:
        try:
            assert pool.submit(lambda: [desk.end(job, FINAL) for job in others]).result(5) == ["stored"] * 3
            with pytest.raises(StoreBusy, match="nothing was changed"):
                Operator(desk).remove("breaker", "work")
        finally:
            getattr(own, end)()
    assert (breaker(desk) is None) == (end == "commit")
    assert desk.store.meters([breaker_meter("work")]) == {breaker_meter("work"): 0b1111}
    if end == "commit":
        ended(desk, FINAL)
        assert breaker(desk) is not None, "what failed meanwhile counts"

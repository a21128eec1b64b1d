"""What becomes of a running job: the whole table, and what holds for every row of it."""

import pytest
from hypothesis import given, strategies as st

from mainstay.core.clock import DAY, SECOND
from mainstay.core.decide import Completed, decide
from mainstay.core.draft import Draft
from mainstay.core.job import Claimed
from mainstay.core.outcome import CANCELLED, COMPLETED, CRASHED, RELEASED, Outcome
from mainstay.core.retry import CRASHES, Retry
from mainstay.core.states import ENDED, MOVES, RUNNING

NOW = 1_750_000_000_000
FAILED = Outcome("failed", error="ValueError: no", traceback="Traceback …")


def claimed(**changed):
    fields = {
        "seq": 1, "id": "01JX", "type": "t", "queue": "default", "attempt": 1, "max_attempts": 3, "crashes": 0,
        "token": 4, "timeout": 1_000, "keep": DAY, "backoff": None, "created_at": NOW - 10, "started_at": NOW - 5,
        "cancelling": False, "payload": "{}", "rank": 0, "ord": 0, "worker": "w",
    }  # fmt: skip
    return Claimed(**fields | changed)


def decided(job, outcome, **more):
    return decide(job, outcome, NOW, lambda: 0.0, **more)


@pytest.mark.parametrize(
    ("job", "outcome", "state", "attempt", "run_at", "reason"),
    [
        (claimed(), COMPLETED, "completed", 1, None, None),
        (claimed(), Outcome("completed", result="7", reason="early"), "completed", 1, None, "early"),
        (claimed(), FAILED, "scheduled", 1, NOW + SECOND, None),
        (claimed(attempt=2), FAILED, "scheduled", 2, NOW + 2 * SECOND, None),
        (claimed(attempt=3), FAILED, "dead", 3, None, "attempts used up"),
        (claimed(max_attempts=1), FAILED, "dead", 1, None, "attempts used up"),
        (claimed(), FAILED._replace(retry=False), "dead", 1, None, "permanent"),
        (claimed(), FAILED._replace(retry=False, reason="invalid payload"), "dead", 1, None, "invalid payload"),
        (claimed(), Outcome("timed out", error="Timeout"), "scheduled", 1, NOW + SECOND, None),
        (claimed(attempt=2), Outcome("snoozed", delay=500, reason="busy"), "scheduled", 1, NOW + 500, "busy"),
        (claimed(attempt=3), Outcome("snoozed", delay=0), "scheduled", 2, NOW, None),
        (claimed(attempt=2), RELEASED, "queued", 1, NOW, None),
        (claimed(attempt=3), RELEASED, "queued", 2, NOW, None),
        (claimed(), Outcome("review", result="1", reason="unsure"), "review", 1, None, "unsure"),
        (claimed(attempt=3), Outcome("review", reason="unsure"), "review", 3, None, "unsure"),
        (claimed(), CANCELLED, "cancelled", 1, None, "cancelled"),
        (claimed(), Outcome("cancelled"), "cancelled", 1, None, "cancelled on request"),
        (claimed(), CRASHED, "queued", 1, NOW, None),
        (claimed(attempt=3), CRASHED, "dead", 3, None, "attempts used up"),
    ],
)
def test_the_table(job, outcome, state, attempt, run_at, reason):
    found = decided(job, outcome)
    assert (found.state, found.attempt, found.run_at, found.reason) == (state, attempt, run_at, reason)


@pytest.mark.parametrize(
    "outcome",
    [
        COMPLETED,
        Outcome("completed", result="1"),
        FAILED,
        RELEASED,
        CRASHED,
        CANCELLED,
        Outcome("review"),
        Outcome("snoozed"),
    ],
)
def test_a_job_that_was_asked_to_stop_ends_as_cancelled_whatever_its_handler_said(outcome):
    assert decided(claimed(cancelling=True), outcome).state == "cancelled"


def test_a_job_is_poison_after_three_crashes_whatever_attempts_remain():
    job = claimed(max_attempts=1_000)
    for crashes in range(CRASHES - 1):
        found = decided(job._replace(crashes=crashes), CRASHED)
        assert (found.state, found.crashes) == ("queued", crashes + 1)
    found = decided(job._replace(crashes=CRASHES - 1), CRASHED)
    assert (found.state, found.crashes, CRASHES) == ("dead", 3, 3)
    assert found.reason == "poison: 3 workers died while they ran it"


def test_how_many_crashes_make_poison_can_be_chosen():
    assert decided(claimed(), CRASHED, crashes=1).state == "dead"


def test_a_failure_is_no_crash():
    assert decided(claimed(crashes=2), FAILED).crashes == 2


def test_a_crash_costs_an_attempt():
    found = decided(claimed(attempt=2), CRASHED)
    assert (found.attempt, found.number) == (2, 2)


@pytest.mark.parametrize("outcome", [RELEASED, Outcome("snoozed", delay=1)])
def test_what_is_given_back_is_recorded_under_the_number_it_ran_as(outcome):
    found = decided(claimed(attempt=2), outcome)
    assert (found.attempt, found.number) == (1, 2)


def test_ended_jobs_expire_after_their_retention_and_dead_ones_never():
    assert decided(claimed(), COMPLETED).expires_at == NOW + DAY
    assert decided(claimed(), Outcome("completed", result="1")).expires_at == NOW + DAY
    assert decided(claimed(), CANCELLED).expires_at == NOW + DAY
    assert decided(claimed(max_attempts=1), FAILED).expires_at is None
    assert decided(claimed(keep=0), COMPLETED).expires_at == NOW
    for outcome in (COMPLETED, Outcome("completed", result="1"), CANCELLED):
        assert decided(claimed(keep=None), outcome).expires_at is None


def test_waiting_follows_the_policy_on_the_job():
    backoff = Retry(base="10s", jitter=False).pack()
    assert decided(claimed(backoff=backoff, attempt=2), FAILED).run_at == NOW + 20 * SECOND


def test_children_are_born_only_of_a_completed_job():
    child = Draft("t", "{}")
    done = Outcome("completed", children=(child,))
    assert decided(claimed(), done).children == (child,)
    assert decided(claimed(cancelling=True), done).children == ()
    assert decided(claimed(), FAILED._replace(children=(child,))).children == ()
    assert decided(claimed(), Outcome("snoozed", children=(child,))).children == ()


def test_the_quick_way_for_plain_completions_says_the_same_as_the_long_way():
    plain = Outcome("completed")
    assert plain is not COMPLETED
    assert decided(claimed(), COMPLETED) == decided(claimed(), plain)
    assert decided(claimed(keep=None), COMPLETED) == decided(claimed(keep=None), plain)
    assert type(decided(claimed(), COMPLETED)) is Completed
    assert type(decided(claimed(), COMPLETED._replace(result="1"))) is not Completed  # it leaves more than the fact


def test_what_the_attempt_said_is_kept():
    found = decided(claimed(), FAILED._replace(result="1"))
    assert (found.outcome, found.error, found.traceback, found.result) == (
        "failed",
        FAILED.error,
        FAILED.traceback,
        "1",
    )
    assert (found.at, found.started_at, found.worker) == (NOW, NOW - 5, "w")


kinds = ["completed", "failed", "timed out", "released", "cancelled", "review", "snoozed", "crashed", "lost_unknown"]
outcomes = st.builds(
    Outcome,
    kind=st.sampled_from(kinds),
    error=st.none() | st.just("E"),
    result=st.none() | st.just("1"),
    reason=st.none() | st.just("why"),
    delay=st.integers(min_value=0, max_value=DAY),
    retry=st.booleans(),
)
limits = st.integers(min_value=1, max_value=20)
jobs = limits.flatmap(
    lambda most: st.builds(
        claimed,
        attempt=st.integers(min_value=1, max_value=most),
        max_attempts=st.just(most),
        crashes=st.integers(min_value=0, max_value=5),
        token=st.integers(min_value=1, max_value=100),
        keep=st.none() | st.integers(min_value=0, max_value=DAY),
        backoff=st.none() | st.just("500 9000 3 1"),
        cancelling=st.booleans(),
    )
)
chances = st.floats(min_value=0, max_value=1, exclude_max=True)


@given(jobs, outcomes | st.sampled_from([COMPLETED, RELEASED, CRASHED, CANCELLED]), chances)
def test_what_holds_for_every_decision(job, outcome, chance):
    found = decide(job, outcome, NOW, lambda: chance)
    assert (RUNNING, found.state) in MOVES
    assert (found.seq, found.id, found.token, found.number) == (job.seq, job.id, job.token, job.attempt)
    assert 0 <= found.attempt <= job.max_attempts
    assert found.attempt in (job.attempt, job.attempt - 1)
    assert found.crashes in (0, job.crashes, job.crashes + 1)
    assert found.crashes >= job.crashes or outcome.kind in ("snoozed", "review")
    assert (found.finished_at is not None) == (found.state in ENDED)
    assert found.expires_at is None or found.state in ENDED - {"dead"}
    assert (found.run_at is not None) == (found.state in ("queued", "scheduled"))
    assert found.run_at is None or found.run_at >= NOW
    assert found.state != "dead" or found.reason


@given(jobs, chances)
def test_a_failed_job_is_tried_again_exactly_while_attempts_remain(job, chance):
    found = decide(job._replace(cancelling=False), FAILED, NOW, lambda: chance)
    assert found.state == ("scheduled" if job.attempt < job.max_attempts else "dead")


@given(st.lists(st.sampled_from([FAILED, CRASHED, RELEASED, Outcome("snoozed", delay=5)]), max_size=200), limits)
def test_no_history_of_troubles_runs_a_job_more_often_than_allowed(history, most):
    job, counted = claimed(attempt=0, max_attempts=most), 0
    for outcome in history:
        job = job._replace(attempt=job.attempt + 1, token=job.token + 1)
        found = decided(job, outcome)
        counted += outcome in (FAILED, CRASHED)
        assert job.attempt <= most
        if found.state in ENDED:
            assert counted == most or found.crashes == CRASHES
            return
        job = job._replace(attempt=found.attempt, crashes=found.crashes)
    assert counted < most


def test_a_cancelled_job_keeps_the_error_of_its_handler_and_no_result():
    returned = decided(claimed(cancelling=True), Outcome("completed", result='"done"'))
    assert (returned.state, returned.result, returned.reason) == ("cancelled", None, "cancelled on request")
    final = decided(claimed(cancelling=True), Outcome("failed", error="no", retry=False, reason="no is final"))
    assert (final.state, final.error, final.reason) == ("cancelled", "no", "cancelled on request")

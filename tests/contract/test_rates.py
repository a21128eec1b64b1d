"""Rates: starts are charged when jobs are claimed; what may not start yet is scheduled for its time and costs no attempt."""

import pytest

from mainstay.core.clock import SECOND
from mainstay.core.outcome import COMPLETED, RELEASED
from mainstay.core.rules import rate_slot
from tests.contract.building import FAILED, transition
from tests.contract.ruled import US, Operator, held, rated, ruled, send, states

API = rate_slot("api", "")


def starts(desk, seconds, limit=9):
    """The ids of the jobs that start, by tenth of a second."""
    found = {}
    for tick in range(seconds * 10):
        jobs = desk.take(limit)
        desk.store.finish([transition(job, COMPLETED, desk.now) for job in jobs])
        if jobs:
            found[tick] = [job.id for job in jobs]
        desk.clock.advance("100ms")
    return found


def test_jobs_start_at_an_even_pace_in_their_order(desk):
    ids = send(desk, *(rated() for _ in range(4)))
    assert starts(desk, 4) == {0: [ids[0]], 10: [ids[1]], 20: [ids[2]], 30: [ids[3]]}


def test_a_burst_starts_at_once_and_the_rest_at_the_pace(desk):
    ids = send(desk, *(rated(burst=3) for _ in range(5)))
    assert states(desk, *ids) == "qqqbb"
    found = starts(desk, 3)
    assert found == {0: ids[:3], 10: [ids[3]], 20: [ids[4]]}


def test_a_pause_gives_the_burst_back(desk):
    send(desk, *(rated(burst=3) for _ in range(3)))
    assert len(starts(desk, 1)[0]) == 3
    desk.clock.advance("5s")
    ids = send(desk, *(rated(burst=3) for _ in range(5)))
    assert starts(desk, 1)[0] == ids[:3]


def test_the_head_of_a_line_is_scheduled_for_its_time(desk):
    first, second, third = send(desk, rated(), rated(), rated())
    assert states(desk, first, second, third) == "qbb"
    claims = desk.claim(9)
    assert [job.id for job in claims.jobs] == [first]
    assert states(desk, first, second, third) == "rsb"
    assert (desk.job(second).run_at, desk.job(second).waits, desk.job(third).waits) == (desk.now + SECOND, None, API)
    assert claims.wait == SECOND, "the claim tells when the next one is due"
    assert held(desk) == {API: (1, 1)}
    assert desk.store.meters([API, "nothing"]) == {API: (desk.now + SECOND) * US}


def test_a_running_job_does_not_hold_its_rate(desk):
    first = desk.send(rated(every=100))
    job = desk.take_this(first)
    desk.clock.advance("1s")
    second = desk.send(rated(every=100))
    assert states(desk, first, second) == "rq"
    desk.take_this(second)
    desk.end(job)


def test_keys_have_rates_of_their_own(desk):
    ids = send(desk, *(rated(key) for key in "aabb"))
    assert states(desk, *ids) == "qbqb"
    assert [job.id for job in desk.take(9)] == [ids[0], ids[2]]
    assert states(desk, *ids) == "rsrs"


def test_the_start_is_charged_not_the_enqueue(desk):
    ids = send(desk, *(rated() for _ in range(2)))
    desk.clock.advance("5s")
    assert [job.id for job in desk.take(9)] == ids[:1]
    assert desk.job(ids[1]).run_at == desk.now + SECOND


def test_a_job_that_may_not_start_is_scheduled_and_costs_no_attempt(desk):
    """It was queued while the rate permitted it; then another job of the rate started: by a push, here."""
    job_id = desk.send(rated())
    desk.store.push_rate([API], desk.now, 5 * SECOND)
    claims = desk.claim(9)
    assert (claims.jobs, claims.wait) == ([], 5 * SECOND)
    job = desk.job(job_id)
    assert (job.state, job.attempt, job.token, job.run_at, job.started_at) == (
        "scheduled",
        0,
        0,
        desk.now + 5 * SECOND,
        None,
    )
    assert held(desk) == {API: (1, 0)}
    desk.clock.advance("5s")
    assert desk.take_this(job_id).attempt == 1


def test_a_push_never_brings_a_start_forward(desk):
    first, second = send(desk, rated(every=60_000), rated(every=60_000))
    desk.take_this(first)
    desk.store.push_rate([API], desk.now, SECOND)
    desk.clock.advance("2s")
    assert desk.take(9) == []
    assert desk.job(second).run_at == desk.now + 58 * SECOND


def test_a_clock_that_is_set_back_does_not_stop_a_rate(desk):
    ids = send(desk, *(rated(burst=2) for _ in range(5)))
    assert [job.id for job in desk.take(9)] == ids[:2]
    set_back(desk)
    assert desk.take(9) == []
    desk.clock.advance("900ms")
    assert desk.take(9) == [], "it starts none before the rate could permit it"
    assert list(starts(desk, 3).values()) == [[id] for id in ids[2:]]


def test_a_job_that_comes_after_the_clock_was_set_back_starts_when_the_rate_can_permit_it(desk):
    desk.take_this(desk.send(rated()))
    set_back(desk)
    job = desk.send(rated())
    assert desk.take() == []
    assert desk.job(job).run_at == desk.now + SECOND
    assert starts(desk, 2) == {10: [job]}


def test_a_push_lasts_as_long_after_the_clock_was_set_back(desk):
    first, second = send(desk, rated(burst=3), rated(burst=3))
    desk.store.push_rate([API], desk.now, 5 * SECOND)
    assert desk.take(9) == []
    set_back(desk)
    assert list(starts(desk, 7).items()) in ([(50, [first, second])], [(50, [first]), (60, [second])])


@pytest.mark.parametrize(("one", "two"), [(6, 2), (2, 6)])
def test_of_two_pushes_around_a_clock_that_is_set_back_the_longer_one_holds(desk, one, two):
    Operator(desk).set("limit", "api", declared={"every": SECOND * US, "burst": 1})
    job = desk.send(rated())
    desk.store.push_rate([API], desk.now, one * SECOND)
    set_back(desk)
    desk.store.push_rate([API], desk.now, two * SECOND)
    assert starts(desk, 8) == {60: [job]}


def test_a_rate_that_was_slow_does_not_hold_back_the_faster_one(desk):
    first, second = send(desk, rated(every=3_600_000), rated(every=3_600_000))
    desk.take_this(first)
    assert desk.job(second).run_at == desk.now + 3_600_000
    Operator(desk).set("limit", "api", set={"every": 1_000 * US})
    desk.store.admit(desk.now, 500)
    assert starts(desk, 2) == {10: [second]}


def set_back(desk):
    """Put the clock back by a day; what workers do every second follows."""
    desk.clock.move_to(desk.now - 86_400_000)
    desk.join()
    desk.store.admit(desk.now, 500)


def test_those_that_come_later_wait_for_a_push_too(desk):
    desk.store.push_rate([API], desk.now, 5 * SECOND)
    job_id = desk.send(rated())
    assert states(desk, job_id) == "s"
    assert desk.job(job_id).run_at == desk.now + 5 * SECOND


def test_a_retried_job_is_charged_again(desk):
    first, second = send(desk, rated(), rated())
    desk.end(desk.take_this(first), FAILED)
    desk.clock.advance("1s")
    job = desk.take_this(second)
    assert states(desk, first, second) == "sr"
    desk.end(job)
    desk.clock.advance("1s")
    desk.take_this(first)


def test_a_released_job_waits_for_its_rate_like_others(desk):
    job_id = desk.send(rated())
    desk.end(desk.take_this(job_id), RELEASED)
    assert states(desk, job_id) == "s"
    assert desk.job(job_id).run_at == desk.now + SECOND


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_when_the_scheduled_head_goes_the_next_one_takes_its_place(desk, verb):
    first, second, third = send(desk, rated(), rated(), rated())
    desk.take_this(first)
    getattr(desk.store, verb)([second], desk.now, "me")
    assert states(desk, first, third) == "rs"
    assert desk.job(third).run_at == desk.now + SECOND
    assert held(desk) == {API: (1, 0)}


def test_a_head_that_an_operator_runs_now_waits_for_its_rate_all_the_same(desk):
    first, second = send(desk, rated(), rated())
    desk.take_this(first)
    assert desk.store.retry([second], desk.now, "me") == {second: "queued"}
    assert states(desk, second) == "s"
    assert held(desk) == {API: (1, 0)}


def test_a_job_with_a_limit_and_a_rate_holds_no_place_while_it_waits_for_its_time(desk):
    def both():
        return ruled({"limits": [["mail", "", 1]], "rates": [["api", "", SECOND * US, 1]]})

    first, second = send(desk, both(), both())
    assert desk.job(second).waits == "mail\n"
    desk.end(desk.take_this(first))
    assert states(desk, second) == "s"
    assert held(desk) == {API: (1, 0)}, "the limit is free meanwhile"
    other = desk.send(ruled({"limits": [["mail", "", 1]]}))
    assert states(desk, other) == "q"
    desk.clock.advance("1s")
    desk.promote()
    assert (states(desk, second), desk.job(second).waits) == ("b", "mail\n")
    desk.end(desk.take_this(other))
    assert states(desk, second) == "q"


def test_a_job_that_waits_for_its_time_lets_the_next_one_in_line_pass(desk):
    both = {"limits": [["mail", "", 1]], "rates": [["api", "", SECOND * US, 1]]}
    holder, first, second = send(desk, ruled(both), ruled(both), ruled({"limits": [["mail", "", 1]]}))
    desk.end(desk.take_this(holder))
    assert states(desk, first, second) == "sq"


def test_two_rates_both_have_to_permit_the_start(desk):
    def two(key):
        return ruled({"rates": [["all", "", 100 * US, 1], ["one", key, SECOND * US, 1]]})

    a, b, other = send(desk, two("x"), two("x"), two("y"))
    found = {job: tick for tick, jobs in starts(desk, 2).items() for job in jobs}
    assert found[a] == 0
    assert 10 <= found[b] <= 11
    assert found[other] >= 1


def test_an_operator_changes_a_rate(desk):
    ids = send(desk, *(rated() for _ in range(3)))
    desk.take_this(ids[0])
    Operator(desk).set("limit", "api", set={"every": 100 * US, "burst": 1})
    desk.clock.advance("1s")
    assert [job.id for job in desk.take(9)] == [ids[1]]
    assert desk.job(ids[2]).run_at == desk.now + 100


def test_an_operator_lifts_a_rate(desk):
    ids = send(desk, *(rated() for _ in range(3)))
    Operator(desk).set("limit", "api", set={"every": None})
    desk.clock.advance("1s")
    taken = [job.id for _ in range(3) for job in desk.take(9)]
    assert taken == ids


def test_a_claim_is_not_stopped_by_jobs_that_may_not_start(desk):
    ids = send(desk, *(rated(key, priority=5) for key in "abc"))
    plain = [desk.add(), desk.add()]
    desk.store.push_rate([rate_slot("api", key) for key in "abc"], desk.now, SECOND)
    assert [job.id for job in desk.take(2)] == plain
    assert states(desk, *ids) == "sss"

"""Fair queues: tenants take turns by their weights. Aging: waiting makes up for a lower priority."""

from mainstay.core.clock import SECOND
from mainstay.core.outcome import COMPLETED
from tests.contract.building import FINAL, transition
from tests.contract.ruled import fair, ruled, send, states


def order(desk, names, limit=1):
    """The tenants in the order in which their jobs run."""
    found = []
    while jobs := desk.take(limit):
        found += [names[job.id] for job in jobs]
        desk.store.finish([transition(job, COMPLETED, desk.now) for job in jobs])
    return "".join(found)


def named(desk, *drafts):
    return {job_id: each.tenant for job_id, each in zip(send(desk, *drafts), drafts, strict=True)}


def test_tenants_take_turns(desk):
    names = named(desk, *(fair("a") for _ in range(6)), *(fair("b") for _ in range(3)))
    assert order(desk, names) == "abababaaa"


def test_a_tenant_of_twice_the_weight_gets_twice_as_many_turns(desk):
    names = named(desk, *(fair("a", 2) for _ in range(8)), *(fair("b") for _ in range(4)))
    found = order(desk, names)
    assert found[:9].count("b") in (3, 4)
    assert found.count("a") == 8


def test_one_who_comes_later_does_not_wait_behind_the_backlog_of_another(desk):
    names = named(desk, *(fair("a") for _ in range(50)))
    for _ in range(10):
        desk.end(desk.take()[0])
        desk.clock.advance("500ms")
    names |= named(desk, fair("b"))
    assert "b" in order(desk, names)[:2]


def test_idle_time_is_not_saved_up(desk):
    names = named(desk, fair("b"))
    assert order(desk, names) == "b"
    desk.clock.advance("1h")
    desk.join()
    names |= named(desk, *(fair("a") for _ in range(3)))
    desk.clock.advance("1s")
    names |= named(desk, *(fair("b") for _ in range(3)))
    assert order(desk, names)[:4].count("b") in (1, 2)


def test_a_claim_of_many_takes_turns_too(desk):
    names = named(desk, *(fair("a") for _ in range(4)), *(fair("b") for _ in range(4)))
    assert order(desk, names, 4) == "abababab"


def test_queues_are_fair_on_their_own(desk):
    send(desk, *(fair("a") for _ in range(4)))
    first = desk.send(fair("a", queue="slow"))
    assert [job.id for job in desk.take(1, wants={"slow": ["work"]})] == [first]


def test_priorities_come_before_turns(desk):
    ids = send(desk, fair("a"), fair("a"), fair("b"), fair("a", priority=5))
    assert [job.id for job in desk.take(1)] == ids[3:]


def test_a_retried_job_is_queued_again(desk):
    job_id = desk.send(fair("a"))
    desk.end(desk.take_this(job_id), FINAL)
    desk.store.retry([job_id], desk.now, "me")
    assert states(desk, job_id) == "q"
    desk.take_this(job_id)


def test_more_jobs_than_one_call_examines_all_run(desk):
    ids = send(desk, *(fair(f"t{n % 7}") for n in range(1_200)))
    taken = []
    for _ in range(40):
        jobs = desk.take(100)
        taken += [job.id for job in jobs]
        desk.store.finish([transition(job, COMPLETED, desk.now) for job in jobs])
    assert sorted(taken) == sorted(ids)


def test_the_meters_of_a_queue_tell_where_it_is(desk):
    desk.send(fair("a"))
    desk.take(1)
    assert desk.store.meters(["fair\ndefault", "fair\ndefault\na", "fair\nnone"]) == {
        "fair\ndefault": desk.now, "fair\ndefault\na": desk.now,
    }  # fmt: skip


# aging ------------------------------------------------------------------------------------------------------------
def aged(priority, worth=1_000):
    return ruled({"aged": [priority, worth]})


def test_a_higher_priority_runs_first_among_jobs_of_the_same_age(desk):
    low, high = send(desk, aged(0), aged(5))
    assert [job.id for job in desk.take(9)] == [high, low]


def test_a_job_that_has_waited_long_runs_before_a_higher_priority(desk):
    old = desk.send(aged(0))
    desk.clock.advance("4s")
    middle = desk.send(aged(5))
    desk.clock.advance("2s")
    new = desk.send(aged(5))
    assert [job.id for job in desk.take(9)] == [middle, old, new]


def test_aging_and_turns_work_together(desk):
    both = {"fair": ["default", "a", 1], "aged": [2, SECOND]}
    plain = {"fair": ["default", "b", 1], "aged": [0, SECOND]}
    low, high = send(desk, ruled(plain), ruled(both))
    assert [job.id for job in desk.take(9)] == [high, low]

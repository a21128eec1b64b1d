"""What operators set on types and queues holds for new jobs: overrides, limits, a type that is disabled, a queue that is full."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from mainstay.core.clock import SECOND
from mainstay.core.errors import QueueFull, TypeDisabled
from mainstay.core.job import Rule, TypeInfo
from mainstay.core.outcome import COMPLETED
from mainstay.stores.sql import enqueue as sql_enqueue
from tests.contract.building import FAILED, FINAL, draft, keyed, transition
from tests.contract.ruled import Operator, fair, limited, send, states


@pytest.fixture
def operator(desk):
    return Operator(desk)


def full(desk, *drafts):
    """The error for drafts that a full queue refuses."""
    with pytest.raises(QueueFull) as caught:
        desk.store.enqueue(list(drafts) or [draft()], desk.now)
    return caught.value


# types ------------------------------------------------------------------------------------------------------------
def test_a_disabled_type_takes_no_jobs(desk, operator):
    operator.set("type", "work", set={"disabled": True})
    good = draft("other")
    with pytest.raises(TypeDisabled, match="work is disabled"):
        desk.store.enqueue([good, draft()], desk.now)
    assert desk.store.get(good.id) is None
    desk.send(draft("other"))
    operator.remove("type", "work")
    desk.add()


def test_what_operators_set_on_a_type_holds_unless_the_producer_chose_it(desk, operator):
    policy = {"priority": 0, "max_attempts": 25, "timeout": 300_000}
    desk.store.register_types([TypeInfo("work", "default", "work()", policy, desk.now)])
    operator.set("type", "work", set={"priority": 7, "max_attempts": 2})
    usual, chosen = desk.job(desk.send(draft(max_attempts=25))), desk.job(desk.send(draft(max_attempts=3, priority=1)))
    assert (usual.priority, usual.max_attempts) == (7, 2)
    assert (chosen.priority, chosen.max_attempts) == (1, 3)


def test_a_limit_that_is_set_on_a_type_holds_for_new_jobs(desk, operator):
    plain = desk.add()
    operator.set("type", "work", set={"limits": [{"name": "work", "key": "tenant", "running": 1}]})
    ids = send(desk, draft(tenant="a"), draft(tenant="a"), draft(tenant="b"))
    assert states(desk, plain, *ids) == "qqbq"


def test_a_change_of_a_rule_is_seen_by_the_next_enqueue(desk, operator):
    for priority in (1, 2, 3):
        desk.store.register_types([TypeInfo("work", "default", "work()", {"priority": 0}, desk.now)])
        operator.set("type", "work", set={"priority": priority})
        assert desk.job(desk.add()).priority == priority
    operator.remove("type", "work")
    assert desk.job(desk.add()).priority == 0


def test_another_process_sees_a_changed_rule_too(desk, another, operator):
    desk.store.register_types([TypeInfo("work", "default", "work()", {"priority": 0}, desk.now)])
    for priority in (1, 2):
        operator.set("type", "work", set={"priority": priority})
        one = draft()
        another.enqueue([one], desk.now)
        assert desk.job(one.id).priority == priority


def test_a_draft_that_is_sent_again_with_rules_changes_nothing(desk, operator):
    operator.set("queue", "default", set={"running": 1, "max_depth": 2})
    one, two = draft(), draft()
    send(desk, one, two)
    assert desk.store.enqueue([one, two], desk.now) == [(one.id, True), (two.id, True)]
    assert states(desk, one.id, two.id) == "qb"


# queues -----------------------------------------------------------------------------------------------------------
def test_a_limit_of_a_queue_holds_for_its_new_jobs(desk, operator):
    operator.set("queue", "default", set={"running": 2})
    ids = send(desk, *(draft() for _ in range(3)), draft(queue="slow"))
    assert states(desk, *ids) == "qqbq"
    assert desk.job(ids[2]).waits == "queue:default\n"


def test_what_code_declares_of_a_queue_holds_until_an_operator_sets_it(desk, operator):
    desk.store.declare_rules([Rule("queue", "default", {"max_depth": 1}, "", desk.now)])
    desk.add()
    assert full(desk).max_depth == 1
    operator.set("queue", "default", declared={"max_depth": 1}, set={"max_depth": 2})
    desk.add()
    assert full(desk).max_depth == 2


def test_a_fair_queue_and_one_that_ages_give_their_jobs_rules(desk, operator):
    operator.set("queue", "default", set={"fair": True, "weights": {"a": 2}})
    operator.set("queue", "slow", set={"aging": 100})
    one, two = send(desk, draft(tenant="a/b"), draft(queue="slow", priority=5))
    assert desk.job(one).rules == '{"fair":["default","a",2]}'
    assert (desk.job(two).rules, desk.job(two).priority) == ('{"aged":[5,100]}', 0)


# depth ------------------------------------------------------------------------------------------------------------
def test_a_full_queue_refuses_jobs_and_nothing_is_written(desk, operator):
    operator.set("queue", "default", set={"max_depth": 3})
    send(desk, draft(), draft())
    two = [draft(), draft()]
    error = full(desk, *two)
    assert (error.queue, error.depth, error.max_depth, error.how) == ("default", 2, 3, "raise")
    assert "default" in str(error)
    assert desk.store.get_many([each.id for each in two]) == []
    desk.add()
    desk.send(draft(queue="slow"))
    assert full(desk).depth == 3


def test_queued_scheduled_and_blocked_jobs_count_and_others_do_not(desk, operator):
    operator.set("queue", "default", set={"max_depth": 3})
    ids = send(desk, limited(), limited(), draft(run_at=desk.now + SECOND))
    assert states(desk, *ids) == "qbs"
    full(desk)
    job = desk.take_this(ids[0])
    assert states(desk, ids[0]) == "r"
    fourth = desk.add()
    full(desk)
    desk.end(job, FAILED)  # it waits again, whether there is room or not
    assert full(desk).depth == 4
    desk.store.cancel([fourth], desk.now, "me")
    desk.store.delete([ids[2]], desk.now, "me")
    desk.add()
    full(desk)


@pytest.mark.parametrize("outcome", [COMPLETED, FINAL, COMPLETED._replace(result="1")])
def test_jobs_that_end_make_room(desk, operator, outcome):
    operator.set("queue", "default", set={"max_depth": 2})
    for _ in range(5):
        jobs = send(desk, draft(), draft())
        full(desk)
        taken = desk.take(2)
        assert [job.id for job in taken] == jobs
        desk.store.finish([transition(job, outcome, desk.now) for job in taken])


def test_jobs_that_were_there_before_the_bound_count(desk, operator):
    ids = send(
        desk, draft(), draft(run_at=desk.now + SECOND), limited(), limited(), draft(queue="slow"), draft("other")
    )
    desk.end(desk.take_this(ids[0]))
    operator.set("queue", "default", set={"max_depth": 5})
    desk.add()
    assert full(desk).depth == 5


def test_many_jobs_that_were_there_before_are_counted(desk, operator):
    send(desk, *(draft() for _ in range(1_300)))
    send(desk, *(draft(run_at=desk.now + SECOND) for _ in range(1_300)))
    operator.set("queue", "default", set={"max_depth": 2_601})
    desk.add()
    assert full(desk).depth >= 2_601


@pytest.mark.slow
def test_jobs_of_other_queues_do_not_hide_those_that_count(desk, operator):
    for _ in range(6):
        send(desk, *(draft(run_at=desk.now + SECOND, queue="slow") for _ in range(10_000)))
    send(desk, draft(run_at=desk.now + SECOND * 2), draft(run_at=desk.now + SECOND * 2))
    operator.set("queue", "default", set={"max_depth": 2})
    assert full(desk).depth == 2


def test_what_others_add_while_a_job_is_refused_counts(desk, operator, monkeypatch):
    operator.set("queue", "default", set={"max_depth": 100})  # it is counted again after a millisecond
    send(desk, *(draft() for _ in range(100)))
    desk.end(desk.take()[0])
    desk.clock.advance("1s")

    def meanwhile(*given):
        monkeypatch.undo()
        desk.add()
        sql_enqueue.keep_count(*given)

    # This one first: it imports the module, which must find the function itself, or would keep `meanwhile` for the tests after this one.
    monkeypatch.setattr("mainstay.stores.postgres.enqueue.keep_count", meanwhile)
    monkeypatch.setattr(sql_enqueue, "keep_count", meanwhile)
    full(desk, draft(), draft())
    if desk.store.counts(1_000)[0].jobs == 99:  # on Redis nothing is kept
        desk.add()
    full(desk)


@pytest.mark.engines("postgres")
def test_two_that_count_a_queue_for_the_first_time_count_each_other(desk, another, operator):
    operator.set("queue", "default", set={"max_depth": 100})
    barrier = Barrier(2)

    def enqueue(store):
        barrier.wait()
        return store.enqueue([draft() for _ in range(60)], desk.now)

    for _ in range(5):
        with ThreadPoolExecutor(2) as pool:
            made = [pool.submit(enqueue, store) for store in (desk.store, another)]
        assert sorted(type(each.exception()) is QueueFull for each in made) == [False, True]
        desk.store.delete(list(desk.store.search([], 100, None, desk.now).ids), desk.now, "me")
        operator.set("queue", "default", set={"max_depth": 100})


def test_a_bound_can_be_changed_and_removed(desk, operator):
    operator.set("queue", "default", set={"max_depth": 1})
    desk.add()
    full(desk)
    operator.set("queue", "default", set={"max_depth": 2})
    desk.add()
    full(desk)
    operator.remove("queue", "default")
    send(desk, *(draft() for _ in range(5)))
    operator.set("queue", "default", set={"max_depth": 7})
    assert full(desk).depth == 7


def test_a_job_that_is_there_already_needs_no_room(desk, operator):
    operator.set("queue", "default", set={"max_depth": 1})
    one = keyed("k")
    desk.send(one)
    assert desk.store.enqueue([one], desk.now) == [(one.id, True)]
    full(desk)


def test_a_caller_may_wait_for_room(desk, operator):
    operator.set("queue", "default", set={"max_depth": 1, "when_full": "wait", "wait": 5_000})
    job = desk.run()
    desk.add()
    error = full(desk)
    assert (error.how, error.wait) == ("wait", 5_000)
    desk.end(job)


def test_a_queue_sheds_low_priorities(desk, operator):
    operator.set("queue", "default", set={"max_depth": 1, "when_full": "shed", "below": 0, "wait": 100})
    desk.add()
    assert full(desk, draft(priority=-1)).how == "shed"
    error = full(desk, draft(priority=0))
    assert (error.how, error.wait) == ("wait", 100)
    operator.set("queue", "default", set={"max_depth": 1, "when_full": "shed", "below": 0})
    assert full(desk, draft(priority=0)).how == "raise"


def test_a_queue_takes_one_in_some(desk, operator):
    operator.set("queue", "default", set={"max_depth": 1, "when_full": "sample", "one_in": 3})
    desk.add()
    found = []
    for _ in range(9):
        try:
            desk.add()
            found.append("taken")
        except QueueFull as error:
            found.append(error.how)
    assert sorted(found) == ["sample"] * 6 + ["taken"] * 3


def test_jobs_that_come_back_are_never_refused(desk, operator):
    ids = send(desk, *(draft() for _ in range(3)))
    jobs = desk.take(3)
    desk.store.finish([transition(job, FINAL, desk.now) for job in jobs])
    operator.set("queue", "default", set={"max_depth": 1})
    desk.add()
    assert set(desk.store.retry(ids, desk.now, "me").values()) == {"queued"}
    assert full(desk).depth == 4


def test_children_are_never_refused(desk, operator):
    parent = desk.run()
    operator.set("queue", "default", set={"max_depth": 1})
    operator.set("type", "child", set={"disabled": True, "limits": [{"name": "child", "key": None, "running": 1}]})
    desk.end(parent, COMPLETED._replace(children=(draft("child"), draft("child"))))
    assert sorted(desk.state(job) for job in desk.children()) == ["blocked", "queued"]
    assert full(desk).depth == 2


def test_fair_jobs_count_like_others(desk, operator):
    operator.set("queue", "default", set={"max_depth": 2, "fair": True})
    send(desk, fair("a"), fair("b"))
    full(desk)

"""Flow control in Redis: bounded work in each call, keys that were lost are mended, a full server goes on, everything moves."""

import functools
import os
import re
from contextlib import ExitStack, closing

import pytest

from mainstay.core.clock import SECOND, ManualClock
from mainstay.core.decide import completed
from mainstay.core.errors import StoreFull
from mainstay.core.job import Rule
from mainstay.core.outcome import COMPLETED
from mainstay.core.rules import slot
from mainstay.stores import open_store
from mainstay.stores.move import move
from tests.contract.building import WORKER, Desk, draft, transition
from tests.contract.invariants import check
from tests.contract.moving import digests, silent
from tests.contract.ruled import Operator, after, held, limited, rated, ruled, send, states, watched
from tests.servers import redis
from tests.stores.test_redis_scripts import cost

pytestmark = pytest.mark.engines("redis")
MAIL = slot("mail", "")


@pytest.fixture(scope="module")
def server_of():
    """Servers that only this test uses: their commands are counted, and their memory is limited."""
    with ExitStack() as stack:
        started = functools.cache(lambda engine: stack.enter_context(redis.Redis(engine)).url())
        yield lambda engine: os.environ.get(redis.VARIABLE) or started(engine)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def server_url(engine, server_of):
    return server_of(engine)


@pytest.fixture
def store(server_url, clock):
    with redis.prefix(server_url) as url, open_store(url, clock) as store:
        yield store
        check(store, clock.now())


@pytest.fixture
def desk(store, clock):
    return Desk(store, clock)


def keys(store, *command):
    """Run a command on a key, as somebody does by hand."""
    return store.server.read(*command)


# bounded work -----------------------------------------------------------------------------------------------------
def test_an_enqueue_examines_all_its_jobs(desk):
    ids = send(desk, *(limited(str(n)) for n in range(1_200)))
    assert states(desk, *ids) == "q" * 1_200


def test_the_end_of_a_parent_reads_all_parents_only_if_the_child_may_go_on(desk):
    parents = [desk.run() for _ in range(60)]
    desk.send(after(*(parent.id for parent in parents), type="other"))
    before = calls(desk.store, "zrangebylex")
    for parent in parents[:30]:
        desk.end(parent)
    assert calls(desk.store, "zrangebylex") - before == 30, (
        "one for the children of each, none for the parents of the child"
    )


def calls(store, command):
    """How often the server has run a command."""
    stats = store.server.command("INFO", "commandstats")
    found = re.search(f"cmdstat_{command}:calls=(\\d+)", stats if isinstance(stats, str) else str(stats))
    return int(found[1]) if found else 0


def test_other_calls_examine_so_many_jobs_at_most(desk):
    Operator(desk).pause("type:work")
    ids = send(desk, *(limited(str(n)) for n in range(1_700)))
    assert states(desk, *ids) == "b" * 1_700
    Operator(desk).resume("type:work")
    assert 0 < states(desk, *ids).count("q") <= 1_000
    taken = 0
    for _ in range(50):  # the chore and the claims go on where the change of the rule stopped; how far depends on time
        desk.store.admit(desk.now, 500)
        taken += len(desk.take(1_700))
    assert taken == 1_700


@pytest.mark.parametrize("waiting", [50, 3_000])
def test_a_long_line_does_not_make_a_finish_dearer(desk, waiting):
    send(desk, *(limited() for _ in range(waiting)))

    def work():
        for job in desk.take(1):
            desk.end(job)

    assert cost(desk.store, work) < 80


def test_blocked_jobs_do_not_make_a_claim_of_others_dearer(desk):
    desk.send(limited(type="other"))
    send(desk, *(draft() for _ in range(100)))
    alone = cost(desk.store, lambda: desk.take(5))
    send(desk, *(limited(type="other") for _ in range(3_000)))
    assert cost(desk.store, lambda: desk.take(5)) == alone


def test_plain_jobs_cost_the_same_beside_rules(desk):
    send(desk, *(draft() for _ in range(100)))
    alone = cost(desk.store, lambda: desk.store.enqueue([draft()], desk.now))
    Operator(desk).set("limit", "mail", set={"running": 2})
    send(desk, limited(type="other"))
    assert cost(desk.store, lambda: desk.store.enqueue([draft()], desk.now)) == alone


def test_a_pause_of_many_holders_of_one_slot_blocks_them_all(desk):
    ids = send(desk, *(limited(running=2_000) for _ in range(1_300)))
    for _ in range(3):
        desk.claim(0)
    assert set(states(desk, *ids)) == {"q"}
    Operator(desk).pause("type:work")
    assert set(states(desk, *ids)) == {"b"}
    Operator(desk).resume("type:work")
    for _ in range(3):
        desk.claim(0)
    assert set(states(desk, *ids)) == {"q"}


# mending ----------------------------------------------------------------------------------------------------------
def test_a_hold_without_a_job_is_removed_and_the_next_one_let_in(desk):
    first, second = send(desk, limited(), limited())
    desk.end(desk.take_this(first))
    keys(desk.store, "ZADD", f"hold:{MAIL}", -1, "0" * 12 + "01GONE")
    third = desk.send(limited())
    desk.end(desk.take_this(second))
    assert states(desk, third) == "b"
    assert desk.store.admit(desk.now, 100) > 0
    assert (states(desk, third), held(desk)) == ("q", {MAIL: (1, 0)})
    assert desk.store.admit(desk.now, 100) == 0


def test_a_hold_of_a_job_that_other_code_has_ended_is_removed(desk):
    first, second = send(desk, limited(), limited())
    desk.end(desk.take_this(first))
    job = desk.store.get(first)
    number = keys(desk.store, "ZRANGE", "ids", 0, -1).index(job.id)
    assert number == 0
    keys(desk.store, "ZADD", f"hold:{MAIL}", -1, f"{1:012x}{first}")
    desk.store.admit(desk.now, 100)
    assert (states(desk, second), held(desk)) == ("q", {MAIL: (1, 0)})


def test_a_line_whose_wake_up_was_lost_is_looked_at(desk):
    first, second = send(desk, limited(), limited())
    job = desk.take_this(first)
    keys(desk.store, "ZREM", f"hold:{MAIL}", f"{1:012x}{first}")
    assert desk.store.admit(desk.now, 100) == 1
    assert states(desk, second) == "q"
    desk.end(job)
    assert held(desk) == {MAIL: (1, 0)}


def test_a_child_whose_wake_up_was_lost_is_looked_at(desk):
    parent = desk.run()
    child = desk.send(after(parent.id))
    desk.store.server.command("EVAL", "return redis.call('HDEL', KEYS[1], 'x')", 1, desk.store.server.prefix + "ending")
    keys(desk.store, "ZREM", "after", f"p{parent.id}\0{child}")
    desk.end(parent)
    assert states(desk, child) == "b"
    desk.store.admit(desk.now, 100)
    assert states(desk, child) == "q"


def test_meters_that_say_nothing_any_more_are_forgotten(desk):
    for n in range(5):
        desk.end(desk.take_this(desk.send(rated(str(n)))))
    assert len(keys(desk.store, "HKEYS", "meter")) == 5
    desk.clock.advance("1h")
    desk.join()
    desk.send(limited())
    desk.store.admit(desk.now, 100)
    assert keys(desk.store, "HKEYS", "meter") == []


def test_names_of_lines_that_are_empty_are_forgotten(desk):
    for n in range(5):
        desk.end(desk.take_this(desk.send(limited(str(n)))))
    desk.store.admit(desk.now, 100)
    assert keys(desk.store, "ZCARD", "lines") == 0


# counting ---------------------------------------------------------------------------------------------------------
def test_jobs_that_come_and_go_while_a_queue_is_counted_are_counted_once(desk, monkeypatch):
    """The first count goes by the ids; each call counts 500 jobs, and others go on in between."""
    ids = send(desk, *(draft() for _ in range(2_200)))
    others = send(desk, *(limited() for _ in range(3)))
    run, calls = desk.store.server.run, []

    def between(name, values):
        reply = run(name, values)
        if name == "admit":
            calls.append(name)
            monkeypatch.setattr(desk.store.server, "run", run)
            desk.store.cancel([ids[len(calls)], ids[-len(calls)]], desk.now, "me")
            send(desk, draft())
            for job in desk.take(3):
                desk.end(job)
            monkeypatch.setattr(desk.store.server, "run", between)
        return reply

    monkeypatch.setattr(desk.store.server, "run", between)
    Operator(desk).set("queue", "default", set={"max_depth": 10_000})
    monkeypatch.setattr(desk.store.server, "run", run)
    assert len(calls) >= 3
    assert keys(desk.store, "EXISTS", "counting") == 0
    assert others  # the checks after the test compare the depth with the jobs


# a full server ----------------------------------------------------------------------------------------------------
def test_a_full_server_refuses_new_jobs_with_rules_and_goes_on_with_the_others(desk, server_url):
    first, second, *_ = send(desk, limited(), limited(), rated(), rated(), watched())
    job = desk.take_this(first)
    from redis import Redis

    with closing(Redis.from_url(server_url)) as client:
        client.config_set("maxmemory", 1)
        try:
            new = [limited("new"), rated("new"), after(second)]
            with pytest.raises(StoreFull, match="maxmemory"):
                desk.store.enqueue(new, desk.now)
            assert desk.store.get_many([each.id for each in new]) == []
            claims = desk.claim(9, finishing=[completed(job, desk.now)])
            assert (claims.verdicts, second in [each.id for each in claims.jobs]) == (["stored"], True)
            Operator(desk).pause("all")
            assert desk.store.admit(desk.now, 100) == 0
            Operator(desk).resume("all")
            desk.store.push_rate(["api\n\nrate"], desk.now, SECOND)
            assert set(desk.store.finish([completed(each, desk.now) for each in claims.jobs])) == {"stored"}
        finally:
            client.config_set("maxmemory", 0)


# moving -----------------------------------------------------------------------------------------------------------
def test_jobs_with_rules_move_with_what_holds_them(desk, server_url, clock):
    operator = Operator(desk)
    operator.set("queue", "default", set={"max_depth": 50})
    operator.set("limit", "mail", set={"running": 2})
    running = desk.take_this(desk.send(limited(priority=9)))
    parent = desk.add(priority=-5)
    ids = send(
        desk, limited(), limited(), limited(), rated(), rated(), after(parent), watched(start_by=desk.now + SECOND)
    )
    desk.store.set_setting("colour", "blue", "What colour.", 7)
    desk.store.deregister(WORKER)
    before, as_they_were = digests(desk.store), states(desk, *ids)
    with redis.prefix(server_url) as url, open_store(url, clock) as target:
        move(desk.store, target, silent, batch=3)
        assert digests(target) == before
        (orphan,) = target.orphans(clock.now(), 0, 9)
        there = Desk(target, clock)
        assert states(there, *ids) == as_they_were == "qbbqbbq"
        assert (there.job(ids[-1]).start_by, there.job(ids[1]).waits) == (desk.now + SECOND, MAIL)
        assert held(there) == held(desk)
        check(target, clock.now())
        assert orphan.job.rules == running.rules
        target.finish([completed(orphan.job, clock.now())])
        assert states(there, *ids) == "qqbqbbq"
        for job in there.take(20):
            there.end(job)
        assert states(there, ids[5]) in ("q", "c")


def test_old_records_take_part(desk):
    """A job of an older schema has a short record: it can be a parent, and be replaced by a draft with rules."""
    old = desk.add(key="k", lock="work:k", priority=5)
    child = desk.send(after(old, type="child"))
    newer = limited(key="k", lock="work:k", on_conflict="replace")
    desk.store.enqueue([newer], desk.now)
    assert states(desk, old, child) == "qb"
    desk.end(desk.take_this(old))
    assert states(desk, old, child) == "cq"


def test_rules_of_code_are_merged_while_others_change_them(desk):
    store = desk.store
    store.declare_rules(
        [Rule("queue", "default", {"fair": True}, "", desk.now), Rule("limit", "mail", {"running": 2}, "", desk.now)]
    )
    store.declare_rules([Rule("limit", "mail", {"running": 2}, "", desk.now + 5)])
    assert [(rule.name, rule.value, rule.at) for rule in store.rules(["queue", "limit"])] == [
        ("mail", {"declared": {"running": 2}}, desk.now), ("default", {"declared": {"fair": True}}, desk.now),
    ]  # fmt: skip
    assert desk.job(desk.send(draft(tenant="a"))).rules == '{"fair":["default","a",1]}'


def test_a_limit_of_a_queue_that_an_operator_raises_holds_for_waiting_jobs_too(desk):
    operator = Operator(desk)
    operator.set("queue", "default", set={"running": 1})
    ids = send(desk, draft(), draft(), draft())
    operator.set("queue", "default", set={"running": 2})
    assert states(desk, *ids) == "qqb"
    assert desk.job(ids[2]).rules == ruled({"limits": [["queue:default", "", 1]]}).rules


# the variants of hot scripts --------------------------------------------------------------------------------------
def test_a_store_without_rules_runs_the_plain_scripts(desk):
    job = desk.run()
    desk.claim(1, finishing=[completed(job, desk.now)])
    assert not desk.store.flowing
    assert keys(desk.store, "EXISTS", "flow") == 0


@pytest.mark.parametrize("born", [limited, rated, watched])
def test_the_first_job_with_rules_may_be_the_child_of_a_plain_job(desk, born):
    job = desk.run()
    desk.claim(0, finishing=[transition(job, COMPLETED._replace(children=(born(type="child"),)), desk.now)])
    assert [desk.state(each) for each in desk.children()] == ["queued"]
    (child,) = desk.take(1, wants={"default": ["child"]})
    assert desk.end(child) == "stored"


def test_a_worker_learns_of_rules_that_others_bring(desk, clock):
    """Its claims run the plain script until then; one that is asked for as it waits tells it too."""
    job = desk.run()
    with open_store(desk.store.url, clock) as other:
        other.enqueue([limited(), limited()], clock.now())
    assert not desk.store.flowing
    assert desk.end(job) == "stored"
    assert desk.store.flowing
    first, second = desk.take(1), desk.take(1)
    assert (len(first), len(second)) == (1, 0)

"""Limits: so many jobs of a name and key are queued or running, the rest wait in line, and every end lets the next one in."""

from contextlib import suppress
from unittest.mock import Mock

import pytest

from mainstay import Mainstay
from mainstay.core.clock import SECOND
from mainstay.core.decide import decide
from mainstay.core.job import SlotInfo
from mainstay.core.outcome import COMPLETED, RELEASED, Outcome
from mainstay.core.rules import slot
from tests.contract.building import CANCELLED, FAILED, FINAL, LEASE, REVIEW, WORKER, draft, keyed, transition
from tests.contract.ruled import Operator, held, limited, ruled, send, states

MAIL = slot("mail", "")


def test_a_job_with_room_is_queued_and_one_without_waits_in_line(desk):
    first, second = desk.send(limited()), desk.send(limited())
    assert states(desk, first, second) == "qb"
    assert desk.job(first).rules == '{"limits":[["mail","",1]]}'
    assert (desk.job(first).waits, desk.job(second).waits) == (None, MAIL)
    assert held(desk) == {MAIL: (1, 1)}


def test_jobs_that_come_together_enter_in_their_order(desk):
    ids = send(desk, *(limited(running=2) for _ in range(5)))
    assert states(desk, *ids) == "qqbbb"
    assert [job.id for job in desk.take(9)] == ids[:2]
    assert desk.take(9) == []


def test_keys_have_limits_of_their_own(desk):
    ids = send(desk, *(limited(key) for key in ("a", "b", "a", "b", "c")))
    assert states(desk, *ids) == "qqbbq"
    assert held(desk) == {slot("mail", "a"): (1, 1), slot("mail", "b"): (1, 1), slot("mail", "c"): (1, 0)}


def test_a_claimed_job_carries_its_rules(desk):
    desk.send(limited())
    desk.add()
    assert [job.rules for job in desk.take(2)] == ['{"limits":[["mail","",1]]}', None]
    assert {job.rules for job in desk.store.claimed_by(WORKER)} == {'{"limits":[["mail","",1]]}', None}
    desk.outlive()
    found = desk.store.orphans(desk.now, 0, 9)
    assert {orphan.job.rules for orphan in found} == {'{"limits":[["mail","",1]]}', None}


@pytest.mark.parametrize(
    ("outcome", "state"),
    [(COMPLETED, "c"), (COMPLETED._replace(result="1"), "c"), (FINAL, "d"), (REVIEW, "v"), (CANCELLED, "x"), (FAILED, "s"),
     (Outcome("snoozed", delay=SECOND), "s")],
    ids=["completed", "result", "dead", "review", "cancelled", "retrying", "snoozed"],
)  # fmt: skip
def test_every_end_of_a_run_lets_the_next_one_in(desk, outcome, state):
    first, second, third = send(desk, limited(), limited(), limited())
    assert desk.end(desk.take_this(first), outcome) == "stored"
    assert states(desk, first, second, third) == state + "qb"
    assert held(desk) == {MAIL: (1, 1)}


def test_a_claim_that_finishes_takes_the_next_one(desk):
    first, second = send(desk, limited(), limited())
    job = desk.take_this(first)
    claims = desk.claim(1, finishing=[transition(job, COMPLETED, desk.now)])
    assert [job.id for job in claims.jobs] == [second]


def test_a_released_job_comes_back_before_those_in_line(desk):
    first, second = send(desk, limited(), limited())
    assert desk.end(desk.take_this(first), RELEASED) == "stored"
    assert states(desk, first, second) == "qb"
    assert desk.take_this(first).attempt == 1


def test_a_verdict_is_the_same_when_it_is_sent_again(desk):
    first, other = send(desk, limited(), limited(priority=5))
    assert states(desk, first, other) == "bq"
    job = desk.take_this(other)
    released = decide(job, RELEASED, desk.now, lambda: 0.0)
    assert desk.store.finish([released]) == ["stored"]
    assert desk.store.finish([released]) == ["already"]


def test_a_crashed_job_is_queued_again_within_its_limit(desk):
    first, second = send(desk, limited(), limited())
    job = desk.take_this(first)
    desk.end(job, Outcome("crashed", error="WorkerLost: gone"))
    assert states(desk, first, second) == "qb"


@pytest.mark.parametrize("verb", ["cancel", "delete"])
@pytest.mark.parametrize("state", ["queued", "blocked"])
def test_operators_that_end_a_waiting_job_free_its_place(desk, verb, state):
    first, second, third = send(desk, limited(), limited(), limited())
    gone = first if state == "queued" else second
    getattr(desk.store, verb)([gone], desk.now, "me")
    assert states(desk, *(job for job in (first, second, third) if job != gone)) == "qb"[
        : 2 if state == "queued" else 1
    ] + ("" if state == "queued" else "b")
    assert held(desk) == {MAIL: (1, 1)}


def test_a_retried_job_stands_in_line_again(desk):
    first, second = send(desk, limited(), limited())
    desk.end(desk.take_this(first), FINAL)
    desk.clock.advance("1s")
    assert desk.store.retry([first], desk.now, "me") == {first: "queued"}
    assert states(desk, first, second) == "bq"
    assert desk.job(first).waits == MAIL
    desk.end(desk.take_this(second))
    assert states(desk, first) == "q"


def test_an_approved_review_stays_out_and_one_that_runs_again_stands_in_line(desk):
    first, second = send(desk, limited(), limited())
    desk.end(desk.take_this(first), REVIEW)
    assert states(desk, first, second) == "vq"
    desk.store.retry([first], desk.now, "me")
    assert states(desk, first, second) == "bq"


def test_a_job_that_is_due_later_takes_a_place_when_it_is_due(desk):
    later = desk.send(limited(run_at=desk.now + SECOND))
    now = desk.send(limited())
    assert (states(desk, later, now), desk.job(later).waits) == ("sq", None)
    assert held(desk) == {MAIL: (1, 0)}
    desk.clock.advance("2s")
    desk.promote()
    assert states(desk, later, now) == "bq"
    desk.end(desk.take_this(now))
    assert states(desk, later) == "q"


def test_a_higher_priority_takes_the_place_of_a_queued_job(desk):
    low, high = desk.send(limited()), desk.send(limited(priority=5))
    assert states(desk, low, high) == "bq"
    assert desk.job(low).waits == MAIL
    same = desk.send(limited(priority=5))
    assert states(desk, low, high, same) == "bqb"


def test_a_running_job_keeps_its_place(desk):
    low = desk.send(limited())
    job = desk.take_this(low)
    high = desk.send(limited(priority=5))
    assert states(desk, low, high) == "rb"
    desk.end(job)
    assert states(desk, high) == "q"


def test_the_lowest_and_latest_of_the_queued_jobs_gives_way(desk):
    ids = send(desk, limited(running=3, priority=2), limited(running=3), limited(running=3))
    high = desk.send(limited(running=3, priority=1))
    assert states(desk, *ids, high) == "qqbq"


@pytest.mark.engines("sqlite", "memory", "postgres")
def test_of_two_that_come_together_one_takes_the_room_and_one_a_place(desk):
    low = desk.send(limited(running=2, priority=-5))
    ids = send(desk, limited(running=2), limited(running=2))
    assert states(desk, low, *ids) == "bqq"


@pytest.mark.engines("sqlite", "memory", "postgres")
def test_a_job_behind_others_in_the_line_of_a_large_limit_counts_no_holders(desk, monkeypatch):
    send(desk, *(limited(running=1_000) for _ in range(1_001)))
    asked, real = [], type(desk.store.dialect).statement
    monkeypatch.setattr(
        type(desk.store.dialect), "statement", lambda own, name, **given: asked.append(name) or real(own, name, **given)
    )
    assert states(desk, desk.send(limited(running=1_000))) == "b"
    assert {"admit_holders", "admit_lowest"}.isdisjoint(asked)
    assert states(desk, desk.send(limited(running=1_000, priority=1))) == "q"
    assert asked.count("admit_holders") == asked.count("admit_lowest") == 1


@pytest.mark.parametrize("on_conflict", ["existing", "replace"])
def test_a_job_of_a_large_limit_whose_key_another_one_has(desk, on_conflict):
    def one():
        return ruled({"limits": [["mail", "", 1_000]]}, key="k", lock="work:k", on_conflict=on_conflict)

    send(desk, *(limited(running=1_000) for _ in range(1_001)))
    (job,) = send(desk, one())
    assert send(desk, one()) == [job]
    assert states(desk, job) == "b"


@pytest.mark.engines("sqlite", "memory", "postgres")
def test_holders_of_a_limit_are_counted_once_for_a_batch_and_read_only_if_there_is_no_room(desk, monkeypatch):
    asked, real = [], type(desk.store.dialect).statement
    monkeypatch.setattr(
        type(desk.store.dialect), "statement", lambda own, name, **given: asked.append(name) or real(own, name, **given)
    )
    send(desk, *(limited(running=1_000) for _ in range(600)))
    assert (asked.count("admit_holders"), asked.count("admit_lowest")) == (1, 0)
    send(desk, *(limited(running=1_000) for _ in range(600)))
    assert (asked.count("admit_holders"), asked.count("admit_lowest")) == (2, 1)


def test_those_in_line_enter_by_priority_and_then_in_order(desk):
    first = desk.send(limited())
    job = desk.take_this(first)
    waiting = send(desk, limited(), limited(priority=2), limited(), limited(priority=9))
    order = []
    for _ in waiting:
        desk.end(job)
        (job,) = desk.take(9)
        order.append(waiting.index(job.id))
    assert order == [3, 1, 0, 2]


def test_a_job_needs_room_in_all_its_limits(desk):
    both = {"limits": [["account", "x", 1], ["mail", "", 1]]}
    mail = desk.send(limited())
    two = desk.send(ruled(both))
    assert (states(desk, mail, two), desk.job(two).waits) == ("qb", MAIL)
    account = desk.send(limited("x", name="account"))
    assert states(desk, account) == "q", "a job that waits holds nothing"
    desk.end(desk.take_this(mail))
    assert (states(desk, two), desk.job(two).waits) == ("b", slot("account", "x"))
    later = desk.send(limited())
    assert states(desk, later) == "q"
    desk.end(desk.take_this(account))
    assert (states(desk, two), desk.job(two).waits) == ("b", MAIL)
    desk.end(desk.take_this(later))
    assert states(desk, two) == "q"
    assert held(desk) == {MAIL: (1, 0), slot("account", "x"): (1, 0)}


def test_one_holder_of_two_full_limits_gives_way_once(desk):
    both = {"limits": [["account", "x", 1], ["mail", "", 1]]}
    low = desk.send(ruled(both))
    high = desk.send(ruled(both, priority=3))
    assert states(desk, low, high) == "bq"
    assert held(desk) == {slot("account", "x"): (1, 1), MAIL: (1, 0)}


def test_a_holder_that_gives_way_frees_its_other_places(desk):
    both = {"limits": [["account", "x", 1], ["mail", "", 1]]}
    low, other = desk.send(ruled(both)), desk.send(limited("x", name="account"))
    assert states(desk, low, other) == "qb"
    high = desk.send(limited(priority=3))
    assert states(desk, low, high, other) == "bqq"


def test_a_full_key_does_not_hold_back_the_others_in_a_shared_line(desk):
    def of(tenant):
        return ruled({"limits": [["all", "", 3], ["tenant", tenant, 1]]})

    ids = send(desk, of("a"), of("a"), of("a"), of("b"), of("c"), of("d"))
    assert states(desk, *ids) == "qbbqqb"
    desk.end(desk.take_this(ids[0]))
    assert states(desk, *ids) == "cqbqqb"


def test_a_hundred_jobs_of_one_key_run_one_by_one(desk):
    ids = send(desk, *(limited() for _ in range(100)))
    for job_id in ids:
        (job,) = desk.take(9)
        assert job.id == job_id
        desk.end(job)
    assert held(desk) == {}


def test_more_jobs_than_one_call_examines_all_get_in(desk):
    ids = send(desk, *(limited(str(n)) for n in range(1_200)))
    taken = []
    for _ in range(60):
        jobs = desk.take(100)
        taken += [job.id for job in jobs]
        desk.store.finish([transition(job, COMPLETED, desk.now) for job in jobs])
    assert sorted(taken) == sorted(ids)
    assert held(desk) == {}


def test_the_rest_of_a_large_batch_is_not_forgotten(desk):
    """A claim says so at once if jobs remain to be examined."""
    ids = send(desk, *(limited(str(n)) for n in range(1_200)))
    queued = states(desk, *ids).count("q")
    if queued < 1_200:
        assert desk.claim(1).wait is None or desk.claim(2_000).wait == 0


def test_plain_jobs_pass_those_that_wait(desk):
    send(desk, limited(), limited(), limited())
    plain = desk.add()
    assert plain in [job.id for job in desk.take(9)]


# what operators set -----------------------------------------------------------------------------------------------
def test_a_raised_limit_lets_more_in_at_once(desk):
    ids = send(desk, *(limited() for _ in range(4)))
    Operator(desk).set("limit", "mail", set={"running": 3})
    assert states(desk, *ids) == "qqqb"
    assert states(desk, desk.send(limited())) == "b"


def test_a_lowered_limit_blocks_the_last_of_the_queued_jobs(desk):
    ids = send(desk, *(limited(running=4, priority=p) for p in (0, 5, 0, 0)))
    assert states(desk, *ids) == "qqqq"
    desk.take_this(ids[1])
    Operator(desk).set("limit", "mail", set={"running": 2})
    assert states(desk, *ids) == "qrbb"
    assert {desk.job(job).waits for job in ids[2:]} == {MAIL}
    assert held(desk) == {MAIL: (2, 2)}


def test_nobody_enters_while_more_run_than_a_lowered_limit_permits(desk):
    ids = send(desk, *(limited(running=3) for _ in range(3)))
    jobs = desk.take(3)
    Operator(desk).set("limit", "mail", set={"running": 1})
    urgent = desk.send(limited(running=3, priority=9))
    assert states(desk, *ids, urgent) == "rrrb"
    desk.end(jobs[0])
    desk.end(jobs[1])
    assert states(desk, urgent) == "b"
    desk.end(jobs[2])
    assert states(desk, urgent) == "q"


def test_a_limit_can_be_lifted_and_put_back(desk):
    ids = send(desk, *(limited() for _ in range(3)))
    operator = Operator(desk)
    operator.set("limit", "mail", set={"running": None})
    assert states(desk, *ids) == "qqq"
    operator.remove("limit", "mail")
    assert states(desk, *ids) == "qbb"


def test_what_is_set_goes_over_what_is_declared_and_that_over_what_a_job_carries(desk):
    from mainstay.core.job import Rule

    store = desk.store
    store.declare_rules([Rule("limit", "mail", {"running": 2}, "", desk.now)])
    ids = send(desk, *(limited() for _ in range(4)))
    assert states(desk, *ids) == "qqbb"
    Operator(desk).set("limit", "mail", declared={"running": 2}, set={"running": 3})
    assert states(desk, *ids) == "qqqb"
    store.declare_rules([Rule("limit", "mail", {"running": 1}, "", desk.now)])
    assert states(desk, *ids) == "qqqb"
    (rule,) = store.rules(["limit"])
    assert (rule.kind, rule.name, rule.value) == ("limit", "mail", {"declared": {"running": 1}, "set": {"running": 3}})


def test_rules_are_listed_and_their_changes_are_on_record(desk):
    operator = Operator(desk)
    assert operator.set("limit", "mail", reason="too many", set={"running": 3}) is None
    before = operator.set("limit", "mail", set={"running": 4})
    assert (before.value, before.actor, before.at, before.reason) == (
        {"set": {"running": 3}},
        "me",
        desk.now,
        "too many",
    )
    operator.set("pause", "type:a")
    operator.set("limit", "b", actor="", set={"running": 1})
    assert [(rule.kind, rule.name) for rule in desk.store.rules(["pause", "limit", "breaker"])] == [
        ("limit", "b"), ("limit", "mail"), ("pause", "type:a"),
    ]  # fmt: skip
    assert desk.store.rules(["type"]) == []
    assert operator.remove("limit", "mail").value == {"set": {"running": 4}}
    assert operator.remove("limit", "mail") is None
    lines = [action for action in desk.store.actions(None, 9) if action.detail["kind"] == "limit"][::-1]
    assert [(line.actor, line.action, line.job, line.detail["name"]) for line in lines] == [
        ("me", "rule", None, "mail")
    ] * len(lines)
    assert lines[0].detail == {
        "kind": "limit", "name": "mail", "before": None, "after": {"set": {"running": 3}}, "reason": "too many",
    }  # fmt: skip
    assert lines[1].detail["before"] == {"set": {"running": 3}}
    assert lines[2].detail["after"] is None


def test_slots_are_listed_by_name_and_long_lines_are_counted_up_to_a_cap(desk):
    send(desk, *(limited("b") for _ in range(5)), limited("a"))
    first, second = desk.store.slots(9, 3)
    assert (first.slot, first.holders, first.waiting, first.capped) == (slot("mail", "a"), 1, 0, False)
    assert (second.slot, second.holders, second.waiting, second.capped) == (slot("mail", "b"), 1, 3, True)
    assert [info.slot for info in desk.store.slots(1, 9)] == [slot("mail", "a")]


# with everything else ---------------------------------------------------------------------------------------------
def test_the_holders_of_a_slot_are_found_among_any_number_of_jobs(desk):
    first = desk.send(limited(running=2))
    send(desk, *(draft() for _ in range(600)), *(limited(f"key{n:04}") for n in range(1_100)))
    second, third = send(desk, limited(running=2, type="other"), limited(running=2))
    desk.take(1)
    assert states(desk, first, second, third) == "rqb"
    assert desk.store.slot(MAIL, 9, 9) == (SlotInfo(MAIL, 2, 1, capped=False), [first, second])
    assert desk.store.slot(MAIL, 1, 9)[1] == [first]
    assert desk.store.slot("none", 9, 9) == (SlotInfo("none", 0, 0, capped=False), [])
    app = Mainstay(store=desk.store, clock=desk.clock)
    assert app.why(third).reasons[0].details["holders"] == [first, second]
    assert app.why(third).reasons[0].details["held"] == 2


def test_a_blocked_job_is_replaced_by_a_newer_draft(desk):
    first = desk.send(limited())
    old = keyed("k", rules=limited().rules, waits=limited().waits, payload="1")
    desk.send(old)
    new = keyed("k", rules=limited().rules, waits=limited().waits, payload="2", on_conflict="replace")
    assert desk.store.enqueue([new], desk.now) == [(old.id, False)]
    assert (desk.job(old.id).payload, states(desk, first, old.id)) == ("2", "qb")
    plain = keyed("k", payload="3", on_conflict="replace")
    desk.store.enqueue([plain], desk.now)
    assert (desk.job(old.id).payload, states(desk, old.id), desk.job(old.id).rules) == ("3", "q", None)


def test_a_queued_holder_that_is_replaced_by_a_plain_draft_frees_its_place(desk):
    first = keyed("k", rules=limited().rules, waits=limited().waits)
    ids = [desk.send(first), desk.send(limited())]
    desk.store.enqueue([keyed("k", on_conflict="replace")], desk.now)
    assert states(desk, *ids) == "qq"
    assert held(desk) == {MAIL: (1, 0)}


def test_children_of_a_job_wait_like_others(desk):
    first = desk.send(limited())
    parent = desk.run(priority=9)
    desk.end(parent, COMPLETED._replace(children=(limited(type="child"), draft("child"))))
    assert sorted(desk.state(job) for job in desk.children()) == ["blocked", "queued"]
    desk.end(desk.take_this(first))
    assert [desk.state(job) for job in desk.children()] == ["queued", "queued"]


def test_a_draft_that_is_sent_again_changes_nothing(desk):
    one, two = limited(), limited()
    send(desk, one, two)
    assert desk.store.enqueue([two, one], desk.now) == [(two.id, True), (one.id, True)]
    assert states(desk, one.id, two.id) == "qb"


def test_the_chore_finds_nothing_to_do(desk):
    send(desk, limited(), limited(), limited("x"))
    assert desk.store.admit(desk.now, 100) == 0
    assert held(desk) == {MAIL: (1, 1), slot("mail", "x"): (1, 0)}


def test_a_worker_that_is_gone_gives_its_places_back_with_its_jobs(desk):
    first, second = send(desk, limited(), limited())
    desk.take_this(first)
    desk.outlive()
    (orphan,) = desk.store.orphans(desk.now, 0, 9)
    desk.join("w-other")
    assert desk.store.finish([transition(orphan.job, FINAL, desk.now)]) == ["stored"]
    assert states(desk, first, second) == "dq"
    assert desk.store.renew("w-other", desk.now, LEASE).alive


def test_a_running_holder_does_not_give_way_but_a_queued_one_does(desk):
    low = desk.take_this(desk.send(limited(running=2)))
    queued = desk.send(limited(running=2, priority=5))
    between, high = desk.send(limited(running=2, priority=3)), desk.send(limited(running=2, priority=9))
    assert states(desk, low.id, queued, between, high) == "rbbq"
    assert held(desk) == {MAIL: (2, 2)}
    desk.end(low)
    assert states(desk, low.id, queued, between, high) == "cqbq"


@pytest.mark.parametrize("keys", [1, 150])
def test_the_chore_finishes_a_lowered_limit_whose_process_has_ended(desk, monkeypatch, keys):
    ids = [send(desk, *(limited(f"k{n}", running=3) for _ in range(3))) for n in range(keys)]
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr("mainstay.stores.sql.rules.react", Mock(side_effect=KeyboardInterrupt))
        Operator(desk).set("limit", "mail", set={"running": 1})
    for _ in range(5):
        desk.store.admit(desk.now, 500)
    assert {states(desk, *some) for some in ids} == {"qbb"}
    assert all(each == (1, 2) for each in held(desk).values())

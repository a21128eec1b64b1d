"""Flow control at its edges: many keys, many denied jobs, drafts that are sent again, names of other scripts."""

import pytest

from mainstay.core.clock import SECOND
from mainstay.core.outcome import COMPLETED
from mainstay.core.rules import rate_slot, slot
from tests.contract.building import draft
from tests.contract.ruled import Operator, held, limited, rated, send, states, watched


def test_a_claim_of_one_passes_over_many_jobs_that_a_rate_denies(desk):
    ids = send(desk, *(rated(every=1, burst=1_000) for _ in range(600)))
    desk.store.push_rate([rate_slot("api", "")], desk.now, 5 * SECOND)
    other = desk.add("other")
    found = []
    for _ in range(200):
        found += desk.take(1, wants={"default": ["work", "other"]})
    assert [job.id for job in found] == [other]
    desk.clock.advance("6s")
    assert len(desk.take(9)) == 9
    assert set(states(desk, *ids)) <= set("qsbr")


def test_a_breaker_that_an_operator_opened_closes_after_the_job_that_was_tried(desk):
    ids = send(desk, watched(), watched(), watched())
    Operator(desk).set("breaker", "work", until=desk.now + SECOND, rest=SECOND, forced=True)
    assert desk.take(9) == []
    desk.clock.advance("2s")
    (tried,) = desk.take(9)
    desk.end(tried)
    assert desk.store.rules(["breaker"]) == []
    assert len(desk.take(9)) == 2
    assert ids


def test_a_lowered_limit_holds_for_all_of_many_keys(desk):
    keys = [f"k{n:05}" for n in range(1_200)]
    send(desk, *(limited(key, 2) for key in keys for _ in range(2)))
    Operator(desk).set("limit", "mail", set={"running": 1})
    found = {info.slot: info.holders for info in desk.store.slots(5_000, 10)}
    assert set(found.values()) == {1}


def test_a_raised_limit_lets_in_jobs_of_all_of_many_keys(desk):
    keys = [f"k{n:05}" for n in range(1_200)]
    send(desk, *(limited(key, 1) for key in keys for _ in range(2)))
    Operator(desk).set("limit", "mail", set={"running": 2})
    for _ in range(10):
        desk.store.admit(desk.now, 500)
        desk.take(1)
    found = {info.slot: info.holders for info in desk.store.slots(5_000, 10)}
    assert set(found.values()) == {2}


@pytest.mark.parametrize("key", ["\U0001f600", "é", "corporate", "rate"])
def test_a_lowered_limit_holds_for_keys_of_any_script(desk, key):
    ids = send(desk, limited(key, 2), limited(key, 2))
    Operator(desk).set("limit", "mail", set={"running": 1})
    assert states(desk, *ids) == "qb"


@pytest.mark.parametrize("name", ["\U0001d400mail", "ärzte", "邮件"])
def test_names_of_any_script_are_listed_and_looked_after(desk, name):
    ids = send(desk, limited(running=1, name=name), limited(running=1, name=name))
    assert held(desk) == {slot(name, ""): (1, 1)}
    Operator(desk).set("limit", name, set={"running": 2})
    desk.store.admit(desk.now, 500)
    assert states(desk, *ids) == "qq"


def test_a_draft_that_is_sent_again_keeps_what_its_priority_is_worth(desk):
    from mainstay.core.errors import QueueFull

    Operator(desk).set("queue", "default", set={"max_depth": 1, "when_full": "wait", "wait": 100, "aging": 60_000})
    first = desk.add()
    sent = draft(priority=5)
    for _ in range(2):
        with pytest.raises(QueueFull):
            desk.store.enqueue([sent], desk.now)
    desk.end(desk.take_this(first), COMPLETED)
    desk.clock.advance("1s")
    ((job_id, _),) = desk.store.enqueue([sent], desk.now)
    assert '"aged":[5,60000]' in desk.job(job_id).rules

"""The invariants of flow control: hand-made histories that break one each must be reported, good ones must pass."""

import json

import pytest

from mainstay.core.rules import rate_slot, slot
from tests.simulation.checker import check
from tests.simulation.test_checker import Story, broken

MAIL, API = slot("mail", ""), rate_slot("api", "")
LIMIT = {"limits": [["mail", "", 1]]}
RATE = {"rates": [["api", "", 1_000_000, 2]]}


class Flow(Story):
    """A history with rules; each line is a commit of its own unless `commit` says otherwise."""

    def ruled(self, job, after, rules, before="", token=0, commit=None, **more):
        commit = len(self) if commit is None else commit
        if not before:
            self.tell("enqueue", "invoke", job, **more.pop("asked", {}))
        text = json.dumps(rules)
        return self.moved(before, after, token, token, job, rules=text, queue="q", type="t", commit=commit, **more)

    def held(self, job, place=MAIL, there=True, commit=None):
        return self.tell("hold", job=job, slot=place, there=there, commit=len(self) if commit is None else commit)

    def set(self, kind, name, there=True, **value):
        return self.tell("rule", job="", kind=kind, name=name, value=value, there=there, commit=len(self))

    def queued(self, job="J", rules=LIMIT, place=MAIL, **more):
        commit = len(self)
        return self.ruled(job, "queued", rules, commit=commit, **more).held(job, place, commit=commit)

    def plain(self, job="J", **more):
        return self.ruled(job, "queued", {}, **more)

    def runs(self, job="J", rules=LIMIT, token=1, **more):
        return self.ruled(job, "running", rules, "queued", token, **more)

    def ends(self, job="J", state="completed", rules=LIMIT, before="running", token=1):
        commit = len(self)
        self.ruled(job, state, rules, before, token, commit=commit)
        return self.held(job, there=False, commit=commit) if rules else self


def blocked(job="J", waits=MAIL, rules=LIMIT, **asked):
    return Flow().ruled(job, "blocked", rules, asked=asked).tell("final", "ok", job, state="blocked", waits=waits)


def rated(*instants):
    """Jobs of a rate that start at these instants."""
    story = Flow()
    for n, at in enumerate(instants):
        commit = len(story)
        story.queued(str(n), RATE, API)
        story.runs(str(n), RATE, started_at=at, commit=commit + 1).held(str(n), API, False, commit=commit + 1)
    return story


def child(parent_state, policy="cancel"):
    """A child that starts after its parent has become so."""
    story = Flow().plain("P").runs("P", {}).ends("P", parent_state, {})
    return story.plain("C", asked={"after": ["P"]}).runs("C", {"after": policy})


GOOD = {
    "one after the other": Flow().queued("A").runs("A").ends("A").queued("B").runs("B").ends("B"),
    "a raised limit": Flow().queued("A").set("limit", "mail", set={"running": 2}).queued("B").runs("A").runs("B"),
    "a lowered limit": Flow().set("limit", "mail", set={"running": 2}).queued("A").queued("B").set("limit", "mail", set={"running": 1})
    .runs("A").runs("B"),
    "a burst": rated(1_000, 1_000, 2_000, 3_000),
    "a child of a job that completed": child("completed"),
    "a child that only wants an end": child("dead", "run"),
    "resumed": Flow().plain().set("pause", "type:t").set("pause", "type:t", there=False).runs(rules={}),
    "rested": Flow().plain().set("breaker", "t", until=50).runs(rules={}, started_at=50),
    "in time": Flow().plain().runs(rules={"start_by": 100}).tell("start", token=1, clock=100),
}  # fmt: skip

BAD = {
    "two are let in": ("I27", Flow().queued("A").queued("B")),
    "let in although it was lowered": (
        "I27", Flow().set("limit", "mail", set={"running": 2}).queued("A").set("limit", "mail", set={"running": 1}).queued("B")
    ),
    "ended and holds": ("I28", Flow().queued().runs().ruled("J", "completed", LIMIT, "running", 1)),
    "queued and holds nothing": ("I28", Flow().ruled("J", "queued", LIMIT)),
    "in line before an empty slot": ("I29", blocked()),
    "too many starts": ("I30", rated(1_000, 1_000, 1_999)),
    "a child too early": ("I31", Flow().plain("P").runs("P", {}).plain("C", asked={"after": ["P"]}).runs("C", {"after": "run"})),
    "a child of a dead job": ("I31", child("dead")),
    "paused": ("I32", Flow().plain().set("pause", "queue:q").runs(rules={})),
    "at rest": ("I33", Flow().plain().set("breaker", "t", until=50).runs(rules={}, started_at=49)),
    "too late": ("I33", Flow().plain().runs(rules={"start_by": 100}).tell("start", token=1, clock=101)),
    "waits for nothing": ("I34", blocked(waits="")),
    "waits for a pause that is over": ("I34", blocked(waits="|paused all")),
    "waits for parents that have ended": ("I34", blocked(waits="|parents", rules={"after": "run"})),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_good_history_passes(name):
    assert check(GOOD[name]) == []


@pytest.mark.parametrize("name", BAD)
def test_a_broken_invariant_is_reported(name):
    invariant, story = BAD[name]
    assert invariant in broken(story)


def test_a_pause_of_something_else_holds_nothing_back():
    assert broken(Flow().plain().set("pause", "type:other").runs(rules={})) == set()

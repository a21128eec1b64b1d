"""What becomes of a job that an operator changes, the line of a bulk action, and why a payload does not fit."""

import pytest

from mainstay.core import rules
from mainstay.core.bulk import Bulk, check_place, new_bulk, tally
from mainstay.core.change import NOW, Edit, Standing, Wish, altered, refusal
from mainstay.core.errors import Conflict
from mainstay.core.fits import misfit
from mainstay.core.states import STATES

AT = 1_000_000
PLAIN = Standing("default", 0, AT - 5, None, None, None, None)


def made(wish, job=PLAIN, state="queued", edit=None, **of_queue):
    return altered(wish, job, "work", state, edit, of_queue, AT)


@pytest.mark.parametrize("state", STATES)
def test_which_states_allow_which_change(state):
    refused = {"running": "running", "review": "review", "completed": "ended"}
    assert refusal(Wish(priority=1), "1", state) == refused.get(state)
    ended = {"dead": "ended", "cancelled": "ended"}
    assert refusal(Wish(run_at=NOW), "1", state) == (refused | ended).get(state)
    assert refusal(Wish(edits={}), "1", state) == refused.get(state, "invalid")


def test_a_plain_job_keeps_its_place():
    found = made(Wish(priority=5))
    assert (found.now, found.waits, found.detail) == (PLAIN._replace(priority=5), "", {"priority": "0 → 5"})
    assert made(Wish(priority=0)) == made(Wish(queue="default")) == made(Wish(run_at=NOW)) == "same"


def test_rules_of_the_old_queue_go_and_those_of_the_new_one_come():
    carried = {"limits": [["api", "a", 3], ["queue:default", "", 2]], "fair": ["default", "", 1], "after": "run"}
    found = made(Wish(queue="slow"), PLAIN._replace(rules=rules.pack(carried)), running=4, fair=True)
    given = {"after": "run", "fair": ["slow", "", 1], "limits": [["api", "a", 3], ["queue:slow", "", 4]]}
    assert (rules.unpack(found.now.rules), found.waits) == (given, "+")


def test_a_place_that_age_improves_is_undone_and_given_anew():
    aged = PLAIN._replace(rules=rules.pack({"aged": [3, 10]}), ord=AT - 30)
    assert (made(Wish(queue="slow"), aged).now.priority, made(Wish(queue="slow"), aged).now.ord) == (3, AT)
    again = made(Wish(priority=4), aged, aging=10)
    assert (again.now.priority, again.now.ord, again.waits) == (0, AT, "+")
    assert rules.unpack(again.now.rules) == {"aged": [4, 10]}


def test_times():
    later = PLAIN._replace(run_at=AT + 50, ord=AT + 50)
    assert made(Wish(priority=1), later, "scheduled").now.run_at == AT + 50
    now = made(Wish(run_at=NOW), later, "scheduled")
    assert (now.now.run_at, now.now.ord) == (None, AT)
    rated = PLAIN._replace(run_at=AT + 50)  # its place is not its time: a rate has scheduled it
    assert made(Wish(priority=1), rated, "scheduled").now[2:4] == (AT - 5, None)
    assert made(Wish(run_at=AT + 9), PLAIN._replace(start_by=AT + 8)) == "late"


def test_slots_follow_an_edit():
    limited = PLAIN._replace(rules=rules.pack({"limits": [["a", "x", 1], ["b", "y", 1]], "rates": [["a", "x", 9, 1]]}))
    found = made(Wish(edits={}), limited, edit=Edit('{"n":1}', '{"n":2}', None, {"a": "z"}))
    assert rules.unpack(found.now.rules) == {"limits": [["a", "z", 1], ["b", "y", 1]], "rates": [["a", "z", 9, 1]]}
    assert found.detail == {"payload": "n: 1 → 2"}
    assert made(Wish(edits={}), edit=Edit("{}", "{}", None)) == "same"


def test_what_the_line_of_an_operation_tells():
    line = tally({}, [{"from": "dead", "run_at": "now → then"}], ["duplicate 01 k"], {"place": "x", "search": "s"})
    assert line == {"jobs": 1, "from": {"dead": 1}, "place": "x", "search": "s", "refused": {"duplicate": 1}}
    line = tally(line, [{"from": "dead"}], ["running"], {"place": None})
    assert line == {"jobs": 2, "from": {"dead": 2}, "search": "s", "refused": {"duplicate": 1, "running": 1}}
    assert tally({}, [], ["running"]) == {"jobs": 0}
    check_place(new_bulk(), {"place": "x"})
    with pytest.raises(Conflict):
        check_place(Bulk("1", "retry", {}, "y"), {"place": "x"})


SCHEMA = {
    "type": "object", "required": ["n"], "additionalProperties": False,
    "properties": {
        "n": {"type": "integer"}, "to": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "kind": {"enum": ["a", "b"]},
        "sizes": {"type": "array", "items": {"$ref": "#/$defs/size"}},
    },
    "$defs": {"size": {"type": "object", "required": ["w"], "properties": {"w": {"type": "number"}}}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"n": 1, "to": None, "kind": "a", "sizes": [{"w": 1.5}]}, None),
        ([], "payload is [], not of type object"),
        ({}, "payload lacks n"),
        ({"n": True}, "payload.n is true, not of type integer"),
        ({"n": 1, "to": 5}, "payload.to is 5, which fits none of its types"),
        ({"n": 1, "kind": "c"}, 'payload.kind is "c", not one of ["a", "b"]'),
        ({"n": 1, "sizes": [{"w": 1}, {}]}, "payload.sizes[1] lacks w"),
        ({"n": 1, "siezs": []}, "payload has 'siezs', which is not an argument (did you mean \"sizes\"?)"),
    ],
)
def test_why_a_payload_does_not_fit(value, why):
    assert misfit(value, SCHEMA, SCHEMA) == why

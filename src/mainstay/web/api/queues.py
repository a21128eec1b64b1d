"""Queues: how many jobs each has, and its rules."""

from __future__ import annotations

from ...control import queues as control
from ...control.records import Change, QueueRecord
from ...control.rules import check_queue
from ..call import Call
from ..changes import Names, Values, existing, limit_of, told
from ..operations import operation
from ..roles import ADMIN


@operation("GET", "/api/queues")
def list_queues(call: Call) -> list[QueueRecord]:
    """Return every queue that has jobs, types, rules or workers, by name."""
    return call.app.queues()


@operation("PUT", "/api/queues/{name}", role=ADMIN)
def set_queue(call: Call, name: str, body: Values) -> Change:
    """Set rules of a queue: max_depth, when_full, wait, below, one_in, fair, weights, aging, limit (an object, or null)."""
    _checked(call, name)
    values = body.set if "limit" not in body.set else {**body.set, "limit": limit_of(body.set["limit"])}
    return control.set_queue(call.app, name, values, *told(call, body))


@operation("POST", "/api/queues/{name}/reset", role=ADMIN)
def reset_queue(call: Call, name: str, body: Names) -> Change:
    """Remove what operators have set on a queue: the rules of these names, or all."""
    _checked(call, name)
    return control.reset_queue(call.app, name, body.names, *told(call, body))


def _checked(call: Call, name: str) -> None:
    with existing():
        check_queue(call.app, name)

"""Limits: who holds them, who waits, and how many jobs may run or start."""

from __future__ import annotations

from ...control import limits as control
from ...control.records import Change, LimitRecord
from ...control.rules import known_queues
from ...core.errors import NotFound, UsageError
from ...core.suggest import did_you_mean
from ..call import Call
from ..changes import Reasoned, Values, existing, key_of, told
from ..operations import operation
from ..roles import ADMIN

NAMES = ("running", "rate", "burst", "key")


@operation("GET", "/api/limits")
def list_limits(call: Call) -> list[LimitRecord]:
    """Return every limit, by name: what code declares, what operators set, who holds it and who waits."""
    return call.app.limits()


@operation("PUT", "/api/limits/{name:path}", role=ADMIN)
def set_limit(call: Call, name: str, body: Values) -> Change:
    """Set a limit for all its jobs: running, rate, burst. A type, or `queue:` and a queue, without a limit gets one."""
    known = {each.name for each in call.app.limits()}
    if name not in known:
        _check_new(call, name, known)
    wrong = next((each for each in body.set if each not in NAMES), None)
    if wrong is not None:
        raise UsageError(f"a limit has no value {wrong!r}{did_you_mean(wrong, NAMES)}; there are: {', '.join(NAMES)}")
    given = {each: body.set.get(each) for each in NAMES} | {"key": key_of(body.set.get("key"))}
    return control.set_limit(call.app, name, given, *told(call, body))


def _check_new(call: Call, name: str, known: set[str]) -> None:
    """Raise for a name that is neither a limit, nor a type or a queue that could have one."""
    types = {*call.app.registry, *(info.name for info in call.app.store.types())}
    names = known | types | {control.OF_QUEUE + queue for queue in known_queues(call.app)}
    if name not in names:
        raise NotFound(
            f"there is no limit, type or queue: {name!r}{did_you_mean(name, names)}; GET api/limits lists them"
        )


@operation("POST", "/api/limits/{name:path}/reset", role=ADMIN)
def reset_limit(call: Call, name: str, body: Reasoned) -> Change:
    """Remove what operators have set of a limit. What code declares holds again."""
    with existing():
        return control.reset_limit(call.app, name, *told(call, body))

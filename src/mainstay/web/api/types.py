"""Job types: what each is, how it is used, and what operators set of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...control import types as control
from ...control.findings import by_type
from ...control.records import BreakerRecord, Change, TypeRecord
from ...control.rules import CAP, check_type
from ...control.stats import StatsRecord
from ...control.workers import live
from ...core.errors import NotFound, UsageError
from ...core.rules import SCHEDULE
from ...core.schedule import effective
from ...core.suggest import did_you_mean
from ..call import Call
from ..changes import Names, Reasoned, Values, existing, limit_of, retry_of, told
from ..extend import extended, extends
from ..operations import operation
from ..roles import ADMIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...app import Mainstay


@extends(TypeRecord)
class TypePage(NamedTuple):
    """A type, what became of its jobs in 24 hours, how many workers serve it, and how many of its jobs there are by state."""

    stats: StatsRecord | None
    breaker: BreakerRecord | None
    workers: int
    counts: dict[str, int]


class Declared(msgspec.Struct, kw_only=True):
    """What live workers take as a payload of the type, and how many workers do."""

    version: int
    signature: str
    workers: int


@extends(TypePage)
class TypeDetails(NamedTuple):
    """A type with what its workers declare, and the schedules that make its jobs."""

    declarations: list[Declared]
    schedules: list[str]


class Rest(Reasoned, frozen=True, kw_only=True):
    """For how long a type rests."""

    rest: str | float = "30m"


@operation("GET", "/api/types")
def list_types(call: Call) -> list[TypePage]:
    """Return every job type, by name."""
    return _pages(call.app)


@operation("GET", "/api/types/{name}")
def read_type(call: Call, name: str) -> TypeDetails:
    """Return one job type, with what its workers declare and the schedules that make its jobs."""
    pages = {page.name: page for page in _pages(call.app)}  # type: ignore[attr-defined]  # a field of the record
    if name not in pages:
        raise NotFound(f"no worker has registered a type {name!r}{did_you_mean(name, pages)}; GET api/types lists them")
    found = call.app.store.declarations(call.app.clock.now(), name)
    declared = [Declared(version=each.version, signature=each.signature, workers=each.workers) for each in found]
    rules = call.app.store.rules([SCHEDULE])
    schedules = [rule.name for rule in rules if effective(rule.value)["job"]["type"] == name]
    return extended(TypeDetails, pages[name], declarations=declared, schedules=schedules)


def _pages(app: Mainstay) -> list[TypePage]:
    there = live(app.store.workers(), app.clock.now())
    stats = {row.type: row for row in app.stats("24h").rows}
    breakers = {each.type: each for each in app.breakers()}
    counts: dict[str, dict[str, int]] = {}
    for count in by_type(app.store.counts(CAP)):
        counts.setdefault(count.type, {})[count.label] = count.jobs
    return [
        extended(
            TypePage, each, stats=stats.get(each.name), breaker=breakers.get(each.name),
            workers=sum(each.name in worker.types for worker in there), counts=counts.get(each.name, {}),
        )
        for each in app.types()
    ]  # fmt: skip


# change ---------------------------------------------------------------------------------------------------------------
def _checked(call: Call, name: str) -> None:
    with existing():
        check_type(call.app, name)


@operation("PUT", "/api/types/{name}", role=ADMIN)
def set_type(call: Call, name: str, body: Values) -> Change:
    """Set values of a type over what its code declares, for jobs enqueued from now on.

    Names: queue, priority, attempts, timeout, keep, keep_cancelled, keep_dead, keep_last, limit (an object or a list), and
    retry or backoff (an object with base, cap, factor, jitter).
    """
    _checked(call, name)
    return control.set_type(call.app, name, _values(call.app, name, body.set), *told(call, body))


def _values(app: Mainstay, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of a type as Python takes them."""
    if not given:
        raise UsageError(f"set: give a value of {', '.join(control.NAMES)}")
    values = dict(given)
    if "limit" in values:
        limits = values["limit"] if isinstance(values["limit"], list) else [values["limit"]]
        values["limit"] = [limit for limit in map(limit_of, limits) if limit is not None]
    waits = values.pop("backoff", values.pop("retry", None))
    if waits is not None:
        values["retry"] = retry_of(waits, values.pop("attempts", None) or _attempts(app, name))
    return values


def _attempts(app: Mainstay, name: str) -> int:
    """Return how many attempts jobs of a type have now."""
    found = next((each for each in app.types() if each.name == name), None)
    return int(found.effective.get("attempts", 3)) if found else 3


@operation("POST", "/api/types/{name}/reset", role=ADMIN)
def reset_type(call: Call, name: str, body: Names) -> Change:
    """Remove what operators have set on a type: the values of these names, or all."""
    _checked(call, name)
    return control.reset_type(call.app, name, body.names, *told(call, body))


@operation("POST", "/api/types/{name}/disable", role=ADMIN)
def disable_type(call: Call, name: str, body: Reasoned) -> Change:
    """Let a type take no jobs. Those that are there still run."""
    _checked(call, name)
    return control.disable(call.app, name, *told(call, body))


@operation("POST", "/api/types/{name}/enable", role=ADMIN)
def enable_type(call: Call, name: str, body: Reasoned) -> Change:
    """Let a disabled type take jobs again."""
    _checked(call, name)
    return control.enable(call.app, name, *told(call, body))


@operation("POST", "/api/types/{name}/breaker/open")
def open_breaker(call: Call, name: str, body: Rest) -> Change:
    """Let a type rest; then one job is tried, and its outcome decides."""
    _checked(call, name)
    return call.app.open_breaker(name, body.rest, body.reason, actor=call.who.actor, dry_run=body.dry_run)


@operation("POST", "/api/types/{name}/breaker/close")
def close_breaker(call: Call, name: str, body: Reasoned) -> Change:
    """Let a type that rests go on at once."""
    _checked(call, name)
    return call.app.close_breaker(name, reason=body.reason, actor=call.who.actor, dry_run=body.dry_run)

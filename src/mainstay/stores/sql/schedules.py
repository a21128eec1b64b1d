"""Firing schedules: the jobs of due ticks and the new state are one transaction, if nobody else has fired or changed them."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...core.errors import QueueFull
from ...core.job import Rule
from ...core.rules import SCHEDULE, TICK
from ...core.schedule import Fired
from ..operations import together
from .actions import AUDIT, cancel_operations, examine_marked
from .breaker import put_rule
from .enqueue import keep_count
from .store import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.draft import Draft
    from ...core.schedule import Firing
    from ..operations import Operations
    from .store import SqlStore


def schedules_version(store: SqlStore, now: int) -> tuple[int, int]:
    """Return a number that grows with each change of a schedule, and the instant of the engine."""
    ((version, instant),) = store.read(rows(store, "schedules_version", now=store.engine_now(now)), by_worker=True)
    return version, instant


def fire(store: SqlStore, firings: Sequence[Firing], now: int) -> list[Fired]:
    """Fire schedules that are as they were read; return what came of each."""
    try:
        fired, cancelled = store.write(lambda: _fire(store, firings, now), by_worker=True)
    except QueueFull as error:
        keep_count(store, error, now)
        raise
    if cancelled:
        examine_marked(store, now)
    if "cancelling" in cancelled.values():
        store.notify("cancel")
    if any(each.jobs for each in fired):
        store.notify()
    return fired


def _fire(store: SqlStore, firings: Sequence[Firing], now: int) -> Operations[tuple[list[Fired], dict[str, str]]]:
    verdicts: list[Fired] = []

    def chosen() -> Operations[list[Draft]]:
        verdicts[:] = yield from _verdicts(store, firings, now)
        given = zip(firings, verdicts, strict=True)
        return [draft for firing, found in given if found.verdict == "fired" for draft in firing.drafts]

    drafts = [draft for firing in firings for draft in firing.drafts]
    accepted = iter((yield from store.accepting(drafts, now, chosen)))
    fired: list[Fired] = []
    cancelled: dict[str, str] = {}
    for firing, found in zip(firings, verdicts, strict=True):
        if found.verdict == "fired":
            found = found._replace(jobs=tuple(islice(accepted, len(firing.drafts))))  # noqa: PLW2901
            cancelled |= yield from _cancelled(store, firing, now)
            found = found._replace(state=(yield from _kept(store, firing, found, now)))  # noqa: PLW2901
        fired.append(found)
    return fired, cancelled


def _verdicts(store: SqlStore, firings: Sequence[Firing], now: int) -> Operations[list[Fired]]:
    """Lock schedules, then read them: a state that another transaction has made meanwhile is seen too."""
    names = [firing.name for firing in firings]
    found = yield from together(
        store.dialect.statement("fire_lock", names=names),
        store.dialect.statement("fire_read", names=names, now=store.engine_now(now)),
    )
    stored = {(kind, name): json.loads(value) for kind, name, value, _ in found[1].rows}
    instant = max((row[3] for row in found[1].rows), default=now)
    return [
        _verdict(firing, stored.get((SCHEDULE, firing.name)), stored.get((TICK, firing.name)), instant)
        for firing in firings
    ]


def _verdict(firing: Firing, value: Any, state: Any, now: int) -> Fired:
    if value != firing.value or (firing.state is not None and state != firing.was):
        return Fired("changed", value, state)
    return Fired("fired" if firing.due <= now else "early", value, state)


def _cancelled(store: SqlStore, firing: Firing, now: int) -> Operations[dict[str, str]]:
    if firing.cancel is None:
        return {}
    return (yield from cancel_operations(store.dialect, [firing.cancel], now, f"schedule {firing.name}"))


def _kept(store: SqlStore, firing: Firing, found: Fired, now: int) -> Operations[Any]:
    """Store the state of a schedule that was fired, and who asked for it; return the state."""
    state, dialect = firing.state, store.dialect
    if firing.actor:
        detail = json.dumps({"schedule": firing.name})
        lines = [(now, firing.actor, "run", job, detail, None) for job, _ in found.jobs]
        yield from together(*dialect.insert("action", AUDIT, lines))
    if state is None:
        return found.state
    if found.jobs:  # another job may have had the key of the draft
        state = {**state, "job": found.jobs[-1][0]}
    yield put_rule(dialect, Rule(TICK, firing.name, dict(state), "", now))
    return state

"""Firing schedules: the jobs of due ticks and the new state are one call, if nobody else has fired or changed them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.job import Rule
from ...core.rules import SCHEDULE, TICK
from ...core.schedule import Fired
from . import enqueue
from .reads import rule_of
from .rules import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.schedule import Firing
    from .store import RedisStore

    Texts = tuple[str | None, str | None]  # of a schedule and of its state, as they are stored


def schedules_version(store: RedisStore, now: int) -> tuple[int, int]:
    """Return a number that grows with each change of a schedule, and the instant of the server."""
    version, instant = store.server.run("schedules_version", [store.engine_now(now)])
    return version, instant


def fire(store: RedisStore, firings: Sequence[Firing], now: int) -> list[Fired]:
    """Fire schedules that are as they were read; return what came of each."""
    names = [firing.name for firing in firings]
    found = store.server.on_keys([("HMGET", f"rule:{kind}", *names) for kind in (SCHEDULE, TICK)])
    texts: list[Texts] = list(zip(*found, strict=True))
    fitting = [(firing, each) for firing, each in zip(firings, texts, strict=True) if _fits(firing, *each)]
    fired = iter(_sent(store, fitting, now) if fitting else ())
    return [
        next(fired) if _fits(firing, *each) else Fired("changed", *_values(firing.name, *each))
        for firing, each in zip(firings, texts, strict=True)
    ]


def _values(name: str, rule: str | None, tick: str | None) -> tuple[Any, Any]:
    return rule and rule_of(SCHEDULE, name, rule).value, tick and rule_of(TICK, name, tick).value


def _fits(firing: Firing, rule: str | None, tick: str | None) -> bool:
    """Return whether a schedule is as it was read. The script checks that the texts are still these."""
    value, state = _values(firing.name, rule, tick)
    return bool(value == firing.value) and (firing.state is None or state == firing.was)


def _sent(store: RedisStore, fitting: list[tuple[Firing, Texts]], now: int) -> list[Fired]:
    drafts = [draft for firing, _ in fitting for draft in firing.drafts]
    enqueue.prepare(store.server, drafts, now)
    asked = [value for firing, texts in fitting for value in _asked(firing, *texts, now)]
    _, *reply = enqueue.accepted(enqueue.sent(store, drafts, now, "fire", [now, len(fitting), *asked]), drafts)
    results, fired = iter(reply[3 * len(fitting) :]), []
    for place, (firing, _) in enumerate(fitting):
        verdict, rule, tick = reply[3 * place : 3 * place + 3]
        value, state = _values(firing.name, rule, tick)
        jobs: tuple[tuple[str, bool], ...] = ()
        if verdict == "fired":
            each = ((draft.id, next(results)) for draft in firing.drafts)
            jobs = tuple((id, True) if found == 1 else (found, False) for id, found in each)
            if firing.state is not None:
                state = {**firing.state, "job": jobs[-1][0]} if jobs else firing.state
        fired.append(Fired(verdict, value, state, jobs))
    return fired


def _asked(firing: Firing, rule: str | None, tick: str | None, now: int) -> tuple[Any, ...]:
    """Return what the script takes of a schedule (statements/fire.lua)."""
    state = "" if firing.state is None else text_of(Rule(TICK, firing.name, dict(firing.state), "", now))
    return firing.name, rule, tick or "", state, firing.due, firing.cancel or "", firing.actor, len(firing.drafts)

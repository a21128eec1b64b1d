"""Pauses: of a type, a queue, or the whole installation; who set them, when and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import UsageError
from ..core.job import Rule
from ..core.payload import clean
from ..core.rules import ALL
from .records import Change, Pause
from .rules import EPOCH, REASON, check_queue, check_type, instant, rules_by_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..flow import Flow


def pause(app: Flow, type: str | None, queue: str | None, reason: str, actor: str, dry_run: bool) -> Change:
    """Set a pause, or change who set it and why."""
    name, before = _found(app, type, queue)
    rule = Rule("pause", name, {}, actor, app.clock.now(), clean(reason, REASON))
    if not dry_run:
        before = app.store.set_rule(rule)
    return Change("pause", name, _shown(before), _shown(rule))


def resume(app: Flow, type: str | None, queue: str | None, reason: str, actor: str, dry_run: bool) -> Change:
    """Remove a pause; what is not paused stays so."""
    name, before = _found(app, type, queue)
    if before is not None and not dry_run:
        rule = Rule("pause", name, {}, actor, app.clock.now(), clean(reason, REASON))
        before = app.store.set_rule(rule, remove=True)
    return Change("pause", name, _shown(before), None)


def _found(app: Flow, type: str | None, queue: str | None) -> tuple[str, Rule | None]:
    """Return the name of a pause, and the pause if there is one."""
    if type is not None and queue is not None:
        raise UsageError("give type= or queue=, not both; call it twice for both, or with neither for the installation")
    name = ALL if type is None and queue is None else f"type:{type}" if type is not None else f"queue:{queue}"
    before = rules_by_name(app, "pause").get(name)
    if before is None and type is not None:
        check_type(app, type)
    elif before is None and queue is not None:
        check_queue(app, queue)
    return name, before


def _shown(rule: Rule | None) -> dict[str, object] | None:
    return (
        None if rule is None else {"paused": True, "actor": rule.actor, "at": instant(rule.at), "reason": rule.reason}
    )


def all_pauses(app: Flow) -> list[Pause]:
    """Return every pause: that of the installation, of queues and of types."""
    return [_pause(rule) for rule in app.store.rules(["pause"])]


def pauses(rules: Iterable[Rule], type: str | None, queue: str) -> tuple[Pause, ...]:
    """Return the pauses that hold back jobs of a type in a queue, the widest first."""
    by_name = {rule.name: rule for rule in rules if rule.kind == "pause"}
    names = [ALL, f"queue:{queue}", *([f"type:{type}"] if type is not None else [])]
    return tuple(_pause(by_name[name]) for name in names if name in by_name)


def _pause(rule: Rule) -> Pause:
    of, _, name = rule.name.partition(":")
    return Pause(of, name, rule.actor, instant(rule.at) or EPOCH, rule.reason)

"""Rules of the store as operators change them: what is known, what was set and by whom, and the change of one rule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..core.errors import Conflict, UnknownType, UsageError
from ..core.job import Rule, RuleChanged
from ..core.payload import clean
from ..core.suggest import did_you_mean
from .records import Change, Override

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from ..core.job import Count
    from ..flow import Flow

    Edit = Callable[[Mapping[str, Any]], dict[str, Any]]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CAP = 10_000  # jobs counted of each state
REASON = 1_000  # characters
TRIES = 20  # of a change while others change the same rule


def instant(ms: int | None) -> datetime | None:
    """Return an instant as applications read it."""
    return None if ms is None else EPOCH + timedelta(milliseconds=ms)


def rules_by_name(app: Flow, kind: str) -> dict[str, Rule]:
    """Return the rules of a kind by name."""
    return {rule.name: rule for rule in app.store.rules([kind])}


def overrides(rule: Rule | None, shown: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, Override]:
    """Return what operators have set in a rule, under the names that people use, with who and when."""
    if rule is None:
        return {}
    made: dict[str, Override] = {}
    for name, value in rule.value.get("set", {}).items():
        actor, at = rule.value.get("by", {}).get(name, (rule.actor, rule.at))
        made |= {each: Override(given, actor, instant(at)) for each, given in shown({name: value}).items()}
    return made


def drift(declared: Mapping[str, Any], found: Mapping[str, Override]) -> tuple[str, ...]:
    """Return the names of values that operators have set otherwise than the code declares."""
    return tuple(sorted(name for name, each in found.items() if declared.get(name) != each.value))


def change(
    app: Flow, kind: str, name: str, values: Mapping[str, Any], remove: Iterable[str], reason: str, actor: str, dry_run: bool,
    shown: Callable[[Mapping[str, Any]], dict[str, Any]] = dict, audited: bool = True,
) -> Change:  # fmt: skip
    """Set values of a rule and remove others; return the values before and after, as people read them.

    What follows from another change is not `audited`: that one is.
    """
    left = without({*remove})
    return edit(app, kind, name, lambda before: left({**before, **values}), reason, actor, dry_run, shown, audited)


def without(names: Collection[str]) -> Edit:
    """Return the edit that removes values of these names."""
    return lambda before: {each: value for each, value in before.items() if each not in names}


def edit(
    app: Flow, kind: str, name: str, edited: Edit, reason: str, actor: str, dry_run: bool,
    shown: Callable[[Mapping[str, Any]], dict[str, Any]] = dict, audited: bool = True,
) -> Change:  # fmt: skip
    """As `change`; `edited` returns the values after the change for those before.

    It is asked again if somebody else has changed the rule meanwhile: what both have changed holds.
    """
    for _ in range(TRIES):
        now, rule = app.clock.now(), rules_by_name(app, kind).get(name)
        before: dict[str, Any] = rule.value.get("set", {}) if rule is not None else {}
        after = edited(before)
        made = Change(kind, name, shown(before), shown(after))
        if dry_run or after == before:
            return made
        left = _merged(rule, before, after, [actor, now])
        given = Rule(kind, name, left, actor if audited else "", now, clean(reason, REASON))
        try:
            app.store.set_rule(given, remove=not left, was=(rule,))
        except RuleChanged:
            continue
        return made
    raise Conflict(
        f"others change the {kind} {name} all the time: nothing was changed; wait until they are done, then repeat"
    )


def _merged(rule: Rule | None, before: Mapping[str, Any], after: dict[str, Any], who: list[Any]) -> dict[str, Any]:
    """Return a rule's value with what is set now, and who set it; what code declares stays."""
    stored = rule.value if rule is not None else {}
    by = {each: stored.get("by", {}).get(each) for each in after}
    by |= {each: who for each, value in after.items() if each not in before or before[each] != value}
    left = {"declared": stored["declared"]} if stored.get("declared") else {}
    return left | ({"set": after, "by": {each: given for each, given in by.items() if given}} if after else {})


def checked_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise for a name that a type or queue does not have."""
    known = list(known)
    for name in given:
        if name not in known:
            raise UsageError(f"{what} has no value {name!r}{did_you_mean(name, known)}; there are: {', '.join(known)}")


# what is known --------------------------------------------------------------------------------------------------------
def check_type(app: Flow, name: str) -> None:
    """Raise for a type that neither this program, nor a worker, nor a job names."""
    known = {*app.registry, *(info.name for info in app.store.types())}
    if name not in known and name not in (known := known | {count.type for count in app.store.counts(CAP)}):
        raise UnknownType(f"no type is called {name!r}{did_you_mean(name, known)}; app.types() lists them")


def check_queue(app: Flow, name: str) -> None:
    """Raise for a queue that nothing names."""
    known = known_queues(app)
    if name not in known:
        raise UsageError(f"no queue is called {name!r}{did_you_mean(name, known)}; app.queues() lists them")


def known_queues(app: Flow, counts: Iterable[Count] | None = None) -> set[str]:
    """Return the queues that a type, this program, a rule, a worker or a job names; `counts` are those that the caller has."""
    store = app.store
    return {
        *app.queue_rules, *(type.queue for type in app.registry.values()), *(info.queue for info in store.types()),
        *(rule.value.get("set", {}).get("queue", "default") for rule in store.rules(["type"])),
        *rules_by_name(app, "queue"), *(queue for worker in store.workers() for queue in worker.queues),
        *(count.queue for count in (store.counts(CAP) if counts is None else counts)),
    }  # fmt: skip

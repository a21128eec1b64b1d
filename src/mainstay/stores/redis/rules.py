"""Rules as data: pauses, what operators set on types, queues and limits, breakers; and the chores that keep admission right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.errors import refuse_nul
from ...core.job import Rule, SlotInfo, change_of, check_unchanged
from . import header
from .reads import rule_of
from .record import SEQ

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .store import RedisStore

KINDS = (
    "breaker",
    "limit",
    "pause",
    "queue",
    "schedule",
    "session",
    "subscription",
    "tick",
    "token",
    "token_hash",
    "triage",
    "trouble",
    "type",
    "watch",
    "webhook",
    "webhook_incoming",
    "webhook_incoming_secret",
    "webhook_secret",
)
CHUNK = 500  # jobs that one call looks at, which blocks the server
ANY, NONE = "*", ""  # for the rule that must be there
DEPTH, BREAKER = "depth\n", "breaker\n"  # meters that are kept elsewhere


def text_of(rule: Rule) -> str:
    """Return a rule as it is stored."""
    return header.dumps({"value": rule.value, "actor": rule.actor, "at": rule.at, "reason": rule.reason})


def set_rule(
    store: RedisStore, rule: Rule, remove: bool = False, was: tuple[Rule | None] | None = None
) -> Rule | None:  # fmt: skip
    """Set or remove a rule and return the one before; what it lets pass is examined, what it holds back is blocked."""
    refuse_nul(name=rule.name, actor=rule.actor, reason=rule.reason)
    while True:
        text = store.server.read("HGET", f"rule:{rule.kind}", rule.name)
        before = rule_of(rule.kind, rule.name, text) if text else None
        check_unchanged(before, was)
        if _put(store, rule, text or NONE, remove, audit_line(rule, before, remove)):
            return before


def audit_line(rule: Rule, before: Rule | None, remove: bool = False) -> str:
    """Return the line of a changed rule in the audit trail; "" if the code itself has changed it."""
    return header.dumps((rule.at, rule.actor, "rule", None, change_of(rule, before, remove))) if rule.actor else ""


def _put(store: RedisStore, rule: Rule, expected: str, remove: bool, audit: str) -> bool:
    """Put a rule in the place of the expected one; return whether that was still there."""
    now, text = store.engine_now(rule.at), "" if remove else text_of(rule)
    reply = store.server.run("set_rule", [now, rule.kind, rule.name, expected, text, audit])
    if reply == "changed":
        return False
    more: int = reply[1]
    while more:
        _, more = store.server.run("admit", [now, CHUNK, "1"])
    return True


def declare_rules(store: RedisStore, rules: Sequence[Rule]) -> None:
    """Record what code declares; what operators have set stays."""
    known = _texts(store, rules)
    for rule in rules:
        stored, text = False, known.get((rule.kind, rule.name))
        while not stored:
            before = rule_of(rule.kind, rule.name, text) if text else Rule(rule.kind, rule.name, {}, "", rule.at)
            value = {**before.value, "declared": rule.value}
            stored = value == before.value or _put(store, before._replace(value=value), text or NONE, False, "")
            text = text if stored else store.server.read("HGET", f"rule:{rule.kind}", rule.name)


def _texts(store: RedisStore, rules: Sequence[Rule]) -> dict[tuple[str, str], str | None]:
    """Return the stored texts of rules, by kind and name: one call for all."""
    names: dict[str, list[str]] = {}
    for rule in rules:
        names.setdefault(rule.kind, []).append(rule.name)
    found = store.server.on_keys([("HMGET", f"rule:{kind}", *some) for kind, some in names.items()]) if rules else []
    return {
        (kind, name): text
        for (kind, some), texts in zip(names.items(), found, strict=True)
        for name, text in zip(some, texts, strict=True)
    }


def push_rate(store: RedisStore, slots: Sequence[str], now: int, delay: int) -> None:
    """Let rates permit no start for some time."""
    if slots:
        store.server.run("push_rate", [store.engine_now(now), delay, *slots])


def slots(store: RedisStore, limit: int, cap: int) -> list[SlotInfo]:
    """Return the slots that are held or waited for."""
    found = store.server.run("slots", [limit]) if limit > 0 else []
    rows = zip(found[::3], found[1::3], found[2::3], strict=True)
    return [SlotInfo(slot, holders, min(waiting, cap), waiting > cap) for slot, holders, waiting in rows]


def slot(store: RedisStore, name: str, limit: int, cap: int) -> tuple[SlotInfo, list[str]]:
    """Return one slot, and the ids of the first jobs that hold it; those that run come first."""
    asked = [("ZCARD", f"hold:{name}"), ("ZCARD", f"wait:{name}"), ("ZRANGE", f"hold:{name}", 0, max(0, limit) - 1)]
    holders, waiting, members = store.server.on_keys(asked)
    ids = [member[SEQ:] for member in sorted(members)] if limit > 0 else []
    return SlotInfo(name, holders, min(waiting, cap), waiting > cap), ids


def meters(store: RedisStore, names: Sequence[str]) -> dict[str, int]:
    """Return the meters of these names that exist."""
    found = store.server.on_keys([_meter(name) for name in names])
    return {name: _number(name, value) for name, value in zip(names, found, strict=True) if value is not None}


def _meter(name: str) -> tuple[str, ...]:
    if name.startswith(DEPTH) and name.count("\n") == 1:
        return "HGET", "depth", name.removeprefix(DEPTH)
    if name.startswith(BREAKER):
        return "HGET", "outcomes", name.removeprefix(BREAKER)
    return "HGET", "meter", name


def _number(name: str, value: Any) -> int:
    """Return the value of a meter; of a breaker as a 1, then a bit for each outcome, 1 for a failure."""
    return int("1" + value.replace("c", "0").replace("f", "1"), 2) if name.startswith(BREAKER) else int(value)


# chores ---------------------------------------------------------------------------------------------------------------
def admit(store: RedisStore, now: int, limit: int) -> int:
    """Examine what was missed, and mend holds."""
    changed: int = store.server.run("admit", [store.engine_now(now), min(limit, CHUNK), ""])[0]
    return changed


def expire(store: RedisStore, now: int, limit: int) -> int:
    """Cancel waiting jobs that had to start by an instant that has passed, a chunk at a time."""
    cancelled, found = 0, CHUNK
    while cancelled < limit and found == CHUNK:
        found = store.server.run("expire", [store.engine_now(now), now, limit - cancelled])
        cancelled += found
    return cancelled

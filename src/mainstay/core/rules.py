"""What may hold a job back: its rules as the text that is stored with it, and the names of slots (docs/decisions/0028)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EXAMINE, EXAMINE_NEW, PARENTS, PAUSED = "", "+", "|parents", "|paused "  # what a blocked job waits for, besides slots
TRIAGE = "triage"  # the kind of rules that say what is done about a group of dead jobs
SCHEDULE, TICK = "schedule", "tick"  # the kinds of rules that are schedules and their states: they hold no job back
# What operators set of alerts, and incidents: they hold no job back. SQLite's claim reads kinds up to `queue`.
WATCH, TROUBLE = "watch", "trouble"
# Endpoints, and what signs their messages: apart, so that no audit line has a secret.
WEBHOOK, SIGNING = "webhook", "webhook_secret"
# Receivers of webhooks, and what verifies them.
INCOMING, INCOMING_SECRET = "webhook_incoming", "webhook_incoming_secret"
SUBSCRIPTION = "subscription"  # which jobs an event creates
# Who may use the HTTP API; the last two are never audited.
TOKEN, TOKEN_HASH, SESSION = "token", "token_hash", "session"
QUIET = (
    SCHEDULE, TRIAGE, WATCH, TROUBLE, WEBHOOK, SIGNING, INCOMING, INCOMING_SECRET, SUBSCRIPTION, TOKEN, TOKEN_HASH, SESSION,
)  # kinds that hold no job back  # fmt: skip
UNHEARD = (TROUBLE, TOKEN_HASH, SESSION)  # kinds that no worker waits for
ALL = "all"  # the name of a pause of the whole installation


def pack(rules: Mapping[str, Any]) -> str | None:
    """Return rules as the text that is stored with the job; None for no rules."""
    if not rules:
        return None
    import json

    return json.dumps({name: rules[name] for name in sorted(rules)}, ensure_ascii=False, separators=(",", ":"))


def unpack(text: str | None) -> dict[str, Any]:
    """Return the rules in a stored text."""
    if not text:
        return {}
    import json

    found: dict[str, Any] = json.loads(text)
    return found


def without(text: str | None, name: str) -> str | None:
    """Return the stored rules without one of them."""
    return pack({each: value for each, value in unpack(text).items() if each != name})


def slot(name: str, key: str) -> str:
    """Return the slot of a limit and a key. No name and no key has a line feed."""
    return f"{name}\n{key}"


def rate_slot(name: str, key: str) -> str:
    """Return the slot of a rate and a key."""
    return f"{name}\n{key}\nrate"


def is_rate(place: str) -> bool:
    """Return whether a slot is that of a rate."""
    return place.endswith("\nrate") and place.count("\n") == 2


def limit_of(place: str) -> tuple[str, str]:
    """Return the limit's name and the key of a slot."""
    name, key = place.split("\n")[:2]
    return name, key


def limit_slots(rules: Mapping[str, Any]) -> list[str]:
    """Return the slots that a job holds while it is queued or running."""
    return [slot(name, key) for name, key, _ in rules.get("limits", ())]


def rate_slots(rules: Mapping[str, Any]) -> list[str]:
    """Return the slots that a job holds until it starts."""
    return [rate_slot(name, key) for name, key, *_ in rules.get("rates", ())]


def slots(text: str | None) -> list[str]:
    """Return all slots that a job with these stored rules may hold."""
    rules = unpack(text)
    return limit_slots(rules) + rate_slots(rules)


def waits_at_first(rules: Mapping[str, Any]) -> str | None:
    """Return for what a new job waits: in line at its first slot, or to be examined; None for one that may be queued.

    In line, because of a hundred thousand jobs of one key only the first few need to be examined.
    """
    if "fair" in rules or "aged" in rules:
        return EXAMINE_NEW
    if "after" in rules:
        return EXAMINE
    return next(iter(limit_slots(rules) + rate_slots(rules)), None)

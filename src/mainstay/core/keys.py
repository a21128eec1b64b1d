"""Uniqueness: the key of a draft, the lock that it takes, and until when."""

from __future__ import annotations

from .clock import milliseconds
from .errors import DuplicateKey, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .clock import Duration
    from .draft import Draft

ON_CONFLICT = ("existing", "replace", "raise")
UNIQUE = ("alive", "start", "forever")
MAX_KEY = 500
FOREVER = -2  # as lock_until: the key outlives its job. PostgreSQL has -1 for a key that is held while the job is alive
GONE = "gone"  # in place of a state: the job that has the key for ever was pruned or deleted
RULE = "key_rule"  # in the policy of a type. Not a name of a draft: code of schema 6 must not follow it
FORGET = "forget_key"  # the action in the audit trail
DUPLICATE = "duplicate"  # the first word of what a retry returns for a job whose key another one holds


def lock(type: str, key: str, unique: str, period: Duration | None, now: int) -> tuple[str, int | None]:
    """Return the text that must be unique for this key, and until when.

    None: while the job is alive. 0: until it starts. `FOREVER`: for ever. Otherwise until that instant.
    """
    if not key or len(key) > MAX_KEY or not key.isprintable():
        raise UsageError(f"key={key[:40]!r}: a key has 1 to {MAX_KEY} printable characters")
    plain = f"{type}:{key}"
    if period is not None:
        length = milliseconds(period)
        if length <= 0:
            raise UsageError("period: give a duration above zero, e.g. period='1h'")
        bucket = now // length
        # No key has a line feed, so no other key gives this text.
        return f"{plain}\n{bucket}/{length}", (bucket + 1) * length
    if unique not in UNIQUE:
        raise UsageError(
            f"unique={unique!r}: 'alive' (until the job has ended), 'start' (until it starts) or 'forever'"
        )
    return plain, {"start": 0, "forever": FOREVER}.get(unique)


def take(draft: Draft, key: Any, unique: str, period: Duration | None, now: int) -> None:
    """Give a draft its key, a text or a rule (`core.fields.by`), and the lock."""
    draft.key = key if isinstance(key, str) else key.text(draft.type, draft.plain)
    draft.lock, draft.lock_until = lock(draft.type, draft.key, unique, period, now)


def pack(values: Mapping[str, Any], relative: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a type declares about keys as JSON can hold it, for producers without the code; None: nothing."""
    key = values.get("key")
    if key is None:
        return None
    made: dict[str, Any] = {"text": key} if isinstance(key, str) else {"by": list(key.paths)}
    if "period" in relative:
        made["period"] = milliseconds(relative["period"])
    elif "unique" in relative:
        made["unique"] = relative["unique"]
    return made | {"on_conflict": values.get("on_conflict", "existing")}


def follow(draft: Draft, rule: Mapping[str, Any]) -> None:
    """Give a draft the key that its type declares; what the producer chose itself stays."""
    chosen = draft.undeclared or ()
    if "on_conflict" not in chosen:
        draft.on_conflict = rule["on_conflict"]
    if draft.key is not None and ("unique" in chosen or "period" in chosen):
        return
    from .fields import rule as named

    key = draft.key if draft.key is not None else rule["text"] if "text" in rule else named(rule["by"])
    period = rule["period"] / 1000 if "period" in rule else None
    take(draft, key, rule.get("unique", "alive"), period, draft.created_at)


def after_prefix(prefix: str) -> str:
    """Return a text that is above every key with this prefix, in the order of code points: no key has its last character."""
    return prefix + "\U0010ffff"


def taken(draft: Draft, holder: str, state: str) -> DuplicateKey:
    """Return the error for a draft whose key a job has."""
    job = f"job {holder} ({state})"
    if state == GONE:
        free = f"`mainstay keys forget {draft.type} {draft.key}` frees it"
        return DuplicateKey(f"{job} has the key {draft.key!r} of type {draft.type} for ever: {free}", holder)
    return DuplicateKey(f"{job} already has the key {draft.key!r} of type {draft.type}", holder)


def held(holder: str, key: str) -> str:
    """Return what a retry returns for a job whose key another job holds; `explained` reads it."""
    return f"{DUPLICATE} {holder} {key}"


def explained(verdict: str) -> str:
    """Return why a retry was refused, from what `held` made."""
    _, holder, key = verdict.split(" ", 2)
    return (
        f"job {holder} holds the key {key!r}: wait for that one to end, or cancel it. A key that is held for ever is freed by "
        "`mainstay keys forget`"
    )

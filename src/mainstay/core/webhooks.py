"""Webhooks: which events an endpoint gets, and when it is disabled (docs/decisions/0042)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from .clock import DAY
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .job import Rule

TYPE = "webhook_dispatch"  # the job type that delivers
WINDOW = DAY  # in which failed deliveries are counted
MAX_FAILURES = 100  # usual
MOST_FAILURES = 1_000
KEPT = 1_000  # deliveries of an endpoint; one that failed is kept for `WINDOW` in any case
KEEP = 30 * DAY  # for which a delivery is kept at most
ANSWER = 1_000  # characters of a reply
BY = "mainstay"  # who disables an endpoint that fails
MANY, GONE, OPERATOR = "max_failures_exceeded", "gone", "operator"  # why an endpoint is disabled
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_EVENT = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


class Figures(NamedTuple):
    """How the deliveries to an endpoint went that are kept."""

    failures: int  # since an instant
    succeeded: int
    failed: int
    ms: int  # that those which succeeded took, in all
    last: int | None  # when the last of these was


def checked_id(name: Any) -> str:
    """Return the id of an endpoint; raise for what is none."""
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise UsageError(
            f"id={name!r:.80}: give up to 64 letters, digits, dots, dashes and underscores, such as billing"
        )
    return str(name)


def checked_event(event: Any) -> str:
    """Return the name of an event; raise for what is none."""
    if not isinstance(event, str) or len(event) > 200 or not _EVENT.fullmatch(event):
        raise UsageError(
            f"the event {event!r:.80} is not valid: give words with dots between them, such as invoice.paid"
        )
    return str(event)


def checked_events(events: Any) -> list[str]:
    """Return the patterns of events that an endpoint gets: `invoice.paid`, `invoice.*` or `*`."""
    given = [events] if isinstance(events, str) else list(events)
    for each in given:
        if each != "*":
            checked_event(each.removesuffix(".*") if isinstance(each, str) else each)
    if not given:
        raise UsageError('events: name at least one, such as "invoice.paid" or "invoice.*"; "*" is all')
    return list(dict.fromkeys(given))


def checked_failures(number: Any) -> int:
    """Return how many failed deliveries within 24 hours disable an endpoint."""
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MOST_FAILURES:
        raise UsageError(f"max_failures={number!r:.40}: give a whole number from 1 to {MOST_FAILURES:,}")
    return int(number)


def wants(patterns: Iterable[str], event: str) -> bool:
    """Whether an endpoint with these patterns gets an event."""
    return any(each in ("*", event) or (each.endswith(".*") and event.startswith(each[:-1])) for each in patterns)


# what a failed delivery does ------------------------------------------------------------------------------------------
def disabled_at(rule: Rule | None, status: int | None) -> int | None:
    """Return with how many failures an endpoint is disabled, now that one has this status; None: it is gone or disabled already."""
    if rule is None or not rule.value["set"]["enabled"]:
        return None
    return 0 if status == 410 else int(rule.value["set"]["max_failures"])


def counted_from(rule: Rule | None, now: int) -> int:
    """Return the instant since which failures count: 24 hours ago, or when the endpoint was last enabled."""
    return max(now - WINDOW, 0 if rule is None else rule.value["set"]["enabled_at"])


def disabled(rule: Rule, status: int | None, now: int) -> Rule:
    """Return an endpoint that a failed delivery has disabled."""
    because = {"enabled": False, "disabled_at": now, "disabled_because": GONE if status == 410 else MANY}
    by = {**rule.value.get("by", {}), **{name: [BY, now] for name in because}}
    return rule._replace(
        value={**rule.value, "set": {**rule.value["set"], **because}, "by": by}, actor=BY, at=now, reason=why(because)
    )


def why(values: Mapping[str, Any]) -> str:
    """Return in words why an endpoint is disabled; "" if it is not."""
    return {
        MANY: "too many deliveries failed",
        GONE: "the receiver replied 410 Gone",
        OPERATOR: "an operator has disabled it",
    }.get(values.get("disabled_because") or "", "")

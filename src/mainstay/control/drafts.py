"""The rules that the options of one job ask for: parents, and an instant by which it has to start."""

from __future__ import annotations

from ..core import rules
from ..core.clock import iso, milliseconds
from ..core.errors import UsageError
from ..core.limits import set_rules
from ..options import instant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..core.draft import Draft


def add_rules(draft: Draft, relative: Mapping[str, Any], now: int) -> None:
    """Give a draft the rules that follow from its parents and from `start_by`, which counts from `now`."""
    found = rules.unpack(draft.rules)
    if draft.after:
        found["after"], found["parents"] = relative.get("if_parent_fails", "cancel"), list(draft.after)
    if "start_by" in relative:
        found["start_by"] = draft.start_by = _start_by(relative["start_by"], draft, now)
    set_rules(draft, found)


def _start_by(value: Any, draft: Draft, now: int) -> int:
    at = instant("start_by", value) if hasattr(value, "timestamp") else now + milliseconds(value)
    if at <= now:
        raise UsageError(
            f"start_by={iso(at)} is in the past: give a later instant, or a duration such as start_by='1h'"
        )
    if draft.run_at is not None and at < draft.run_at:
        raise UsageError(
            f"start_by={iso(at)} is before the job may start ({iso(draft.run_at)}): give a later one, or a shorter delay"
        )
    return at

"""What operators do to jobs: cancel, retry, judge, delete. Each is guarded by the state and leaves a line in the audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .connect import Server


def cancel(server: Server, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Cancel what waits, ask what runs to stop."""
    return _each(ids, server.run("cancel", [now, actor, *ids]))


def retry(server: Server, ids: Sequence[str], now: int, actor: str, judged: int | str) -> dict[str, str]:
    """Queue jobs again, with fresh attempts."""
    return _each(ids, server.run("retry", [judged, now, actor, *ids]))


def delete(server: Server, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Remove jobs that do not run, with all that belongs to them."""
    return _each(ids, server.run("delete", [now, actor, *ids]))


def resolve_review(server: Server, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
    """End a review."""
    verb, done, state = ("approve", "approved", "c") if approve else ("reject", "rejected", "d")
    found = server.run("resolve_review", [now, actor, job_id, state, note or f"{done} by {actor}", verb, note])
    return str(found) or done


def _each(ids: Sequence[str], answers: list[str]) -> dict[str, str]:
    return dict(zip(ids, answers, strict=True))

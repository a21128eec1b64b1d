"""What operators do to jobs: cancel, retry, resolve a review, delete. Each checks the state and writes to the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .store import RedisStore


def cancel(store: RedisStore, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Cancel waiting jobs, ask running ones to stop."""
    return _by_id(ids, store.server.run("cancel", [now, actor, *ids]))


def retry(store: RedisStore, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Queue jobs again, with all attempts."""
    return _by_id(ids, store.server.run("retry", [store.engine_now(now), now, actor, *ids]))


def delete(store: RedisStore, ids: Sequence[str], now: int, actor: str) -> dict[str, str]:
    """Delete jobs that do not run, with everything that belongs to them."""
    return _by_id(ids, store.server.run("delete", [now, actor, *ids]))


def resolve_review(store: RedisStore, job_id: str, approve: bool, now: int, actor: str, note: str) -> str:
    """End a review."""
    verb, done, state = ("approve", "approved", "c") if approve else ("reject", "rejected", "d")
    values = [now, actor, state, note or f"{done} by {actor}", verb, note, job_id]
    (found,) = store.server.run("resolve_review", values)
    return str(found) or done


def _by_id(ids: Sequence[str], results: list[str]) -> dict[str, str]:
    return dict(zip(ids, results, strict=True))

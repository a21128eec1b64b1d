"""Keys that are taken for ever: in a table of their own, because they outlive their jobs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...core.errors import refuse_nul
from ...core.export import Batch, KeyRecord
from ...core.job import KeyInfo
from ...core.keys import FORGET, after_prefix
from ..operations import together
from .actions import AUDIT
from .store import rows

if TYPE_CHECKING:
    from ..operations import Operations
    from .store import SqlStore


def keys(store: SqlStore, prefix: str, limit: int, after: str | None = None) -> list[KeyInfo]:
    """Return keys that start with a prefix, in order."""
    refuse_nul(prefix=prefix)
    key, _, type = (prefix if after is None else after).partition("\n")
    found = store.read(rows(store, "keys", key=key, type=type, end=after_prefix(prefix), limit=limit))
    return [KeyInfo._make((*row[:-1], bool(row[-1]))) for row in found]


def forget_key(store: SqlStore, type: str, key: str, now: int, actor: str, dry_run: bool = False) -> str | None:
    """Free a key that was taken for ever; return the job that had it, or None."""
    refuse_nul(type=type, key=key, actor=actor)
    if dry_run:
        found = store.read(rows(store, "held_key", type=type, key=key))
        return found[0][0] if found else None
    return store.write(lambda: _forget(store, type, key, now, actor))


def _forget(store: SqlStore, type: str, key: str, now: int, actor: str) -> Operations[str | None]:
    found = (yield store.dialect.statement("forget_key", type=type, key=key)).rows
    if not found:
        return None
    job: str = found[0][0]
    line = (now, actor, FORGET, job, json.dumps({"type": type, "key": key}), None)
    yield from together(*store.dialect.insert("action", AUDIT, [line]))
    return job


def export_keys(store: SqlStore, after: str | None, limit: int) -> Batch:
    """Return the next keys as `mainstay move` copies them."""
    found = keys(store, "", limit, after)
    last = found[-1] if len(found) == limit else None
    return Batch([KeyRecord(*each[:-1]) for each in found], f"{last.key}\n{last.type}" if last else None)

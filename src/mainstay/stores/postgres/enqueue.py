"""Inserting jobs: one statement for any number of drafts. Conflicting jobs are read only if some drafts were not inserted."""

from __future__ import annotations

import json
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ...core.draft import Draft
from ...core.errors import DuplicateKey, StoreBusy
from ...core.ids import IDS
from . import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..operations import Operations, Statement
    from .dialect import PostgresDialect
    from .store import PostgresStore

Accepted = tuple[str, bool]
ROUNDS = 10  # tries for a draft whose key is held by a job that is gone when we read it
CHUNK = 5_000  # drafts a statement

_all, _plain = columns.of(Draft, columns.DRAFT), columns.of(Draft, columns.PLAIN)
_rare = attrgetter(*columns.RARE)
_USUAL = _rare(Draft("", ""))


def enqueue(store: PostgresStore, drafts: Sequence[Draft], now: int) -> list[Accepted]:
    """Insert drafts on our own connection. Where one statement is enough, no transaction is opened around it."""
    if not drafts:
        return []
    drafts = list(drafts)
    single = len(drafts) == 1 or (len(drafts) <= CHUNK and all(draft.lock is None for draft in drafts))
    operations = partial(enqueue_operations, store.dialect, drafts, now)
    accepted = store.single(operations()) if single else store.write(operations)
    store.notify()
    return accepted


def enqueue_operations(
    dialect: PostgresDialect, drafts: Sequence[Draft], now: int, ignore_conflicts: bool = False
) -> Operations[list[Accepted]]:
    """Insert the drafts; return for each its id and whether it is new.

    `ignore_conflicts`: nobody reads the result (children of a completed job), so a key that is held raises nothing.
    """
    made = 0
    for draft in drafts:
        if not draft.id:
            draft.id, made = IDS.new(now), made + 1
        draft.created_at = draft.created_at or now
    fresh = made == len(drafts)  # a new id cannot exist yet; a draft that is given twice counts once
    yield from _follow_registrations(dialect, [draft for draft in drafts if draft.undeclared is not None])
    created = 0
    for start in range(0, len(drafts), CHUNK):
        result = yield _insert(dialect, drafts[start : start + CHUNK], now, fresh)
        created += result.count
    if created == len(drafts):
        return [(draft.id, True) for draft in drafts]
    return (yield from _accepted(dialect, drafts, now, ignore_conflicts))


def _follow_registrations(dialect: PostgresDialect, drafts: list[Draft]) -> Operations[None]:
    """Give drafts whose producer lacks the type the queue and policy with which a worker registered it."""
    if not drafts:
        return
    found = yield dialect.statement("enqueue_policy", types=[draft.type for draft in drafts])
    policies = {name: json.loads(policy) for name, policy in found.rows}
    for draft in drafts:
        draft.follow(policies.get(draft.type, {}))


def _insert(dialect: PostgresDialect, drafts: Sequence[Draft], now: int, fresh: bool = False) -> Statement:
    if fresh and list(map(_rare, drafts)).count(_USUAL) == len(drafts):
        return dialect.statement("enqueue_fresh", now=now, **_plain(drafts))
    return dialect.statement("enqueue", now=now, **_stored(drafts))


def _stored(drafts: Sequence[Draft]) -> dict[str, list[Any]]:
    """Return the columns of drafts as they are stored: tags as JSON, -1 for a key that is held while its job is alive."""
    return _all(drafts) | {
        "tags": [json.dumps(draft.tags) if draft.tags else None for draft in drafts],
        "lock_until": [
            None if draft.lock is None else -1 if draft.lock_until is None else draft.lock_until for draft in drafts
        ],
    }


# Conflicts ------------------------------------------------------------------------------------------------------------


def _accepted(
    dialect: PostgresDialect, drafts: Sequence[Draft], now: int, ignore_conflicts: bool
) -> Operations[list[Accepted]]:
    """Return for each draft, of which not all were inserted, the job that it became or the one that holds its key."""
    ids, locks = yield from _existing(dialect, drafts)
    accepted = []
    for draft in drafts:
        if draft.id in ids:
            accepted.append((draft.id, True))  # new, or sent before: the reply to the first was lost
        else:
            holder = locks.get(draft.lock or "")
            accepted.append((yield from _conflict(dialect, draft, holder, now, ignore_conflicts)))
    return accepted


def _existing(
    dialect: PostgresDialect, drafts: Sequence[Draft]
) -> Operations[tuple[set[str], dict[str, tuple[int, str, str]]]]:
    """Return the ids that exist, and by lock the number, id and state of the job that holds it."""
    locks = [draft.lock for draft in drafts if draft.lock is not None]
    found = yield dialect.statement("enqueue_existing", ids=[draft.id for draft in drafts], locks=locks)
    return {row[1] for row in found.rows}, {row[2]: (row[0], row[1], row[3]) for row in found.rows if row[2]}


def _conflict(
    dialect: PostgresDialect, draft: Draft, holder: tuple[int, str, str] | None, now: int, ignore_conflicts: bool
) -> Operations[Accepted]:
    """Return the job that holds the key, replace it, or raise, as the draft says; it may be gone again by now."""
    for _ in range(ROUNDS):
        if holder is not None:
            seq, existing, state = holder
            if draft.on_conflict == "replace" and (yield from _replace(dialect, draft, seq, now)):
                return existing, False
            if draft.on_conflict == "existing" or ignore_conflicts:
                return existing, False
            if draft.on_conflict == "raise" or state not in ("queued", "scheduled"):
                raise DuplicateKey(
                    f"job {existing} ({state}) already has the key {draft.key!r} of type {draft.type}", existing
                )
        elif (yield _insert(dialect, [draft], now)).count:
            return draft.id, True
        ids, locks = yield from _existing(dialect, [draft])
        if draft.id in ids:
            return draft.id, True
        holder = locks.get(draft.lock or "")
    raise StoreBusy(f"the key {draft.key!r} of type {draft.type} changes hands too fast; try again")


def _replace(dialect: PostgresDialect, draft: Draft, seq: int, now: int) -> Operations[bool]:
    values = {name: column[0] for name, column in _stored([draft]).items()}
    changed = yield dialect.statement("enqueue_replace", seq=seq, now=now, **values)
    return bool(changed.rows)

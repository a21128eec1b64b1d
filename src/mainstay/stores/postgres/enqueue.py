"""Inserting jobs: one statement for any number of drafts. Conflicting jobs are read only if some drafts were not inserted."""

from __future__ import annotations

import json
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ...core.draft import Draft
from ...core.errors import QueueFull, StoreBusy
from ...core.ids import IDS
from ...core.keys import FOREVER, taken
from ...core.limits import effective
from ..sql.enqueue import admit_drafts, follow, keep_count, link, replaced, to_examine
from . import columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..operations import Operations, Statement
    from .dialect import PostgresDialect
    from .store import PostgresStore

    Chosen = Callable[[], Operations[list[Draft]]]

Accepted = tuple[str, bool]
Holder = tuple[int | None, str, str]  # number (None: the job is gone), id and state of the job that has a key
ROUNDS = 10  # tries for a draft whose key is held by a job that is gone when we read it
CHUNK = 5_000  # drafts a statement
WAITED = {"limits", "running", "every", "fair", "aging"}  # values of types and queues for which jobs may wait

_all, _plain = columns.of(columns.DRAFT), columns.of(columns.PLAIN)
_rare = attrgetter(*columns.RARE)
_USUAL = _rare(Draft("", ""))


def enqueue(store: PostgresStore, drafts: Sequence[Draft], now: int) -> list[Accepted]:
    """Insert drafts on our own connection. Where one statement is enough, no transaction is opened around it."""
    if not drafts:
        return []
    drafts = list(drafts)
    fresh, unknown = identified(drafts, now), undeclared(drafts)
    if unknown:
        store.single(follow_registrations(store.dialect, unknown))
    try:
        accepted = _accept(store, drafts, now, fresh)
    except QueueFull as error:
        keep_count(store, error, now)
        raise
    store.notify()
    return accepted


class _Ruled(Exception):
    """The types or queues of drafts have rules: these need a transaction of several trips."""


def _accept(store: PostgresStore, drafts: list[Draft], now: int, fresh: bool) -> list[Accepted]:
    if _is_single(drafts):
        try:
            return store.single(insert_operations(store.dialect, drafts, now, fresh, single=True))
        except _Ruled:
            pass
    return store.write(partial(_examined, store, drafts, now, fresh))


def _is_single(drafts: list[Draft]) -> bool:
    """Return whether one statement is enough, or the last of few decides alone."""
    if any(draft.rules is not None or draft.on_conflict == "replace" for draft in drafts):
        return False
    if len(drafts) == 1:
        return drafts[0].lock_until != FOREVER
    return len(drafts) <= CHUNK and all(draft.lock is None for draft in drafts)


def accepting(
    store: PostgresStore, drafts: Sequence[Draft], now: int, chosen: Chosen
) -> Operations[list[Accepted]]:  # fmt: skip
    """Enqueue those of the drafts that `chosen` returns, in the transaction that is open."""
    if not drafts:
        yield from chosen()
        return []
    identified(drafts, now)
    yield from follow_registrations(store.dialect, undeclared(drafts))
    return (yield from _examined(store, drafts, now, False, chosen))


def _examined(
    store: PostgresStore, drafts: Sequence[Draft], now: int, fresh: bool, chosen: Chosen | None = None
) -> Operations[list[Accepted]]:  # fmt: skip
    """Insert drafts, or those of them that `chosen` returns, and examine those that have rules."""
    engine_now = store.engine_now(now)
    if to_examine(drafts) or (yield from _may_wait(store.dialect, drafts)):
        yield store.dialect.statement("admit_lock", now=engine_now)  # before a key or a depth: its holder may want one
    drafts = drafts if chosen is None else (yield from chosen())
    accepted = yield from insert_operations(store.dialect, drafts, now, fresh, examined=True)
    if to_examine(drafts):
        yield from admit_drafts(store.dialect, drafts, engine_now)
    return accepted


def _may_wait(dialect: PostgresDialect, drafts: Sequence[Draft]) -> Operations[bool]:
    """Return whether drafts may get rules for which they wait: from their types, or from queues, which a type's rule may choose."""
    rules = (yield dialect.statement("enqueue_rules")).rows
    if not _concerned(rules, drafts):
        return False
    return any(not WAITED.isdisjoint(effective(json.loads(value))) for _, _, value in rules)


def enqueue_operations(
    dialect: PostgresDialect, drafts: Sequence[Draft], now: int, ignore_conflicts: bool = False
) -> Operations[list[Accepted]]:
    """Insert the drafts; return for each its id and whether it is new.

    `ignore_conflicts`: nobody reads the result (children of a completed job), so a key that is held raises nothing.
    """
    fresh = identified(drafts, now)
    yield from follow_registrations(dialect, undeclared(drafts))
    return (yield from insert_operations(dialect, drafts, now, fresh, ignore_conflicts))


def identified(drafts: Sequence[Draft], now: int) -> bool:
    """Give each draft its id and its time where it has none; return whether all ids are new, so that none can exist yet."""
    return IDS.give(drafts, now) == len(drafts)  # a draft that is given twice counts once


def undeclared(drafts: Sequence[Draft]) -> list[Draft]:
    """Return the drafts whose producer lacks the type."""
    return [draft for draft in drafts if draft.undeclared is not None]


def insert_operations(
    dialect: PostgresDialect, drafts: Sequence[Draft], now: int, fresh: bool, ignore_conflicts: bool = False, *,
    examined: bool = False, single: bool = False,
) -> Operations[list[Accepted]]:  # fmt: skip
    """As `enqueue_operations`, of drafts that have their ids and follow their types.

    Unless they are `examined` in the same transaction, jobs with rules wait for the next claim. `single`: raise `_Ruled`,
    nothing written, if types or queues have rules.
    """
    created, plain = 0, False
    if all(draft.rules is None for draft in drafts):
        created, plain = yield from _inserted(dialect, drafts, now, fresh)
    accepted, ruled = [(draft.id, True) for draft in drafts], False
    if created != len(drafts):
        rules = (yield dialect.statement("enqueue_rules")).rows
        ruled = _concerned(rules, drafts)
        if ruled and single:
            raise _Ruled
        if ruled:
            yield from follow(dialect, drafts, rules, now, lenient=ignore_conflicts, examined=examined)
            created, plain = yield from _inserted(dialect, drafts, now, fresh=False, ruled=True)
        if created != len(drafts):
            accepted = yield from _accepted(dialect, drafts, now, ignore_conflicts)
    if not plain:
        new = (draft for draft, (_, is_new) in zip(drafts, accepted, strict=True) if is_new)
        yield from _keep(dialect, {draft.id: draft for draft in new if draft.lock_until == FOREVER})
    if ruled:
        yield from link(dialect, drafts, accepted)
    return accepted


def _concerned(rules: list[tuple[Any, ...]], drafts: Sequence[Draft]) -> bool:
    """Return whether drafts have rules, or the types or queues that they belong to."""
    found = {(kind, name) for kind, name, _ in rules}
    return any(
        draft.rules is not None or ("type", draft.type) in found or ("queue", draft.queue) in found for draft in drafts
    )


def _inserted(
    dialect: PostgresDialect, drafts: Sequence[Draft], now: int, fresh: bool, ruled: bool = False
) -> Operations[tuple[int, bool]]:  # fmt: skip
    """Insert drafts; return how many are new, and whether all were plain.

    Nothing happens if their types or queues have rules, unless `ruled`: these were applied.
    """
    created, plain = 0, True
    for start in range(0, len(drafts), CHUNK):
        part = drafts[start : start + CHUNK]
        usual = fresh and list(map(_rare, part)).count(_USUAL) == len(part)
        created += (yield _insert(dialect, part, now, usual, ruled)).count
        plain = plain and usual
    return created, plain


def follow_registrations(dialect: PostgresDialect, drafts: list[Draft]) -> Operations[None]:
    """Give drafts whose producer lacks the type the queue and policy with which a worker registered it."""
    if not drafts:
        return
    found = yield dialect.statement("enqueue_policy", types=[draft.type for draft in drafts])
    policies = {name: json.loads(policy) for name, policy in found.rows}
    for draft in drafts:
        draft.follow(policies.get(draft.type, {}))


def _insert(
    dialect: PostgresDialect, drafts: Sequence[Draft], now: int, plain: bool = False, ruled: bool = True
) -> Statement:  # fmt: skip
    if plain:
        return dialect.statement("enqueue_fresh", now=now, ruled=ruled, **_plain(drafts))
    keyed = any(draft.lock is not None for draft in drafts)
    return dialect.statement("enqueue:keyed" if keyed else "enqueue", now=now, ruled=ruled, **_stored(drafts))


def _stored(drafts: Sequence[Draft]) -> dict[str, list[Any]]:
    """Return the columns of drafts as they are stored: tags as JSON, -1 for a key that is held while its job is alive."""
    return _all(drafts) | {
        "tags": [json.dumps(draft.tags) if draft.tags else None for draft in drafts],
        "lock_until": [
            None if draft.lock is None else -1 if draft.lock_until in (None, FOREVER) else draft.lock_until
            for draft in drafts
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


def _existing(dialect: PostgresDialect, drafts: Sequence[Draft]) -> Operations[tuple[set[str], dict[str, Holder]]]:
    """Return the ids that exist, and by lock the number, id and state of the job that holds it."""
    locks = [draft.lock for draft in drafts if draft.lock is not None]
    names = [draft.key or "" for draft in drafts if draft.lock is not None]
    found = yield dialect.statement("enqueue_existing", ids=[draft.id for draft in drafts], locks=locks, keys=names)
    return {row[1] for row in found.rows}, {row[2]: (row[0], row[1], row[3]) for row in found.rows if row[2]}


def _conflict(
    dialect: PostgresDialect, draft: Draft, holder: Holder | None, now: int, ignore_conflicts: bool
) -> Operations[Accepted]:
    """Return the job that holds the key, replace it, or raise, as the draft says; it may be gone again by now."""
    for _ in range(ROUNDS):
        if holder is not None:
            seq, existing, state = holder
            if draft.on_conflict == "replace" and (yield from _replace(dialect, draft, seq, now)):
                yield from _keep(dialect, {existing: draft} if draft.lock_until == FOREVER else {})
                return existing, False
            if draft.on_conflict == "existing" or ignore_conflicts:
                return existing, False
            if draft.on_conflict == "raise" or state not in ("queued", "scheduled", "blocked"):
                raise taken(draft, existing, state)
        elif (yield _insert(dialect, [draft], now)).count:
            return draft.id, True
        ids, locks = yield from _existing(dialect, [draft])
        if draft.id in ids:
            return draft.id, True
        holder = locks.get(draft.lock or "")
    raise StoreBusy(f"the key {draft.key!r} of type {draft.type} changes hands too fast; try again")


def _keep(dialect: PostgresDialect, drafts: dict[str, Draft]) -> Operations[None]:
    """Take the keys of drafts for ever; by the ids of their jobs. A key that another took meanwhile undoes the transaction."""
    if not drafts:
        return
    found = yield dialect.statement(
        "keep_keys", jobs=list(drafts), keys=[draft.key for draft in drafts.values()],
        types=[draft.type for draft in drafts.values()], since=[draft.created_at for draft in drafts.values()],
    )  # fmt: skip
    if {row[0] for row in found.rows} != drafts.keys():
        raise StoreBusy("a key was taken for ever and its job deleted at the same moment; try again")


def _replace(dialect: PostgresDialect, draft: Draft, seq: int | None, now: int) -> Operations[bool]:
    values = {name: column[0] for name, column in _stored([draft]).items()}
    if seq is not None:
        yield from replaced(dialect, draft, seq)
    changed = yield dialect.statement("enqueue_replace", seq=seq, now=now, **values)
    return bool(changed.rows)

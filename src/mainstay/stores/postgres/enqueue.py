"""Accepting jobs: one statement for any number of drafts; whoever is in their way is looked up only when someone is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core.errors import DuplicateKey, StoreBusy
from ...core.ids import IDS
from ..operations import Statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.draft import Draft
    from ..operations import Operations
    from .connect import Database
    from .sql import Statements

Accepted = tuple[str, bool]
_NOTHING = (None,) * 6
ROUNDS = 10  # of a draft whose key is taken by one that is gone when we look
CHUNK = 5_000  # drafts a statement


def enqueue(db: Database, drafts: Sequence[Draft], now: int) -> list[Accepted]:
    """Accept drafts on our own connection. Where one statement does it all, no transaction is opened around it."""
    drafts = list(drafts)
    simple = len(drafts) == 1 or (len(drafts) <= CHUNK and all(draft.lock is None for draft in drafts))
    if simple:
        return db.alone(enqueue_operations(db.load, drafts, now))
    return db.run(lambda: enqueue_operations(db.load, drafts, now))


def enqueue_operations(
    load: Statements, drafts: Sequence[Draft], now: int, alone: bool = False
) -> Operations[list[Accepted]]:
    """Insert the drafts; per draft its id and whether it is new.

    `alone`: nobody waits for the answer (children of a job that is through), so a taken key raises nothing.
    """
    fresh = not any(draft.id for draft in drafts)
    for draft in drafts:
        draft.id = draft.id or IDS.new(now)
        draft.created_at = draft.created_at or now
    fresh = fresh and len({draft.id for draft in drafts}) == len(drafts)  # nobody has sent such ids before
    yield from _follow_declarations(load, [draft for draft in drafts if draft.undeclared is not None])
    created = 0
    for start in range(0, len(drafts), CHUNK):
        answer = yield _insert(load, drafts[start : start + CHUNK], now, fresh)
        created += answer.count
    if created == len(drafts):
        return [(draft.id, True) for draft in drafts]
    return (yield from _sort_out(load, drafts, now, alone))


def _follow_declarations(load: Statements, drafts: list[Draft]) -> Operations[None]:
    """Give drafts whose producer lacks the type the queue and policy with which a worker declared it."""
    if not drafts:
        return
    found = yield Statement(load("enqueue_policy"), ([draft.type for draft in drafts],))
    policies = {name: json.loads(policy) for name, policy in found.rows}
    for draft in drafts:
        draft.follow(policies.get(draft.type, {}))


def _insert(load: Statements, drafts: Sequence[Draft], now: int, fresh: bool = False) -> Statement:
    if all(map(_is_plain, drafts)):
        return Statement(load("enqueue_fresh" if fresh else "enqueue_plain"), _plain_columns(drafts, now))
    return Statement(load("enqueue"), _columns(drafts, now))


def _is_plain(draft: Draft) -> bool:
    """Whether a draft has none of the columns that most do without."""
    rare = (draft.run_at, draft.lock, draft.key, draft.tenant, draft.ref, draft.parent)
    return rare == _NOTHING and not draft.tags


def _plain_columns(drafts: Sequence[Draft], now: int) -> tuple[Any, ...]:
    return (
        [d.id for d in drafts], [d.type for d in drafts], [d.queue for d in drafts], [d.priority for d in drafts],
        [d.max_attempts for d in drafts], [d.timeout for d in drafts], [d.keep for d in drafts],
        [d.created_at for d in drafts], [d.backoff for d in drafts], [d.payload for d in drafts], now,
    )  # fmt: skip


def _columns(drafts: Sequence[Draft], now: int) -> tuple[Any, ...]:
    waits = [d.run_at if d.run_at is not None and d.run_at > now else None for d in drafts]
    return (
        [d.id for d in drafts], [d.type for d in drafts], [d.queue for d in drafts],
        ["queued" if at is None else "scheduled" for at in waits], [d.priority for d in drafts],
        [now if at is None else at for at in waits], [d.run_at for d in drafts], [d.max_attempts for d in drafts],
        [d.timeout for d in drafts], [d.keep for d in drafts], [d.created_at for d in drafts],
        [d.backoff for d in drafts], [d.payload for d in drafts], [d.lock for d in drafts],
        [d.lock_until for d in drafts], [d.key for d in drafts], [d.tenant for d in drafts], [d.ref for d in drafts],
        [_tags(d) for d in drafts], [d.parent for d in drafts],
    )  # fmt: skip


def _tags(draft: Draft) -> str | None:
    return json.dumps(draft.tags) if draft.tags else None


# Someone is in the way ------------------------------------------------------------------------------------------------


def _sort_out(load: Statements, drafts: Sequence[Draft], now: int, alone: bool) -> Operations[list[Accepted]]:
    """Not every draft became a job: find for each the one that it became, or the one that has its key."""
    ids, locks = yield from _existing(load, drafts)
    answers = []
    for draft in drafts:
        if draft.id in ids:
            answers.append((draft.id, True))  # new, or sent before: its answer was lost
        else:
            holder = locks.get(draft.lock or "")
            answers.append((yield from _conflict(load, draft, holder, now, alone)))
    return answers


def _existing(
    load: Statements, drafts: Sequence[Draft]
) -> Operations[tuple[set[str], dict[str, tuple[int, str, str]]]]:
    """The ids that are there, and by lock the number, id and state of the job that has it."""
    wanted = [draft.id for draft in drafts], [draft.lock for draft in drafts if draft.lock is not None]
    found = yield Statement(load("enqueue_existing"), wanted)
    return {row[1] for row in found.rows}, {row[2]: (row[0], row[1], row[3]) for row in found.rows if row[2]}


def _conflict(
    load: Statements, draft: Draft, holder: tuple[int, str, str] | None, now: int, alone: bool
) -> Operations[Accepted]:
    """Accepted the job that has the key, replace it, or refuse, as the draft says; it may be gone again by now."""
    for _ in range(ROUNDS):
        if holder is not None:
            seq, existing, state = holder
            if draft.on_conflict == "replace" and (yield from _replace(load, draft, seq, now)):
                return existing, False
            if draft.on_conflict == "existing" or alone:
                return existing, False
            if draft.on_conflict == "raise" or state not in ("queued", "scheduled"):
                raise DuplicateKey(
                    f"job {existing} ({state}) already has the key {draft.key!r} of type {draft.type}", existing
                )
        elif (yield _insert(load, [draft], now)).count:
            return draft.id, True
        ids, locks = yield from _existing(load, [draft])
        if draft.id in ids:
            return draft.id, True
        holder = locks.get(draft.lock or "")
    raise StoreBusy(f"the key {draft.key!r} of type {draft.type} changes hands too fast; try again")


def _replace(load: Statements, draft: Draft, seq: int, now: int) -> Operations[bool]:
    waits = draft.run_at is not None and draft.run_at > now
    changed = yield Statement(
        load("enqueue_replace"),
        (
            seq, draft.queue, "scheduled" if waits else "queued", draft.priority, draft.run_at if waits else now,
            draft.run_at, draft.lock_until, draft.max_attempts, draft.lock, draft.timeout, draft.keep, draft.backoff,
            draft.payload, draft.tenant, draft.ref, _tags(draft),
        ),
    )  # fmt: skip
    return bool(changed.rows)

"""Accepting jobs. Cold producers come through here: keep the imports light and the statements few."""

from __future__ import annotations

from ...core.errors import DuplicateKey
from ...core.ids import IDS
from ..operations import Statement
from .sql import batches, load, many, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from typing import Any

    from ...core.draft import Draft
    from ..operations import Operations


Accepted = tuple[str, bool]
_NOTHING = (None,) * 6


def enqueue(connection: sqlite3.Connection, drafts: Sequence[Draft], now: int, alone: bool = False) -> list[Accepted]:
    """Insert the drafts inside the transaction that is open; per draft its id and whether it is new."""
    return run(connection, enqueue_operations(drafts, now, alone))


def enqueue_operations(drafts: Sequence[Draft], now: int, alone: bool = False) -> Operations[list[Accepted]]:
    """As `enqueue`, on whichever connection.

    `alone`: nobody waits for the answer (children of a job that is through), so a taken key raises nothing.
    """
    for draft in drafts:
        if not draft.id:
            draft.id = IDS.new(now)
        if not draft.created_at:
            draft.created_at = now
        if draft.undeclared is not None:
            yield from _follow_declaration(draft)
    if len(drafts) > 1 and all(draft.lock is None and not draft.tags for draft in drafts):
        return (yield from _bulk(drafts, now))
    return (yield from _each(drafts, now, alone))


def _follow_declaration(draft: Draft) -> Operations[None]:
    """Give a draft whose producer lacks the type the queue and policy with which a worker declared it."""
    rows, _ = yield Statement(load("enqueue_policy"), {"name": draft.type})
    if not rows:
        return
    import json

    draft.follow(json.loads(rows[0][0]))


def _each(drafts: Sequence[Draft], now: int, alone: bool = False) -> Operations[list[Accepted]]:
    accepted = []
    for draft in drafts:
        accepted += [(yield from _one(draft, now, alone))]
    return accepted


def _one(draft: Draft, now: int, alone: bool) -> Operations[Accepted]:
    _, count = yield Statement(load("enqueue"), _row(None, draft, now))
    if not count:
        return (yield from _conflict(draft, now, alone))
    yield Statement(load("enqueue_one_body"), _body(None, draft)[1:])
    for tag in draft.tags:
        yield Statement(load("enqueue_one_tag"), (tag,))
    return draft.id, True


def _bulk(drafts: Sequence[Draft], now: int) -> Operations[list[Accepted]]:
    """Many drafts without keys: the first insert takes the write lock and the number from which the others count on."""
    _, count = yield Statement(load("enqueue"), _row(None, drafts[0], now))
    if not count:  # there already; and then the last number is of some other row
        return (yield from _each(drafts, now))
    rows, _ = yield Statement("SELECT last_insert_rowid()")
    seq: int = rows[0][0]
    plain = all(map(_is_plain, drafts))
    jobs, bodies = ("enqueue_plain", "enqueue_plain_body") if plain else ("enqueue", "enqueue_body")
    row, body = (_plain_row, _plain_body) if plain else (_row, _body)
    created = 1
    for start, size in batches(len(drafts) - 1):
        flat: list[Any] = []
        for n in range(start + 1, start + 1 + size):
            flat += row(seq + n, drafts[n], now)
        _, count = yield Statement(many(jobs, size), flat)
        created += count
    if created != len(drafts):
        return (yield from _again(drafts, seq, now))
    for start, size in batches(len(drafts)):
        flat = []
        for n in range(start, start + size):
            flat += body(seq + n, drafts[n])
        yield Statement(many(bodies, size), flat)
    return [(draft.id, True) for draft in drafts]


def _is_plain(draft: Draft) -> bool:
    """Whether a draft has none of the columns that most do without."""
    rare = (draft.run_at, draft.backoff, draft.key, draft.tenant, draft.ref, draft.parent)
    return rare == _NOTHING


def _plain_row(seq: int, draft: Draft, now: int) -> tuple[Any, ...]:
    return (
        seq, draft.id, draft.type, draft.queue, draft.priority, now, draft.max_attempts, draft.timeout, draft.keep,
        draft.created_at,
    )  # fmt: skip


def _plain_body(seq: int, draft: Draft) -> tuple[Any, ...]:
    return seq, draft.payload


def _again(drafts: Sequence[Draft], seq: int, now: int) -> Operations[list[Accepted]]:
    """Some ids were there already (a batch sent twice): take the batch out again and insert one by one."""
    yield Statement(
        "DELETE FROM mainstay_job WHERE seq BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM mainstay_body WHERE job = seq)",
        (seq, seq + len(drafts)),
    )
    return (yield from _each(drafts, now))


def _row(seq: int | None, draft: Draft, now: int) -> tuple[Any, ...]:
    run_at = draft.run_at
    waits = run_at is not None and run_at > now
    return (
        seq, draft.id, draft.type, draft.queue, "scheduled" if waits else "queued", draft.priority,
        run_at if waits else now, run_at, draft.max_attempts, draft.lock, draft.lock_until, draft.timeout, draft.keep,
        draft.backoff, draft.created_at,
    )  # fmt: skip


def _body(seq: int | None, draft: Draft) -> tuple[Any, ...]:
    return seq, draft.payload, draft.key, draft.tenant, draft.ref, _tags(draft), draft.parent


def _tags(draft: Draft) -> str | None:
    if not draft.tags:
        return None
    import json

    return json.dumps(draft.tags)


def _conflict(draft: Draft, now: int, alone: bool) -> Operations[Accepted]:
    """The id or the lock is taken: answer the job that has it, replace it, or refuse, as the draft says."""
    rows, _ = yield Statement(load("enqueue_existing"), {"id": draft.id, "lock": draft.lock})
    seq, existing, state = rows[0]
    if existing == draft.id:
        return existing, True  # the same draft sent twice: its answer was lost
    if draft.on_conflict == "replace" and (yield from _replace(draft, seq, now)):
        return existing, False
    if draft.on_conflict == "existing" or alone:
        return existing, False
    raise DuplicateKey(f"job {existing} ({state}) already has the key {draft.key!r} of type {draft.type}", existing)


def _replace(draft: Draft, seq: int, now: int) -> Operations[bool]:
    row = _row(seq, draft, now)
    names = ("seq", "id", "type", "queue", "state", "priority", "ord", "run_at", "max_attempts", "lock", "lock_until",
             "timeout", "keep", "backoff", "created_at")  # fmt: skip
    _, count = yield Statement(load("enqueue_replace"), dict(zip(names, row, strict=True)))
    if count == 0:
        return False
    tags, _ = yield Statement(load("tags"), {"seqs": f"[{seq}]"})
    for before in tags:
        yield Statement(load("untag"), before)
    bound = {"seq": seq, "payload": draft.payload, "tenant": draft.tenant, "ref": draft.ref, "tags": _tags(draft)}
    yield Statement(load("enqueue_replace_body"), bound)
    for tag in draft.tags:
        yield Statement(load("enqueue_tag"), (tag, seq))
    return True

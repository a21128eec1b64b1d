"""Accepting jobs. Cold producers come through here: keep the imports light and the statements few."""

from __future__ import annotations

from ...core.errors import QueueFull
from ...core.ids import IDS
from ...core.keys import FOREVER, taken
from ..operations import OLD_WORK, Statement
from . import inserts
from .sql import batches, load, many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...core.draft import Draft
    from ..operations import Operations
    from .store import SqliteStore


Accepted = tuple[str, bool]


def enqueue(store: SqliteStore, drafts: Sequence[Draft], now: int) -> list[Accepted]:
    """Accept jobs in one write transaction, then wake the workers; return per draft its id and whether it is new."""
    try:
        accepted = store.single(_enqueue(drafts, now))
    except QueueFull as error:
        from ..sql.enqueue import keep_count

        keep_count(store, error, now)
        raise
    store.notify()
    return accepted


def _enqueue(drafts: Sequence[Draft], now: int) -> Operations[list[Accepted]]:
    accepted = yield from enqueue_operations(drafts, now, examined=True)
    if any(draft.waits is not None or draft.on_conflict == "replace" for draft in drafts):
        from ..sql.enqueue import admit_drafts
        from .dialect import DIALECT

        yield from admit_drafts(DIALECT, drafts, now)
    return accepted


def accepting(
    _store: SqliteStore, _drafts: Sequence[Draft], now: int, chosen: Callable[[], Operations[list[Draft]]]
) -> Operations[list[Accepted]]:  # fmt: skip
    """Enqueue the drafts that `chosen` returns, in the transaction that is open."""
    drafts = yield from chosen()
    return (yield from _enqueue(drafts, now)) if drafts else []


def enqueue_operations(
    drafts: Sequence[Draft], now: int, ignore_conflicts: bool = False, examined: bool = False
) -> Operations[list[Accepted]]:  # fmt: skip
    """Insert the drafts inside the transaction that is open, on any connection; return as `enqueue` does.

    With `ignore_conflicts` a key that is taken raises nothing: for children, whose parent has already completed. Unless they
    are `examined` in the same transaction, jobs with rules wait for the next claim.
    """
    IDS.give(drafts, now)
    for draft in drafts:
        if draft.undeclared is not None:
            yield from _follow_registration(draft)
    ruled, _ = yield Statement(load("enqueue_rules"))
    if ruled or any(draft.rules is not None for draft in drafts):
        return (yield from _ruled(drafts, now, ruled, ignore_conflicts, examined))
    if len(drafts) == 1:
        return [(yield from _one(drafts[0], now, ignore_conflicts))]
    return (yield from _insert(drafts, now, ignore_conflicts))


def _ruled(
    drafts: Sequence[Draft], now: int, ruled: Sequence[tuple[str, str, str]], ignore_conflicts: bool, examined: bool
) -> Operations[list[Accepted]]:  # fmt: skip
    """Insert drafts of which some have rules, or of whose types and queues some have."""
    from ..sql.enqueue import follow, link
    from .dialect import DIALECT

    drafts = yield from follow(DIALECT, drafts, ruled, now, lenient=ignore_conflicts, examined=examined)
    accepted = yield from _insert(drafts, now, ignore_conflicts)
    yield from link(DIALECT, drafts, accepted)
    return accepted


def _insert(drafts: Sequence[Draft], now: int, ignore_conflicts: bool) -> Operations[list[Accepted]]:
    if len(drafts) > 1:
        plain = inserts.all_plain(drafts)
        if plain or all(draft.lock is None and not draft.tags for draft in drafts):
            return (yield from _bulk(drafts, now, plain))
    return (yield from _each(drafts, now, ignore_conflicts))


def _follow_registration(draft: Draft) -> Operations[None]:
    rows, _ = yield Statement(load("enqueue_policy"), {"name": draft.type})
    if rows:
        import json

        draft.follow(json.loads(rows[0][0]))


def _each(drafts: Sequence[Draft], now: int, ignore_conflicts: bool = False) -> Operations[list[Accepted]]:
    accepted = []
    for draft in drafts:
        accepted += [(yield from _one(draft, now, ignore_conflicts))]
    return accepted


def _one(draft: Draft, now: int, ignore_conflicts: bool) -> Operations[Accepted]:
    insert, body = inserts.one(draft, now)
    if draft.lock is not None:
        insert = inserts.insert_keyed(draft, now)
    _, count = yield Statement(*insert)
    if not count:
        return (yield from _conflict(draft, now, ignore_conflicts))
    yield Statement(*body)
    for tag in draft.tags:
        yield Statement(inserts.INSERT_TAG, (tag,))
    if draft.lock_until == FOREVER:
        yield _key(draft, draft.id)
    return draft.id, True


def _key(draft: Draft, job: str) -> Statement:
    """Return the statement that takes the key of a draft for ever."""
    return Statement(inserts.INSERT_KEY, (draft.key, draft.type, job, draft.created_at))


def _bulk(drafts: Sequence[Draft], now: int, plain: bool) -> Operations[list[Accepted]]:
    """Insert many drafts without keys. The first insert takes the write lock and the number from which the others count."""
    insert, _ = inserts.one(drafts[0], now)
    _, count = yield Statement(*insert)
    if not count:  # its id is there already, and `last_insert_rowid` tells of another row
        return (yield from _each(drafts, now))
    rows, _ = yield Statement("SELECT last_insert_rowid()")
    seq: int = rows[0][0]
    created = 1 + (yield from _insert_jobs(drafts[1:], seq + 1, now, plain))
    if created != len(drafts):
        return (yield from _again(drafts, seq, now))
    columns = inserts.PLAIN_BODY if plain else inserts.BODY
    for start, size in batches(len(drafts)):
        values = inserts.body_rows(drafts[start : start + size], seq + start, plain)
        yield Statement(many(inserts.BODY_OF[columns], size), values)
    return [(draft.id, True) for draft in drafts]


def _insert_jobs(drafts: Sequence[Draft], seq: int, now: int, plain: bool) -> Operations[int]:
    """Insert job rows that are numbered from `seq` on; return how many are new."""
    columns, created = inserts.PLAIN_JOB if plain else inserts.JOB, 0
    for start, size in batches(len(drafts)):
        values = inserts.job_rows(drafts[start : start + size], seq + start, plain)
        _, count = yield Statement(inserts.insert_jobs(columns, size), [now, *values])
        created += count
    return created


def _again(drafts: Sequence[Draft], seq: int, now: int) -> Operations[list[Accepted]]:
    """Insert a batch one by one, of which some ids are there already because it is sent for the second time."""
    yield Statement(
        "DELETE FROM mainstay_job WHERE seq BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM mainstay_body WHERE job = seq)",
        (seq, seq + len(drafts)),
    )
    return (yield from _each(drafts, now))


def _conflict(draft: Draft, now: int, ignore_conflicts: bool) -> Operations[Accepted]:
    """Return the job that has the id or the lock, replace it, or raise, as the draft says."""
    bound = {"id": draft.id, "lock": draft.lock, "key": draft.key, "type": draft.type}
    rows, _ = yield Statement(load("enqueue_existing"), bound)
    seq, existing, state = rows[0]
    if existing == draft.id:
        return existing, True  # the same draft sent twice: the reply to the first was lost
    if draft.on_conflict == "replace" and (yield from _replace(draft, seq, now)):
        if draft.lock_until == FOREVER:
            yield _key(draft, existing)
        return existing, False
    if draft.on_conflict == "existing" or ignore_conflicts:
        return existing, False
    raise taken(draft, existing, state)


def _replace(draft: Draft, seq: int, now: int) -> Operations[bool]:
    job, body, values = inserts.replacement(draft)
    bound = values | {"seq": seq, "now": now}
    from ..sql.enqueue import replaced
    from .dialect import DIALECT

    yield from replaced(DIALECT, draft, seq)
    _, count = yield Statement(load("enqueue_replace").replace("{columns}", job), bound)
    if count == 0:
        return False
    tags, _ = yield Statement(load("tags"), {"seqs": f"[{seq}]"})
    for before in tags:
        yield Statement(load("untag"), before)
    for table in OLD_WORK:
        yield Statement(f"DELETE FROM mainstay_{table} WHERE job = ?", (seq,))  # noqa: S608  (our names)
    yield Statement(f"UPDATE mainstay_body SET {body} WHERE job = :seq", bound)  # noqa: S608  (our names)
    for tag in draft.tags:
        yield Statement(load("enqueue_tag"), (tag, seq))
    return True

"""What enqueue does with jobs that have rules, or whose types or queues have: parents, depth, admission."""

from __future__ import annotations

import json
from random import randrange
from typing import TYPE_CHECKING, Any

from ...core.admission import carried
from ...core.depth import ONE_IN, depth_meter, full, refused
from ...core.errors import NotFound
from ...core.limits import effective, follow_queue, follow_type
from ..operations import together
from .admission import LOWEST, MOST, defer, drafted, examine, give_back, wake
from .rates import METER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...core.draft import Draft
    from ...core.errors import QueueFull
    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore

# A queue that seems full is counted again after one ms for so many jobs: a count takes a few per cent of that.
A_MS = 100
LARGE = 1_000  # jobs that may hold a slot: to count them takes longer than to look at the first in line
UNKNOWN = -1  # the depth of a queue that was never counted
BEYOND = 1_000  # jobs that are counted beyond the depth: children and retried jobs are never refused


def follow(
    dialect: Dialect, drafts: Sequence[Draft], ruled: Iterable[tuple[str, str, str]], now: int, lenient: bool, examined: bool
) -> Operations[list[Draft]]:  # fmt: skip
    """Apply the rules of types and queues to drafts; raise `TypeDisabled` or `QueueFull`, unless `lenient`.

    A draft that is sent again has its rules already: they are replaced by the same.
    """
    found = {(kind, name): effective(json.loads(value)) for kind, name, value in ruled}
    types = sorted({draft.type for draft in drafts if ("type", draft.type) in found})
    policies = {}
    if types:
        rows = (yield dialect.statement("enqueue_policies", types=types)).rows
        policies = {name: json.loads(policy) for name, policy in rows}
    for draft in drafts:
        of_type = found.get(("type", draft.type), {})
        if lenient:
            of_type = {name: value for name, value in of_type.items() if name != "disabled"}
        follow_type(draft, of_type, policies.get(draft.type, {}))
        follow_queue(draft, found.get(("queue", draft.queue), {}))  # the type's rule may have chosen another
    if not examined:
        defer(drafts)
    if not lenient:
        for queue in sorted({draft.queue for draft in drafts}):
            limits = found.get(("queue", queue), {})
            if limits.get("max_depth"):
                some = [draft for draft in drafts if draft.queue == queue]
                yield from _check_depth(dialect, queue, limits, some, now, joined=not examined)
    return list(drafts)


def _check_depth(
    dialect: Dialect, queue: str, limits: dict[str, Any], drafts: Sequence[Draft], now: int, joined: bool
) -> Operations[None]:  # fmt: skip
    """Raise `QueueFull` if a queue would get deeper than it may be. The counter only grows; it is set right before it refuses.

    In a caller's transaction (`joined`) the counter is not used, unless the transaction excludes all other writers in any case: a
    counter is locked until the commit, and a caller may take long. The jobs are counted instead, as far as they may be.
    """
    depth, again, unlocked = depth_meter(queue), False, joined and not dialect.one_writer
    found = {} if unlocked else (yield from _depth_meters(dialect, queue))
    if full(found.get(depth), limits, len(drafts)):
        drafts = yield from _new(dialect, drafts)
        if not drafts:
            return
        again = now - found.get(depth_meter(queue, "counted"), 0) >= limits["max_depth"] // A_MS
        if again:
            found |= yield from _counted(dialect, queue, limits["max_depth"], now)
    if joined:  # a refusal undoes the caller's transaction, and what was counted in it: chance decides
        found[depth_meter(queue, "sampled")] = randrange(limits.get("one_in", ONE_IN))
    error = refused(queue, limits, drafts, found)
    if error is not None:
        error.counted = again
        raise error
    if not unlocked:
        found[depth] = found.get(depth, 0) + len(drafts)
        yield from together(*dialect.upsert("meter", METER, list(found.items())))


def _depth_meters(dialect: Dialect, queue: str) -> Operations[dict[str, int]]:
    """Return the meters of a queue's depth, locked.

    A meter that is not there cannot be locked: it is made, and no longer empty if another transaction has made it.
    """
    names = [depth_meter(queue, what) for what in ("", "counted", "sampled")]
    found = dict((yield dialect.statement("meters_locked", names=names)).rows)
    if names[0] not in found:
        yield dialect.statement("meter_make", name=names[0], value=UNKNOWN)
        found = dict((yield dialect.statement("meters_locked", names=names)).rows)
    return {name: value for name, value in found.items() if value != UNKNOWN}


def count_in(dialect: Dialect, queue: str, jobs: int) -> Operations[None]:
    """Count jobs that an operator has moved into a queue, if its depth is known. None is refused."""
    found = dict((yield dialect.statement("meters_locked", names=[depth_meter(queue)])).rows)
    if found.get(depth_meter(queue), UNKNOWN) != UNKNOWN:
        yield from together(*dialect.upsert("meter", METER, [(name, depth + jobs) for name, depth in found.items()]))


def _counted(dialect: Dialect, queue: str, most: int, now: int) -> Operations[dict[str, int]]:
    """Return the depth of a queue and when it was counted: now."""
    ((depth,),) = (yield dialect.statement("depth", queue=queue, limit=most + BEYOND)).rows
    return {depth_meter(queue): depth, depth_meter(queue, "counted"): now}


def _new(dialect: Dialect, drafts: Sequence[Draft]) -> Operations[list[Draft]]:
    """Return the drafts that become new jobs: those that were not sent before, and whose key no job has."""
    locks = [draft.lock for draft in drafts if draft.lock is not None]
    found = yield from together(
        dialect.statement("seqs", ids=[draft.id for draft in drafts]),
        dialect.statement("locked_keys", locks=locks, keys=[draft.key for draft in drafts if draft.lock is not None]),
    )
    known, held = ({row[0] for row in each.rows} for each in found)
    return [draft for draft in drafts if draft.id not in known and draft.lock not in held]


def keep_count(store: SqlStore, error: QueueFull, now: int) -> None:
    """Keep how deep a queue is that has refused a job: the next one must not count again.

    The transaction that counted is undone, and others may have added jobs since: this one counts for itself.
    """
    if error.counted or error.how == "sample":
        store.write(lambda: _keep_count(store.dialect, error, now))


def _keep_count(dialect: Dialect, error: QueueFull, now: int) -> Operations[None]:
    found = yield from _depth_meters(dialect, error.queue)
    if error.counted:
        found |= yield from _counted(dialect, error.queue, error.max_depth, now)
    if error.how == "sample":
        sampled = depth_meter(error.queue, "sampled")
        found[sampled] = found.get(sampled, 0) + 1
    yield from together(*dialect.upsert("meter", METER, list(found.items())))


def link(dialect: Dialect, drafts: Sequence[Draft], accepted: Sequence[tuple[str, bool]]) -> Operations[None]:
    """Record the parents of jobs that were accepted now; raise `NotFound` for one that does not exist."""
    children = [draft for draft, (id, _) in zip(drafts, accepted, strict=True) if draft.after and draft.id == id]
    if not children:
        return
    seqs = dict((yield dialect.statement("seqs", ids=[draft.id for draft in children])).rows)
    for draft in children:
        yield from link_one(dialect, draft, seqs[draft.id])


def link_one(dialect: Dialect, draft: Draft, child: int) -> Operations[None]:
    """Record the parents of one job."""
    seqs = dict((yield dialect.statement("seqs", ids=list(draft.after))).rows)
    missing = [id for id in draft.after if id not in seqs]
    if missing:
        raise NotFound(f"after: there is no job {missing[0]}; give jobs that are enqueued already")
    yield dialect.statement("after", child=child, parents=list(seqs.values()))


def replaced(dialect: Dialect, draft: Draft, seq: int) -> Operations[None]:
    """Do what follows from a draft that replaces a job: its slots are given back, its parents are others.

    Comes before the job is changed. One that runs is left alone.
    """
    before = (yield dialect.statement("rules_of", seqs=[seq])).rows
    if before and before[0][0]:
        freed = yield from give_back(dialect, [(seq, before[0][0])])
        yield dialect.statement("after_remove", seqs=[seq])
        yield from wake(dialect, freed)
    if before and draft.after:
        yield from link_one(dialect, draft, seq)


def admit_drafts(dialect: Dialect, drafts: Sequence[Draft], now: int | None) -> Operations[int]:
    """Examine what drafts have brought: those to be examined, and the lines that they have joined.

    As many as there are drafts: of a fair queue, those that nobody has examined would wait behind all that came before.
    """
    highest = max((draft.priority for draft in drafts if draft.waits is not None), default=LOWEST)
    like, most = [draft.rules for draft in drafts], max(MOST, len(drafts))
    lines = drafted(drafts) - (yield from _behind_others(dialect, drafts))
    return (yield from examine(dialect, now, lines, highest, most, like, joined=len(drafts)))


def _behind_others(dialect: Dialect, drafts: Sequence[Draft]) -> Operations[set[str]]:
    """Return lines of large limits in which drafts stand behind jobs that came before them.

    What holds these back holds the drafts back too: nobody has to count tens of thousands of holders to see that.
    """
    first = {draft.waits: draft.id for draft in reversed(drafts) if draft.waits and _is_large(draft)}
    if not first:
        return set()
    found = yield from together(
        dialect.statement("admit_heads", slots=sorted(first), ahead=1),
        dialect.statement("seqs", ids=list(first.values())),
    )
    seqs = dict(found[1].rows)
    return {waits for seq, *_, waits in found[0].rows if seq < seqs.get(first[waits], 0)}  # 0: another job has its key


def _is_large(draft: Draft) -> bool:
    """Return whether a draft stands in line at a limit that so many may hold that to count them takes long."""
    slots = zip(carried(draft.rules).limits, carried(draft.rules).rules.get("limits", ()), strict=True)
    return any(slot == draft.waits and running >= LARGE for slot, (_, _, running) in slots)


def to_examine(drafts: Iterable[Draft]) -> bool:
    """Return whether jobs are to be examined after these were accepted; one that was replaced may have given a slot back."""
    return any(draft.waits is not None or draft.on_conflict == "replace" for draft in drafts)

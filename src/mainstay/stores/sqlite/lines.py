"""Claims the first jobs in line at slots that have room, without queueing them first (docs/decisions/0031).

Only a claim that has found no more queued jobs in its lanes does so: whatever comes first in their order has been taken by then.
The slots come in the order in which they were given back. A claim fills one after the other, so it reads and writes few lines.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.admission import carried, measure
from ..operations import together
from ..sql.admission import HOLD, examine, keep, limits_of
from .dialect import DIALECT
from .sql import load, run

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ...core.admission import Carried
    from ...core.job import Claimed
    from .store import SqliteStore

    Columns = dict[str, Sequence[Any]]
    Place = tuple[int, int, str, str]  # rank, order and number of a job, and the slot at which it waits
    Kept = tuple[int, str, int]  # the number of a slot that may have room, its name, and how many jobs hold it

SLOTS, FEW = 500, 50  # slots read at once: as many as jobs are wanted, within these bounds
ALONE = 100  # a claim for more jobs leaves half of the slots to others: a job that waits in a worker for a thread uses up its limit
MOST = 100  # jobs read of one line


class Seats(NamedTuple):
    """What a claim does with some slots: the last that it looked at, the jobs that it takes, and the slots that stay kept."""

    last: int
    first: Sequence[Place]
    left: set[str]


def take(
    connection: sqlite3.Connection, wants: Mapping[str, Sequence[str]], limit: int, like: Iterable[str | None],
    read: Callable[[list[str]], Columns], give: Callable[[Columns], list[Claimed]],
) -> tuple[list[Claimed], bool]:  # fmt: skip
    """Take up to `limit` jobs in line at the slots that are kept; `like` are rules of jobs that have held some of these.

    Returns them, and whether `sql.admission.examine` has to look at the slots that are left: some job there has other rules than
    one limit, or this worker does not want it.
    """
    jobs: list[Claimed] = []
    known, most = [carried(text) for text in {*like} if text], min(max(limit, FEW), SLOTS)
    while len(jobs) < limit:
        kept = connection.execute(load("freed_first"), {"limit": most}).fetchall()
        if not kept:
            break
        seats = _seats(connection, kept, known, limit - len(jobs))
        columns = read([seq for _, _, seq, _ in seats.first]) if seats and seats.first else {}
        if seats is None or not _simple(columns, seats.first, wants):
            return jobs, True
        connection.execute(load("freed_remove"), {"last": seats.last})
        held = [(slot, seq) for _, _, seq, slot in seats.first]
        run(connection, together(*DIALECT.insert("hold", HOLD, held), *keep(DIALECT, seats.left)))
        jobs += give(columns) if columns else []
        if limit > ALONE:
            break
    return jobs, False


def _seats(connection: sqlite3.Connection, kept: list[Kept], known: Sequence[Carried], limit: int) -> Seats | None:
    """Return the first jobs in line at slots that have room; None if `examine` has to decide."""
    rooms = _rooms(connection, kept, known)
    if rooms is None:
        return None
    last, rooms = _needed(kept, rooms, limit)
    places = _first(connection, rooms)
    read = Counter(slot for *_, slot in places)
    more = {slot for slot, room in rooms.items() if room > MOST == read[slot]}
    return Seats(last, places[:limit], more | {slot for *_, slot in places[limit:]})


def _rooms(connection: sqlite3.Connection, kept: list[Kept], given: Sequence[Carried]) -> dict[str, int] | None:
    """Return how many more jobs may hold each slot; None if a limit is not known, or a slot is that of a rate."""
    measures = {slot: measure(slot) for _, slot, _ in kept}
    names = {name for name, _ in measures.values()}
    if any(rate for _, rate in measures.values()):
        return None
    stored = connection.execute(DIALECT.text("admit_limits"), {"names": json.dumps(sorted(names))}).fetchall()
    known = limits_of(given, stored)
    most: dict[str, Any] = {name: known.get(name, {}).get("running") for name in names}
    if None in most.values():
        return None
    return {slot: most[measures[slot][0]] - held for _, slot, held in kept}


def _needed(kept: list[Kept], rooms: dict[str, int], limit: int) -> tuple[int, dict[str, int]]:
    """Return the number of the last slot that a claim needs, and the room of each up to there that has any."""
    share, last, found = len(kept) if limit <= ALONE else -(-len(kept) // 2), 0, {}
    for last, slot, _ in kept[:share]:  # noqa: B007
        if rooms[slot] > 0:
            found[slot] = rooms[slot]
            limit -= rooms[slot]
        if limit <= 0:
            break
    return last, found


def _first(connection: sqlite3.Connection, rooms: dict[str, int]) -> list[Place]:
    """Return the first jobs in line, as many as there is room for, in their order."""
    lines: dict[int, list[str]] = {}
    for slot, room in rooms.items():
        lines.setdefault(min(room, MOST), []).append(slot)
    places: list[Place] = []
    for ahead, slots in lines.items():
        places += connection.execute(load("line_heads"), {"slots": json.dumps(slots), "ahead": ahead}).fetchall()
    return sorted(places)


def _simple(columns: Columns, first: Sequence[Place], wants: Mapping[str, Sequence[str]]) -> bool:
    """Return whether all of these jobs were read, have one limit and no other rule, and a worker wants them."""
    if not first:
        return True
    lanes = {*zip(columns["queue"], columns["type"], strict=True)}
    wanted = all(type in wants.get(queue, ()) for queue, type in lanes)
    return wanted and len(columns["seq"]) == len(first) and all(map(_has_one_limit, {*columns["rules"]}))


def _has_one_limit(text: str) -> bool:
    given = carried(text)
    return len(given.slots) == 1 and given.rules.keys() == {"limits"}


def examine_urgent(
    store: SqliteStore, connection: sqlite3.Connection, wants: Mapping[str, Sequence[str]], now: int, last: Claimed
) -> None:
    """Examine what cannot wait for a claim that finds no more queued jobs; `last` is the last job that was claimed."""
    slots, store.looked_at = _urgent(connection, wants, last, store.looked_at)
    if slots:
        connection.execute(load("freed_forget"), {"slots": json.dumps(slots)})
    if slots or connection.execute(load("admit_marked")).fetchone():
        run(connection, examine(DIALECT, now, slots, kept=False))


def _urgent(
    connection: sqlite3.Connection, wants: Mapping[str, Sequence[str]], last: Claimed, after: int
) -> tuple[list[str], int]:
    """Return the slots whose first job in line comes before the last claimed one, or is another worker's; and where to go on.

    While claims are full, all other lines may wait: their jobs come later in any case.
    """
    found = connection.execute(load("freed_heads"), {"after": after, "limit": SLOTS}).fetchall()
    queues = {queue: place for place, queue in enumerate(wants)}
    bound = (queues[last.queue], last.rank, last.ord, last.seq)
    slots = [
        slot
        for _, slot, queue, type, *place in found
        if measure(slot)[1] or type not in wants.get(queue, ()) or (queues[queue], *place) < bound
    ]
    return slots, found[-1][0] if len(found) == SLOTS else 0

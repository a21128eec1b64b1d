"""Claims the first jobs in line at slots that have room, without queueing them first (docs/decisions/0031).

Only a claim that has found no more queued jobs in its lanes does so: whatever comes first in their order has been taken by then.
The slots come in the order in which they were given back. A claim fills one after the other, so it reads and writes few lines.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...core.admission import carried, measure
from ..operations import together
from ..sql.admission import HOLD, examine, keep, limits_of
from .dialect import DIALECT
from .sql import load, run

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ...core.job import Claimed
    from .store import SqliteStore

    Columns = dict[str, Sequence[Any]]
    Place = tuple[int, int, str, str]  # rank, order and number of a job, and the slot at which it waits

SLOTS = 500  # looked at by one claim
ALONE = 100  # a claim for more jobs leaves half of the slots to others: a job that waits in a worker for a thread uses up its limit
MOST = 100  # jobs read of one line


def take(
    connection: sqlite3.Connection, wants: Mapping[str, Sequence[str]], limit: int, like: Iterable[str | None],
    read: Callable[[list[str]], Columns], give: Callable[[Columns], list[Claimed]],
) -> list[Claimed] | None:  # fmt: skip
    """Take up to `limit` jobs in line at the slots that are kept; `like` are rules of jobs that have held some of these.

    Returns None, having done nothing, if some job there has other rules than one limit, or this worker does not want it: then
    `sql.admission.examine` has to look.
    """
    kept = connection.execute(load("freed_first"), {"limit": SLOTS}).fetchall()
    rooms = _rooms(connection, [slot for _, slot in kept], like)
    if rooms is None:
        return None
    last, rooms = _needed(kept, rooms, limit)
    places = _first(connection, rooms)
    first, others = places[:limit], places[limit:]
    columns = read([seq for _, _, seq, _ in first]) if first else {}
    if first and not (len(columns["seq"]) == len(first) and _simple(columns, wants)):
        return None
    connection.execute(load("freed_remove"), {"last": last})
    left = {slot for slot, room in rooms.items() if room > MOST} | {slot for *_, slot in others}
    held = [(slot, seq) for _, _, seq, slot in first]
    run(connection, together(*DIALECT.insert("hold", HOLD, held), *keep(DIALECT, left)))
    return give(columns) if first else []


def _rooms(connection: sqlite3.Connection, slots: list[str], like: Iterable[str | None]) -> dict[str, int] | None:
    """Return how many more jobs may hold each slot; None if a limit is not known, or a slot is that of a rate."""
    measures = {slot: measure(slot) for slot in slots}
    names = {"names": json.dumps(sorted({name for name, _ in measures.values()}))}
    stored = connection.execute(DIALECT.text("admit_limits"), names).fetchall()
    known = limits_of([carried(text) for text in {*like} if text], stored)
    rooms: dict[str, Any] = {
        slot: None if rate else known.get(name, {}).get("running") for slot, (name, rate) in measures.items()
    }
    if None in rooms.values():
        return None
    for slot, held in connection.execute(DIALECT.text("admit_holders"), {"slots": json.dumps(slots)}):
        rooms[slot] -= held
    return rooms


def _needed(kept: list[tuple[int, str]], rooms: dict[str, int], limit: int) -> tuple[int, dict[str, int]]:
    """Return the number of the last slot that a claim needs, and the room of each up to there that has any."""
    share, last, found = len(kept) if limit <= ALONE else -(-len(kept) // 2), 0, {}
    for last, slot in kept[:share]:  # noqa: B007
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
        places += connection.execute(load("line_heads"), {"slots": json.dumps(slots), "ahead": ahead})
    return sorted(places)


def _simple(columns: Columns, wants: Mapping[str, Sequence[str]]) -> bool:
    """Return whether jobs have one limit and no other rule, and a worker wants all of them."""
    lanes = {*zip(columns["queue"], columns["type"], strict=True)}
    return all(map(_has_one_limit, {*columns["rules"]})) and all(type in wants.get(queue, ()) for queue, type in lanes)


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

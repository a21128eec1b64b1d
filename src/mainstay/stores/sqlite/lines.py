"""Claims the first jobs in line at slots that have room, without queueing them first (docs/decisions/0031).

A claim that finds fewer queued jobs than it wants takes them behind these; one that finds enough puts them between these, each in its
place. The slots come in the order of the first jobs in line there. A claim fills one after the other, so it reads and writes few lines.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...core.admission import carried, measure
from ...core.rules import EXAMINE
from ..sql.admission import examine, limits_of
from .claim import IN_LINE, joined, only, read
from .dialect import DIALECT
from .sql import load, run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ...core.job import Claimed
    from .claim import Columns
    from .store import SqliteStore

    Place = tuple[int, int, int, int]  # of a job: of its queue among those of a worker, its rank, order and number
    Rooms = dict[str, int]  # how many more jobs may hold each slot
    Kept = tuple[str, int]  # a slot that may have room, and how many jobs hold it

SLOTS, FEW = 500, 50  # slots read at once: as many as jobs are wanted, within these bounds
ALONE = 100  # a claim for more jobs leaves half of the slots to others: a job that waits in a worker for a thread uses up its limit
MOST = 100  # jobs read of one line
JOBS = 500  # jobs queued at once without a claim
READ = 2_000  # jobs read to compare their places with those of queued ones
ARMS = 8  # groups of lines with the same room that one statement reads


class Lines:
    """The lines of kept slots, as one claim sees them."""

    def __init__(
        self, store: SqliteStore, connection: sqlite3.Connection, wants: Mapping[str, Sequence[str]] | None, now: int,
        like: Iterable[str | None],
    ) -> None:  # fmt: skip
        self._store, self._connection, self._now = store, connection, now
        self._any, self._wants = wants is None, wants or {}  # without a claim, jobs of any type
        self._known = [carried(text) for text in {*like} if text]  # rules of jobs that have held some of these slots
        self._queues = {queue: place for place, queue in enumerate(self._wants)}
        # False: `sql.admission.examine` has to look at slots that are left: some job there has other rules than one limit, or is another worker's.
        self.decided = True
        self.undecided: list[str] | None = None  # slots for `sql.admission.examine`; None: the claim has not looked

    def keep(self, slots: Iterable[str]) -> None:
        """Keep slots that may have room until their lines are looked at."""
        found = sorted({*slots} - {EXAMINE})
        if found:
            self._connection.execute(load("freed_add"), {"slots": json.dumps(found)})

    # behind queued jobs -----------------------------------------------------------------------------------------------
    def take(self, limit: int) -> Iterator[Columns]:
        """Let up to `limit` of the first jobs in line hold slots, and yield them in batches.

        The caller starts each batch before it asks for the next, which would find its jobs in line again.
        """
        most, left = min(max(limit, FEW), SLOTS), limit
        while left > 0 and (kept := self._kept(most)):
            columns = self._seats(kept, -(-len(kept) // 2) if limit > ALONE else len(kept), left)
            if columns is None:
                self.decided = False
                return
            if columns:
                yield columns
                left -= len(columns["seq"])
            if limit > ALONE:
                return

    def queue(self) -> bool:
        """Queue the first jobs in line at the slots that are kept. Return whether `examine` has to look at slots that are left."""
        kept = self._kept(SLOTS)
        columns = self._seats(kept, len(kept), JOBS) if kept else {}
        if columns:
            self._connection.execute(DIALECT.text("admit_queue"), {"seqs": str(columns["seq"])})
        return columns is None or self._connection.execute(load("freed_first"), {"limit": 1}).fetchone() is not None

    def _kept(self, limit: int) -> list[Kept]:
        """Return slots that are kept, in the order of the first jobs in line there; those without a line are kept no longer.

        So each job comes in its turn, and all lines are worked off equally far: the jobs of a round are neighbours in the file.
        """
        while found := self._connection.execute(load("freed_first"), {"limit": limit}).fetchall():
            self._forget([slot for slot, _, head in found if head is None])
            waiting = [(tuple(map(int, head.split())), slot, held) for slot, held, head in found if head]
            if waiting:
                return [(slot, held) for _, slot, held in sorted(waiting)]
        return []

    def _seats(self, kept: list[Kept], share: int, limit: int) -> Columns | None:
        """Let the first jobs in line hold slots that have room, of the first `share` that are kept. Return these jobs.

        None if `examine` has to decide.
        """
        rooms = self._rooms(kept)
        if rooms is None:
            return None
        seen, needed = _needed(kept[:share], rooms, limit)
        columns = self._first(needed)
        if columns is None or not self._simple(columns):
            return None
        self._hold(columns)
        self._forget(seen)
        read = Counter(columns.get("waits", ()))
        self.keep(slot for slot, wanted in needed.items() if rooms[slot] > read[slot] == min(wanted, MOST))
        return columns

    # between queued jobs ----------------------------------------------------------------------------------------------
    def merge(self, queued: Columns) -> Columns:
        """Return the first of queued jobs and of those in line at kept slots, as many as are queued. Those in line hold their slots now.

        Lines whose first job comes after all queued ones stay kept, while claims are full.
        """
        slots, self.undecided = self._ahead(max(self._places(queued)))
        if not slots:
            return queued
        held = self._connection.execute(DIALECT.text("admit_holders"), {"slots": json.dumps(slots)}).fetchall()
        rooms = self._rooms((dict.fromkeys(slots, 0) | dict(held)).items())
        if rooms is not None:
            rooms = _bounded({slot: rooms[slot] for slot in slots})
            slots = [slot for slot in slots if slot in rooms]
        columns = self._first({slot: room for slot, room in rooms.items() if room > 0}) if rooms else None
        if rooms is None or columns is None or not self._simple(columns):
            self.undecided += slots
            return queued
        return self._merged(queued, columns, [slot for slot in slots if rooms[slot] <= MOST])

    def _merged(self, queued: Columns, columns: Columns, slots: list[str]) -> Columns:
        places, number = [*self._places(queued), *self._places(columns)], len(queued["seq"])
        chosen = sorted(range(len(places)), key=places.__getitem__)[:number]
        taken = only(columns, [n - number for n in chosen if n >= number])
        self._hold(taken)
        left = Counter(columns.get("waits", ())) - Counter(taken.get("waits", ()))
        self._forget([slot for slot in slots if not left[slot]])
        return joined(only(queued, [n for n in chosen if n < number]), taken)

    def _ahead(self, bound: Place) -> tuple[list[str], list[str]]:
        """Return the slots whose first job in line comes before a place, in this order; and those that are another worker's, or a rate's."""
        store = self._store
        found = self._connection.execute(load("freed_heads"), {"after": store.looked_at, "limit": SLOTS}).fetchall()
        store.looked_at = found[-1][0] if len(found) == SLOTS else 0
        ahead, others = [], []
        for _, slot, queue, type, *place in found:
            if measure(slot)[1] or type not in self._wants.get(queue, ()):
                others.append(slot)
            elif (self._queues[queue], *place) < bound:
                ahead.append(((self._queues[queue], *place), slot))
        return [slot for _, slot in sorted(ahead)], others

    def examine_rest(self, last: Claimed) -> None:
        """Examine what cannot wait for a claim that finds fewer queued jobs than it wants; `last` is the last job that was claimed."""
        slots = self.undecided
        if slots is None:
            ahead, others = self._ahead((self._queues[last.queue], last.rank, last.ord, int(last.seq)))
            slots = ahead + others
        self._forget(slots)
        if slots or self._connection.execute(load("admit_marked")).fetchone():
            run(self._connection, examine(DIALECT, self._now, slots, kept=False))

    # both -------------------------------------------------------------------------------------------------------------
    def _rooms(self, held: Iterable[tuple[str, int]]) -> Rooms | None:
        """Return how many more jobs may hold each slot; None if a limit is not known, or a slot is that of a rate."""
        measures = [(slot, number, *measure(slot)) for slot, number in held]
        names = {name for _, _, name, _ in measures}
        if any(rate for *_, rate in measures):
            return None
        stored = self._connection.execute(DIALECT.text("admit_limits"), {"names": json.dumps(sorted(names))}).fetchall()
        known = limits_of(self._known, stored)
        most: dict[str, Any] = {name: known.get(name, {}).get("running") for name in names}
        if None in most.values():
            return None
        return {slot: most[name] - number for slot, number, name, _ in measures}

    def _first(self, rooms: Rooms) -> Columns | None:
        """Return the first jobs in line, as many as there is room for; None if they are too large to be read at once."""
        lines: dict[int, list[str]] = {}
        for slot, room in rooms.items():
            lines.setdefault(min(room, MOST), []).append(slot)
        groups = [(json.dumps(slots), ahead) for ahead, slots in lines.items()]
        columns: Columns = {}
        for start in range(0, len(groups), ARMS):
            some = groups[start : start + ARMS]
            try:
                found = read(self._connection, heads(len(some)), tuple(chain.from_iterable(some)), IN_LINE)
            except sqlite3.DataError:
                return None
            if found is None:
                return None
            columns = joined(columns, found)
        return columns

    def _places(self, columns: Columns) -> list[Place]:
        """Return the places of jobs in the order in which this worker takes them."""
        names = ("rank", "ord", "seq")
        queues = map(self._queues.__getitem__, columns.get("queue", ()))
        return [*zip(queues, *(columns.get(name, ()) for name in names), strict=True)]

    def _hold(self, columns: Columns) -> None:
        """Let jobs hold the slots at which they stand in line."""
        if columns:
            self._connection.execute(load("line_holds"), {"seqs": str(columns["seq"])})

    def _forget(self, slots: list[str]) -> None:
        if slots:
            self._connection.execute(load("freed_forget"), {"slots": json.dumps(slots)})

    def _simple(self, columns: Columns) -> bool:
        """Return whether all of these jobs have one limit and no other rule, and a worker wants them."""
        if not columns:
            return True
        lanes = {*zip(columns["queue"], columns["type"], strict=True)}
        wanted = self._any or all(type in self._wants.get(queue, ()) for queue, type in lanes)
        return wanted and all(map(_has_one_limit, {*columns["rules"]}))


def _needed(kept: list[Kept], rooms: Rooms, limit: int) -> tuple[list[str], Rooms]:
    """Return the slots at which a claim looks, and how many jobs it wants of each that has room."""
    seen, found = [], {}
    for slot, _ in kept:
        seen.append(slot)
        if rooms[slot] > 0:
            found[slot] = min(rooms[slot], limit)
            limit -= found[slot]
        if limit <= 0:
            break
    return seen, found


def _bounded(rooms: Rooms) -> Rooms:
    """Return the first of some lines: as many as have room for the jobs that may be read, and at least one."""
    found: Rooms = {}
    left = READ
    for slot, room in rooms.items():
        if left <= 0:
            break
        found[slot] = room
        left -= min(max(room, 0), MOST)
    return found


@cache
def heads(groups: int) -> str:
    """Return what selects the first jobs in line, of so many groups of slots with as many jobs each."""
    return "(" + " UNION ALL ".join([load("line_heads")] * groups) + ")"


@lru_cache(10_000)
def _has_one_limit(text: str) -> bool:
    given = carried(text)
    return len(given.slots) == 1 and given.rules.keys() == {"limits"}

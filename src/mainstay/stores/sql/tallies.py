"""Counters: what was counted, and how minutes become hours. Any process may do it at any time: rows are moved, never counted again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...core.clock import MINUTE
from ...core.export import Batch
from ...core.ids import decode, encode
from ...core.tally import Tally, hour_of
from ..operations import together
from .store import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...core.tally import Counts
    from ..operations import Operations
    from .dialect import Dialect
    from .store import SqlStore

LATE = 2  # minutes after which a minute is taken for over: rows of several writers become one then
FIRST = -(1 << 62)  # below all minutes
HOURS = 24  # that one call makes of minutes
COUNTED = 60  # minutes whose new jobs one call counts


def tallies(store: SqlStore, since: int, until: int, step: int, types: Sequence[str] = ()) -> list[Tally]:
    """Return what was counted in a time, in steps."""
    bound = {"since": since // MINUTE, "until": -(-until // MINUTE), "step": max(1, step // MINUTE)}
    found = store.read(rows(store, "tallies", **bound, types=list(types), every=not types))
    return sorted(Tally(minute * MINUTE, *row) for minute, *row in found)


def totals(store: SqlStore) -> list[Tally]:
    """Return all that was ever counted."""
    return sorted(Tally(0, *row) for row in store.read(rows(store, "totals")))


def export_tallies(store: SqlStore, after: str | None, _limit: int) -> Batch:
    """Return the counters of the next minute or hour as `mainstay move` copies them."""
    found = store.read(rows(store, "tally_after", after=FIRST if after is None else int(after)))
    if not found:
        return Batch([], None)
    return Batch(store.read(rows(store, "export_tallies", minute=found[0][0])), str(found[0][0]))


def roll_up(store: SqlStore, now: int, minutes: int, hours: int) -> bool:
    """Count new jobs, make hours of old minutes, and remove old hours; return whether there is more to do."""
    more = _count_enqueued(store, now)
    last = (now - minutes) // MINUTE
    for _ in range(HOURS):
        (oldest,) = store.read(rows(store, "tally_oldest"), by_worker=True)[0]
        if oldest is None or hour_of(oldest) + 60 > last or not _moved(store, hour_of(oldest), 60):
            break
    else:
        more = True
    if store.dialect.writers:
        _moved(store, now // MINUTE - LATE - 2, 2)
    store.single(rows(store, "tally_prune", before=(now - hours) // MINUTE), by_worker=True)
    return more


def _moved(store: SqlStore, since: int, count: int) -> bool:
    """Add up the counters of some minutes: of 60 to their hour and to the sum of all, of fewer to one row for each minute."""
    return store.write(lambda: _move(store.dialect, since, count), by_worker=True)


def _move(dialect: Dialect, since: int, count: int) -> Operations[bool]:
    taken = (yield dialect.statement("tally_take", since=since, until=since + count)).rows
    places = (-since, 0) if count == 60 else (None,)
    moved = [(minute if place is None else place, *rest) for minute, *rest in taken for place in places]
    yield from together(*dialect.tally(gathered(moved)))
    return bool(taken)


def gathered(rows: Iterable[Sequence[Any]]) -> Counts:
    """Return rows (minute, type, name and number) added up."""
    sums: dict[tuple[int, str], Counter[str]] = {}
    for minute, type, name, n in rows:
        sums.setdefault((minute, type), Counter())[name] += n
    return sums


# new jobs: counted by their ids, which are sorted by time, so that an enqueue has nothing to count -----------------------
def _count_enqueued(store: SqlStore, now: int) -> bool:
    """Count the new jobs of minutes that are over; return whether there are more."""
    end = (now // MINUTE - 1) * MINUTE
    for _ in range(COUNTED):
        mark = store.read(rows(store, "tally_mark"), by_worker=True)
        if not mark:
            store.single(rows(store, "tally_begin", since=end), by_worker=True)
            return False
        since = mark[0][0]
        if since >= end:
            return False
        _count_minute(store, since, end)
    return True


def _count_minute(store: SqlStore, since: int, end: int) -> None:
    """Count the new jobs of the first minute from an instant on that has any, unless another process has done so."""
    first = store.read(rows(store, "tally_next", since=_id(since)), by_worker=True)
    at = min(max(since, decode(first[0][0][:10]) // MINUTE * MINUTE), end) if first else end
    until = min(at + MINUTE, end)
    bound = {"since": _id(at), "until": _id(until)}
    found = store.read(rows(store, "tally_enqueued", **bound), by_worker=True) if at < until else []
    counted = {(at // MINUTE, type): {"enqueued": n} for type, n in found}
    store.write(lambda: _advance(store.dialect, since, until, counted), by_worker=True)


def _advance(dialect: Dialect, since: int, until: int, counted: Counts) -> Operations[None]:
    if (yield dialect.statement("tally_advance", since=since, until=until)).count:
        yield from together(*dialect.tally(counted))


def _id(at: int) -> str:
    """Return what all ids from an instant on are not below."""
    return encode(at, 10)

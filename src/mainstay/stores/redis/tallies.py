"""Counters: what was counted, and how minutes become hours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import msgpack

from ...core.clock import MINUTE
from ...core.export import Batch, TallyRecord
from ...core.tally import Tally, hour_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .store import RedisStore

MINUTES = 60  # that one call moves to their hours, which blocks the server


def tallies(store: RedisStore, since: int, until: int, step: int, types: Sequence[str] = ()) -> list[Tally]:
    """Return what was counted in a time, in steps."""
    found = _read(store, since // MINUTE, -(-until // MINUTE), max(1, step // MINUTE))
    return sorted(each for each in found if not types or each.type in types)


def totals(store: RedisStore) -> list[Tally]:
    """Return all that was ever counted."""
    return sorted(_read(store, 0, "+inf", 0))


def _read(store: RedisStore, low: int, high: int | str, step: int) -> Iterator[Tally]:
    reply = store.server.run("tallies", [low, high, step])
    for at, flat in zip(reply[::2], reply[1::2], strict=True):
        for field, n in zip(flat[::2], flat[1::2], strict=True):
            name, _, type = field.partition(":")
            yield Tally(at * MINUTE, type, name, int(n))


def roll_up(store: RedisStore, now: int, minutes: int, hours: int) -> bool:
    """Make hours of old minutes, and remove old hours; return whether there is more to do."""
    first = hour_of((now - minutes) // MINUTE)
    return bool(store.server.run("roll_up", [first, (now - hours) // MINUTE, MINUTES]))


# moving ---------------------------------------------------------------------------------------------------------------
def export_tallies(store: RedisStore, after: str | None, _limit: int) -> Batch:
    """Return the counters of the next minute or hour as `mainstay move` copies them."""
    found = store.server.read(
        "ZRANGEBYSCORE", "tallies", "-inf" if after is None else f"({after}", "+inf", "LIMIT", 0, 1
    )
    if not found:
        return Batch([], None)
    flat = store.server.read("HGETALL", f"tally:{found[0]}")
    names = (field.partition(":") for field in flat[::2])
    return Batch(
        [TallyRecord(int(found[0]), type, name, int(n)) for (name, _, type), n in zip(names, flat[1::2], strict=True)],
        found[0],
    )


def packed_tally(minute: int, type: str, name: str, n: int) -> tuple[str, bytes]:
    """Return the commands that add a counter."""
    commands = [("HINCRBY", f"tally:{minute}", f"{name}:{type}", n), ("ZADD", "tallies", minute, minute)]
    return "", msgpack.encode(commands)

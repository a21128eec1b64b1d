"""Jobs that look like duplicates of each other."""

from __future__ import annotations

from typing import NamedTuple

LONGEST = 2_000  # characters of arguments that are compared
LIMIT = 1_000  # groups


class Duplicate(NamedTuple):
    """Jobs of the same type with the same key; without a key, with the same arguments."""

    type: str
    key: str | None
    jobs: int
    alive: int  # of them have not ended
    oldest: str  # the ids
    newest: str


class Duplicates(NamedTuple):
    """What was found among the newest jobs. `looked` is how many of them were looked at when there are more since the instant asked for."""

    found: list[Duplicate]
    looked: int | None

"""What a drain did: counts of attempts by how they ended, and of what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..core.decide import Transition

WAYS = 6  # the fields that say how attempts ended


class Drained(NamedTuple):
    """How many attempts of a drain ended in each way, and how many jobs it left."""

    completed: int = 0
    retried: int = 0
    snoozed: int = 0
    review: int = 0
    cancelled: int = 0
    dead: int = 0
    left: int = 0  # jobs that were due, and that the drain could have taken
    more: bool = False  # there are more such jobs than were counted
    running: int = (
        0  # handlers that nothing could stop at the end: their jobs run again when they or the process have ended
    )

    @property
    def processed(self) -> int:
        """How many attempts ended. One that was released does not count: it spends no attempt."""
        return sum(self[:WAYS])

    @property
    def errors(self) -> int:
        """How many attempts failed, timed out or crashed."""
        return self.retried + self.dead


class Tally:
    """Counts the stored outcomes of attempts."""

    def __init__(self) -> None:
        self.ways = dict.fromkeys(Drained._fields[:WAYS], 0)
        self.dead: list[str] = []  # the jobs that died

    def count(self, transitions: Iterable[Transition]) -> None:
        """Count outcomes."""
        for transition in transitions:
            if transition.outcome != "released":
                way = transition.outcome if transition.state == "scheduled" else transition.state
                self.ways[way if way in self.ways else "retried"] += 1
                if way == "dead":
                    self.dead.append(transition.id)


def drained(*tallies: Tally) -> Drained:
    """Return what these have counted together."""
    ways = [sum(tally.ways[way] for tally in tallies) for way in Drained._fields[:WAYS]]
    return Drained._make([*ways, *Drained()[WAYS:]])

"""What a drain did: counts of attempts by how they ended, and of what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..control.pauses import pauses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..core.decide import Transition
    from ..stores.contract import Store

CAP = 50_000  # jobs of a state that are counted at the end
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
    # Handlers that nothing could stop at the end: their jobs run again when they or the process have ended.
    running: int = 0

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


def count_left(store: Store, wants: Mapping[str, Sequence[str]], now: int) -> tuple[int, bool]:
    """Return how many jobs are due that a worker could run which wants these, and whether there are more."""
    rules = store.rules(["pause", "breaker"])
    resting = {rule.name for rule in rules if rule.kind == "breaker" and rule.value.get("until", 0) > now}
    found = [
        count for count in store.counts(CAP)
        if count.label == "queued" and count.type in wants.get(count.queue, ()) and count.type not in resting
        and not pauses(rules, count.type, count.queue)
    ]  # fmt: skip
    return sum(count.jobs for count in found), any(count.capped for count in found)

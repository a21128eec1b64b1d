"""The measures. Each yields a dictionary of figures and counts for each contender."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ..contenders import Contender
    from ..engines import Engine, Site
    from ..scale import Scale

Figures = dict[str, Any]
T = TypeVar("T")


class Place(NamedTuple):
    """The folder of one measure and round, the folder of the whole run, and the engine."""

    folder: Path
    shared: Path
    engine: Engine

    def site(self, contender: Contender, tag: str = "") -> Site:
        """An empty place for a contender."""
        return self.engine.site(self.folder / stem(contender, tag))


def stem(contender: Contender, tag: str = "") -> str:
    """The name of a contender's files."""
    return f"{contender.name.replace(' ', '-')}{tag}"


class Measure(NamedTuple):
    """A measure by its name: the word for `--only` and for the report."""

    name: str
    run: Callable[[Sequence[Contender], Scale, Place], Iterator[tuple[Contender, Figures]]]
    named_only: bool = False  # takes so long that it runs only if it is named


def each(name: str, one: Callable[[Contender, Scale, Place], Figures | None]) -> Measure:
    """A measure that runs one contender after the other; None if there is nothing to measure."""

    def run(contenders: Sequence[Contender], scale: Scale, place: Place) -> Iterator[tuple[Contender, Figures]]:
        for contender in contenders:
            figures = guarded(one, contender, scale, place)
            if figures is not None:
                yield contender, figures

    return Measure(name, run)


def guarded(one: Callable[..., Figures | None], *given: object) -> Figures | None:
    """The figures, or the reason why there are none."""
    from ..processes import Failed

    try:
        return one(*given)
    except Failed as failure:
        return {"ok": False, "failure": str(failure)}


def in_turn(things: Sequence[T], turn: int) -> Sequence[T]:
    """The order of a turn: every second one is reversed, so that no contender always runs first."""
    return things if turn % 2 == 0 else things[::-1]


def measures(engine: Engine) -> list[Measure]:
    """Every measure of an engine, in the order of the report."""
    from . import (
        backlog,
        bulk,
        claimers,
        cold,
        drain,
        enqueue,
        flow,
        held,
        lanes,
        looks,
        pickup,
        pruning,
        schedules,
        story,
        wal,
    )

    known = [
        Measure("enqueue", enqueue.singles),
        Measure("bulk", enqueue.bulk),
        each("drain", drain.with_one),
        each("drain2", drain.with_two),
        each("waiting", backlog.waiting),
        each("finished", backlog.finished),
        each("foreign", lanes.foreign),
        each("lanes", lanes.lanes),
        each("limited", flow.limited),
        *(each(name, flow.held_back(name)) for name in ("blocked", "rated", "paused")),
        each("pausing", flow.pausing),
        each("fair", flow.fair),
        each("pruning", pruning.pruning),
        each("bulk_retry", bulk.bulk_retry),
        *(each(name, story.reporting(name)) for name in ("logs", "lines", "saves", "worker_log")),
        each("pickup", pickup.pickup),
        each("schedules", schedules.schedules),
        each("looks", looks.looks),
        Measure("cold", cold.cold),
        each("imports", cold.imports),
        each("wal", wal.wal),
        each("claimers", claimers.claimers),
        each("held", held.held)._replace(named_only=True),
    ]
    return [one for one in known if one.name in engine.measures]

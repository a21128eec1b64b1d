"""The measures. Each yields, contender by contender, a dictionary of figures; what was counted stands in it too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ..contenders import Contender
    from ..engines import Engine, Site
    from ..scale import Scale

Figures = dict[str, Any]


class Place(NamedTuple):
    """Where a round of one measure keeps its files, where files of the whole run live, and on which engine."""

    folder: Path
    shared: Path
    engine: Engine

    def site(self, contender: Contender, tag: str = "") -> Site:
        """A fresh place of its own for a contender."""
        return self.engine.site(self.folder / stem(contender, tag))


def stem(contender: Contender, tag: str = "") -> str:
    """What the files of a contender are called."""
    return f"{contender.name.replace(' ', '-')}{tag}"


class Measure(NamedTuple):
    """A measure by its name: the word for `--only` and for the report."""

    name: str
    run: Callable[[Sequence[Contender], Scale, Place], Iterator[tuple[Contender, Figures]]]
    named_only: bool = False  # so long that it runs only when it is asked for by name


def each(name: str, one: Callable[[Contender, Scale, Place], Figures | None]) -> Measure:
    """A measure that takes one contender after the other; None: it has nothing to measure there."""

    def run(contenders: Sequence[Contender], scale: Scale, place: Place) -> Iterator[tuple[Contender, Figures]]:
        for contender in contenders:
            figures = guarded(one, contender, scale, place)
            if figures is not None:
                yield contender, figures

    return Measure(name, run)


def guarded(one: Callable[..., Figures | None], *given: object) -> Figures | None:
    """The figures, or why there are none."""
    from ..processes import Failed

    try:
        return one(*given)
    except Failed as failure:
        return {"ok": False, "failure": str(failure)}


def measures(engine: Engine) -> list[Measure]:
    """Every measure of an engine, in the order of the report."""
    from . import backlog, claimers, cold, drain, enqueue, held, lanes, pickup, wal

    known = [
        Measure("enqueue", enqueue.singles),
        Measure("bulk", enqueue.bulk),
        each("drain", drain.with_one),
        each("drain2", drain.with_two),
        each("waiting", backlog.waiting),
        each("finished", backlog.finished),
        each("foreign", lanes.foreign),
        each("lanes", lanes.lanes),
        each("pickup", pickup.pickup),
        Measure("cold", cold.cold),
        each("imports", cold.imports),
        each("wal", wal.wal),
        each("claimers", claimers.claimers),
        each("held", held.held)._replace(named_only=True),
    ]
    return [one for one in known if one.name in engine.measures]

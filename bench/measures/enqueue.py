"""Enqueues one job a call, and many by the bulk call, and counts the jobs in the store afterwards.

The contenders take turns within a round, because the time of a commit depends on other use of the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..figures import quantile
from ..processes import produce
from . import guarded, in_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..contenders import Contender
    from ..engines import Site
    from ..scale import Scale
    from . import Figures, Place

    Digest = Callable[[list[dict[str, Any]], int], Figures]

TURNS = 5


def singles(contenders: Sequence[Contender], scale: Scale, place: Place) -> Iterator[tuple[Contender, Figures]]:
    """Durable calls in sequence: rate and quantiles."""
    return _measured([one for one in contenders if not one.twin], place, "singles", scale.singles, _calls)


def bulk(contenders: Sequence[Contender], scale: Scale, place: Place) -> Iterator[tuple[Contender, Figures]]:
    """The bulk call of contenders that have one."""
    return _measured([one for one in contenders if one.bulk and not one.twin], place, "bulk", scale.bulk, _rate)


def _measured(
    contenders: Sequence[Contender], place: Place, action: str, jobs: int, digest: Digest
) -> Iterator[tuple[Contender, Figures]]:
    got: dict[Contender, list[dict[str, Any]]] = {contender: [] for contender in contenders}
    sites = {contender: place.site(contender) for contender in contenders}
    failures: dict[Contender, Figures] = {}
    for n in range(TURNS):
        for contender in in_turn(contenders, n):
            failed = guarded(_turn, contender, sites[contender], action, jobs // TURNS, got[contender])
            failures |= {contender: failed} if failed else {}
    for contender, measured in got.items():
        yield (
            contender,
            failures.get(contender) or digest(measured, jobs) | _counted(contender, sites[contender], measured),
        )
    for site in sites.values():
        place.engine.discard(site)


def _turn(contender: Contender, site: Site, action: str, jobs: int, measured: list[dict[str, Any]]) -> None:
    measured.append(produce(contender, site, action, jobs))


def _rate(measured: list[dict[str, Any]], jobs: int) -> Figures:
    return {"rate": jobs / sum(turn["seconds"] for turn in measured)}


def _calls(measured: list[dict[str, Any]], jobs: int) -> Figures:
    took = [nanoseconds / 1e6 for turn in measured for nanoseconds in turn["took"]]
    return _rate(measured, jobs) | {"p50": quantile(took, 0.50), "p95": quantile(took, 0.95)}


def _counted(contender: Contender, site: Site, measured: list[dict[str, Any]]) -> Figures:
    stored = contender.count(site.address).waiting
    expected = sum(turn["expected"] for turn in measured)
    return {"expected": expected, "stored": stored, "ok": stored == expected}

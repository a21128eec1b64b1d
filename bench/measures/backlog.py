"""Draining in front of a long queue of waiting jobs, and behind a long history of finished ones.

The file with the backlog is made once a run for each contender. Each round drains a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes import produce
from . import stem
from .drain import beside_itself, drain

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..engines import Site
    from ..scale import Scale
    from . import Figures, Place


@beside_itself
def waiting(contender: Contender, scale: Scale, place: Place) -> Figures:
    """Drain the first jobs of a queue in which `scale.backlog` more wait."""
    jobs = scale.share(scale.drain, contender.pace)
    queued = jobs + scale.backlog
    site = _copied(contender, place, "-waiting", queued, aged=False)
    return drain(contender, site, place.engine, jobs, queued)


@beside_itself
def finished(contender: Contender, scale: Scale, place: Place) -> Figures:
    """Drain a file with `scale.backlog` finished jobs."""
    jobs = scale.share(scale.drain, contender.pace)
    site = _copied(contender, place, "-finished", scale.backlog, aged=True)
    produce(contender, site, "fill", jobs)
    return drain(contender, site, place.engine, jobs, jobs)


def _copied(contender: Contender, place: Place, tag: str, jobs: int, aged: bool) -> Site:
    """A copy of the filled file, which the first call makes."""
    kept = place.shared / stem(contender, tag)
    site = place.engine.site(kept)
    if not kept.exists():
        produce(contender, site, "fill", jobs)
        if aged:
            contender.age(site.address)
        place.engine.flush(site)
        kept.touch()
    return place.engine.copy(site, place.folder / stem(contender, tag))

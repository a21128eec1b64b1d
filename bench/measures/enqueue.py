"""Enqueueing one job by one call, and many by the bulk call. What the store holds afterwards is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..figures import quantile
from ..processes import produce

if TYPE_CHECKING:
    from pathlib import Path

    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place


def singles(contender: Contender, scale: Scale, place: Place) -> Figures:
    """Durable calls in sequence: rate and quantiles."""
    path = place.database(contender)
    got = produce(contender, path, "singles", scale.singles)
    took = [nanoseconds / 1e6 for nanoseconds in got["took"]]
    return {
        "rate": scale.singles / got["seconds"],
        "p50": quantile(took, 0.50),
        "p95": quantile(took, 0.95),
        **_counted(contender, path, got["expected"]),
    }


def bulk(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """The bulk call, where there is one."""
    if not contender.bulk:
        return None
    path = place.database(contender)
    got = produce(contender, path, "bulk", scale.bulk)
    return {"rate": scale.bulk / got["seconds"], **_counted(contender, path, got["expected"])}


def _counted(contender: Contender, path: Path, expected: int) -> Figures:
    stored = contender.count(path).waiting
    return {"expected": expected, "stored": stored, "ok": stored == expected}

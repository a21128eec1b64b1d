"""The status of an installation: all that is wrong with it, and one sentence about that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.words import plural
from ..stores.move import closed
from .findings import UNSERVED, Finding, findings
from .health import HEALTHY
from .held import held, in_line, scheduled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app import Mainstay
    from ..core.job import Count, WorkerInfo
    from .records import Component, Health
    from .stats import StatsRecord

CAP = 100_000  # jobs counted of each state
SHOWN = 3  # names in a sentence


def all_findings(
    app: Mainstay, counts: Sequence[Count], workers: Sequence[WorkerInfo], start: str
) -> list[Finding]:  # fmt: skip
    """Return what is wrong, each with the command that fixes it. `start` is the command that starts a worker."""
    now, why_closed = app.clock.now(), closed(app.store)
    groups = app.dead() if any(count.label == "dead" for count in counts) else []
    return [
        *([Finding(why_closed, "")] if why_closed else []),
        *held(app.store, counts, now),
        *scheduled(app.store, {info.name for info in app.store.types()}),
        *findings(counts, workers, app.store.declarations(now), now, start, groups),
        *in_line(app.store, counts),
    ]


def last_hour(app: Mainstay) -> dict[str, StatsRecord]:
    """Return what happened in the last hour, by type."""
    return {row.type or "": row for row in app.stats("1h").rows}


def verdict(health: Health, unserved: Sequence[str], found: Sequence[Finding]) -> str:
    """Return one sentence: `Degraded: no worker serves mail; 17 dead`. `unserved` are types with jobs and without a worker."""
    missing = [f"no worker serves {_listed(unserved)}"] if unserved and _has_workers(health) else []
    if health.status == HEALTHY:
        return _with_findings(
            [*missing, *(each.text for each in found if not any(map(each.text.__contains__, UNSERVED)))]
        )
    wrong = [_phrase(part) for part in health.components if part.status != HEALTHY]
    return f"{health.status.capitalize()}: {'; '.join([*missing, *wrong])}"


def _with_findings(texts: Sequence[str]) -> str:
    more = f", and {plural(len(texts) - 1, 'more finding')}" if len(texts) > 1 else ""
    return f"Healthy, but {texts[0]}{more}" if texts else "Healthy"


def _has_workers(health: Health) -> bool:
    return any(part.name == "workers" and part.figures.get("live") for part in health.components)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _phrase(part: Component) -> str:
    """Return in a few words what is wrong with a part of the installation."""
    figures = part.figures
    if part.name == "workers":
        return f"only {plural(figures['live'], 'worker')}" if figures["live"] else "no worker is running"
    if part.name == "dead letters":
        return f"{'at least ' * figures['capped']}{figures['dead']:,} dead"
    if part.name in ("store", "disk", "clock"):
        return f"{part.name}: {part.text.partition(';')[0]}"
    return part.text.partition(";")[0]

"""The time of a claim with many claimers and a long queue, beside one claimer and a short queue at the same load.

Both claim the same number of jobs a second in all, one a claim, each claimer on its own connection. Claims, distinct jobs and
completions in the store are counted: no job may be claimed twice.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from ..figures import quantile
from ..processes import ENVIRONMENT, ROOT, Failed, last_words, produce

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..engines import Site
    from ..scale import Scale
    from . import Figures, Place

PACE = 100.0  # claims a second, all claimers together


def claimers(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Milliseconds a claim with one claimer and with many; then claims a second of many without a limit."""
    if not claims(contender):
        return None
    short, long = place.site(contender, "-short"), place.site(contender, "-long")
    for site, jobs in ((short, max(1_000, int(PACE * scale.crowd_seconds * 2))), (long, scale.crowd_backlog)):
        produce(contender, site, "fill", jobs)
        place.engine.flush(site)
    alone = _crowd(contender, short, 1, PACE, scale.crowd_seconds)
    many = _crowd(contender, long, scale.crowd, PACE, scale.crowd_seconds)
    rush = _crowd(contender, long, scale.crowd, 0, scale.crowd_seconds / 2)
    completed = sum(contender.count(site.address).completed for site in (short, long))
    for site in (short, long):
        place.engine.discard(site)
    return (
        _compared(alone, many) | {"rate": rush["claimed"] / rush["seconds"]} | _counted([alone, many, rush], completed)
    )


def claims(contender: Contender) -> bool:
    """Whether its claims can be measured alone."""
    return type(contender).claimer.__qualname__ != "Contender.claimer" and contender.name in ("limit", "mainstay")


def _crowd(contender: Contender, site: Site, claimers: int, pace: float, seconds: float) -> dict[str, Any]:
    given = [contender.engine, contender.name, site.address, str(claimers), str(pace), str(seconds)]
    command = [sys.executable, "-m", "bench.crowd", *given]
    ended = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Failed(f"the claimers said: {last_words(ended.stderr)}")
    return dict(json.loads(ended.stdout))


def _compared(alone: dict[str, Any], many: dict[str, Any]) -> Figures:
    one, crowd = ([took / 1e6 for took in each["took"]] for each in (alone, many))
    return {
        "alone_p50": quantile(one, 0.50), "alone_p95": quantile(one, 0.95),
        "p50": quantile(crowd, 0.50), "p95": quantile(crowd, 0.95),
        "slower": quantile(crowd, 0.50) / quantile(one, 0.50),
    }  # fmt: skip


def _counted(runs: list[dict[str, Any]], completed: int) -> Figures:
    executions, distinct = (sum(run[name] for run in runs) for name in ("claimed", "distinct"))
    return {
        "executions": executions, "distinct": distinct, "completed": completed, "expected": executions,
        "ok": executions == distinct == completed,
    }  # fmt: skip

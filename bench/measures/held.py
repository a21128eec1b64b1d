"""Claims while another session keeps a transaction open for minutes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from ..figures import quantile
from ..processes import ENVIRONMENT, ROOT, Failed, last_words
from .claimers import claims

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place


def held(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Milliseconds a claim before, at the end of, and after the transaction."""
    if not claims(contender):
        return None
    site = place.site(contender)
    given = [contender.engine, contender.name, site.address, str(scale.hold / 6), str(scale.hold), str(scale.hold / 6)]
    command = [sys.executable, "-m", "bench.holding", *given]
    ended = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Failed(f"the claimer said: {last_words(ended.stderr)}")
    measured = json.loads(ended.stdout)
    completed = contender.count(site.address).completed
    place.engine.discard(site)
    return _phases(measured["claims"], scale.hold) | _counted(measured, completed)


def _phases(claims: list[list[float]], hold: float) -> Figures:
    """The last two thirds of the time before, the last sixth of the time held, and the last two thirds of the time after."""
    start, end = hold / 6, hold / 6 + hold
    spans = {"before": (start / 3, start), "late": (end - hold / 6, end), "after": (end + hold / 18, end + hold / 6)}
    found: Figures = {}
    for name, (first, last) in spans.items():
        took = [ms for at, ms, _ in claims if first <= at < last]
        found |= {f"{name}_p50": quantile(took, 0.50), f"{name}_p95": quantile(took, 0.95)}
    return found | {"slower": found["late_p50"] / found["before_p50"]}


def _counted(measured: dict[str, Any], completed: int) -> Figures:
    claimed, made = measured["claimed"], measured["made"]
    counts = {"executions": claimed, "distinct": claimed, "completed": completed, "expected": made}
    return counts | {"rate": made / measured["seconds"], "ok": claimed == completed == made}

"""Commands that only look, cold, on a store with many jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from ..processes import Failed, last_words, surroundings
from ..targets import THREADS

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place

ON_REDIS = 5  # of so many jobs one: they are in memory


def looks(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Only mainstay with threads."""
    if contender.name != THREADS:
        return None
    site = place.site(contender)
    jobs = scale.looks // (ON_REDIS if place.engine.name == "redis" else 1)
    waiting = _run(contender, "fill", site.address, str(jobs))
    place.engine.flush(site)
    figures: Figures = _run(contender, "look", site.address, waiting, str(scale.starts))
    place.engine.discard(site)
    return figures


def _run(contender: Contender, *words: str) -> Any:
    command = [sys.executable, "-m", "bench.looking", *words]
    ended = subprocess.run(command, **surroundings(contender), capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Failed(last_words(ended.stderr))
    return json.loads(ended.stdout)

"""Commands that only look, cold, on a store with many jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

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
    command = [sys.executable, "-m", "bench.looking", site.address, str(jobs), str(scale.starts)]
    ended = subprocess.run(command, **surroundings(contender), capture_output=True, text=True, check=False)
    place.engine.discard(site)
    if ended.returncode:
        raise Failed(last_words(ended.stderr))
    return dict(json.loads(ended.stdout))

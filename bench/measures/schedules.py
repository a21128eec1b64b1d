"""How late the ticks of many schedules fire, and what the schedules cost a worker at rest."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from ..processes import ENVIRONMENT, ROOT, Failed, last_words
from ..targets import THREADS

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..scale import Scale
    from . import Figures, Place


def schedules(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """From the instant of a tick until its job is committed."""
    if contender.name != THREADS:
        return None
    site = place.site(contender)
    command = [
        sys.executable,
        "-m",
        "bench.firing",
        site.address,
        str(scale.schedules),
        str(scale.ticking),
        str(scale.idle),
    ]
    ended = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise Failed(f"the worker said: {last_words(ended.stderr)}")
    place.engine.discard(site)
    figures: Figures = json.loads(ended.stdout)
    return figures

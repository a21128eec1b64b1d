"""A drain while an operator retries many dead jobs by a search, beside the same without: no worker here serves those."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from ..processes import Failed, last_words, produce, surroundings
from ..targets import THREADS
from .drain import drain
from .flow import with_flow

if TYPE_CHECKING:
    from ..contenders import Contender
    from ..engines import Site
    from ..scale import Scale
    from . import Figures, Place


def bulk_retry(contender: Contender, scale: Scale, place: Place) -> Figures | None:
    """Only mainstay with threads."""
    if contender.name != THREADS:
        return None
    made = with_flow(contender, "dead")
    site = place.site(made)
    produce(made, site, "bury", scale.blocked)
    control = _drained(made, scale, place, site)
    retrying = _Retrying(made, site)
    try:
        figures = _drained(made, scale, place, site)
        under_way = retrying.process.poll() is None
        told = retrying.ended()
    finally:
        retrying.process.kill()
    place.engine.discard(site)
    whole = told["expected"] == told["changed"] == scale.blocked and not told["refused"]
    return figures | {
        "control": control["rate"], "itself": figures["rate"] / control["rate"], "under_way": under_way,
        "retried": told["changed"] / ((told["ended"] - told["began"]) / 1e9), "ok": figures["ok"] and control["ok"] and whole,
    }  # fmt: skip


def _drained(contender: Contender, scale: Scale, place: Place, site: Site) -> Figures:
    produce(contender, site, "fill", scale.drain)
    place.engine.flush(site)
    return drain(contender, site, place.engine, scale.drain, scale.drain)


class _Retrying:
    """The operator's process."""

    def __init__(self, contender: Contender, site: Site) -> None:
        command = contender.producer(site.address, "retry", 0)
        self.process = subprocess.Popen(
            command, **surroundings(contender), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def ended(self) -> dict[str, Any]:
        """What it told at its end."""
        out, err = self.process.communicate()
        if self.process.returncode:
            raise Failed(f"the operator said: {last_words(err)}")
        return dict(json.loads(out))

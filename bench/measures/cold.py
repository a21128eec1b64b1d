"""A hook: a fresh interpreter that enqueues one job and exits, interpreter included. Programs take turns, start by start."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

from ..contenders import Contender
from ..figures import quantile
from ..processes import ROOT, Failed, produce

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..scale import Scale
    from . import Figures, Place

UNWANTED = ("asyncio", "logging", "dataclasses")
OURS = ("mainstay",)


class Bare(Contender):
    """A program without a queue, for scale."""

    def __init__(self, name: str, program: str) -> None:
        self.name, self.program = name, program


BARE = [Bare("python -c pass", "pass"), Bare("import mainstay", "import mainstay")]


def cold(contenders: Sequence[Contender], scale: Scale, place: Place) -> Iterator[tuple[Contender, Figures]]:
    """Milliseconds from starting the interpreter to its end."""
    programs: dict[Contender, str] = {bare: bare.program for bare in BARE}
    for contender in contenders:
        path = place.database(contender)
        produce(contender, path, "wake")
        programs[contender] = contender.cold(path)
    took: dict[Contender, list[float]] = {contender: [] for contender in programs}
    for _ in range(scale.starts):
        for contender, program in programs.items():
            took[contender].append(start(program))
    for contender, milliseconds in took.items():
        yield contender, _figures(milliseconds) | _counted(contender, scale.starts + 1, place)


def start(program: str) -> float:
    """Run a program in a fresh interpreter; no timeout, because waiting with one rounds up."""
    before = time.perf_counter_ns()
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    milliseconds = (time.perf_counter_ns() - before) / 1e6
    if ended.returncode:
        raise Failed(ended.stderr.decode(errors="replace")[-400:])
    return milliseconds


def _figures(milliseconds: list[float]) -> Figures:
    return {"p50": quantile(milliseconds, 0.50), "p95": quantile(milliseconds, 0.95)}


def _counted(contender: Contender, expected: int, place: Place) -> Figures:
    """Every start left a job behind."""
    if isinstance(contender, Bare):
        return {"ok": True, "unwanted": unwanted()} if "mainstay" in contender.program else {"ok": True}
    stored = contender.count(place.database(contender)).waiting
    return {"expected": expected, "stored": stored, "ok": stored == expected}


def unwanted() -> list[str]:
    """What `import mainstay` brings in that a hook should not pay for: third-party modules and heavy ones."""
    program = "import sys; b = set(sys.modules); import mainstay; print(*(set(sys.modules) - b))"
    names = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tops = {name.partition(".")[0] for name in names.split()} - set(OURS)
    return sorted(top for top in tops if top in UNWANTED or top not in sys.stdlib_module_names)

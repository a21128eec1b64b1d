"""A hook: the time of a new interpreter that enqueues one job and exits. Programs take turns, start by start."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

from ..contenders import Contender
from ..figures import quantile
from ..processes import ROOT, Failed, last_words, produce, surroundings
from . import guarded, in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..engines import Site
    from ..scale import Scale
    from . import Figures, Place

UNWANTED = ("asyncio", "logging", "dataclasses")
OURS = ("mainstay",)


class Program:
    """A program that is started many times, and the time of each start."""

    def __init__(self, contender: Contender, source: str, site: Site | None = None) -> None:
        self.contender, self.source, self.site = contender, source, site
        self.took: list[float] = []

    def start(self) -> None:
        """Run it in a new interpreter. No timeout: waiting with one polls, which rounds the time up."""
        if self.site and not self.took:
            produce(self.contender, self.site, "wake")  # creates the tables
        command, around = [sys.executable, "-c", self.source], surroundings(self.contender)
        before = time.perf_counter_ns()
        ended = subprocess.run(command, **around, capture_output=True, check=False)
        self.took.append((time.perf_counter_ns() - before) / 1e6)
        if ended.returncode:
            raise Failed(last_words(ended.stderr.decode(errors="replace")))

    def figures(self) -> Figures:
        """The quantiles, and whether every start has stored a job."""
        times = {"p50": quantile(self.took, 0.50), "p95": quantile(self.took, 0.95)}
        if self.site is None:
            return times | {"ok": True}
        stored, expected = self.contender.count(self.site.address).waiting, len(self.took) + 1
        return times | {"expected": expected, "stored": stored, "ok": stored == expected}


def cold(contenders: Sequence[Contender], scale: Scale, place: Place) -> Iterator[tuple[Contender, Figures]]:
    """Milliseconds from starting the interpreter to its end."""
    programs, failures = [*_bare(contenders), *_hooks(contenders, place)], {}
    for n in range(scale.starts):
        for program in in_turn(programs, n):
            failures.update(_started(program))
    for program in programs:
        yield program.contender, failures.get(program) or program.figures()
        if program.site:
            place.engine.discard(program.site)


def _bare(contenders: Sequence[Contender]) -> Iterator[Program]:
    """Programs without a queue, for comparison."""
    yield Program(_named("python -c pass"), "pass")
    if any(contender.package == "mainstay" for contender in contenders):
        yield Program(_named("import mainstay"), "import mainstay")


def _hooks(contenders: Sequence[Contender], place: Place) -> Iterator[Program]:
    """One for each contender."""
    for contender in contenders:
        site = place.site(contender)
        source = contender.cold(site.address)
        if source:
            yield Program(contender, source, site)


def _named(name: str) -> Contender:
    contender = Contender()
    contender.name = name
    return contender


def _started(program: Program) -> dict[Program, Figures]:
    failed = guarded(program.start)
    return {} if failed is None else {program: failed}


def imports(contender: Contender, *_: object) -> Figures | None:
    """The third-party and slow modules that `import mainstay` loads; a hook should load none."""
    if contender.name != "mainstay":
        return None
    program = "import sys; b = set(sys.modules); import mainstay; print(*(set(sys.modules) - b))"
    names = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tops = {name.partition(".")[0] for name in names.split()} - set(OURS)
    found = sorted(top for top in tops if top in UNWANTED or top not in sys.stdlib_module_names)
    return {"ok": True, "unwanted": found}

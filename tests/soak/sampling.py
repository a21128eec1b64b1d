"""Samples of memory, file descriptors and threads of a tree of processes, and whether they grow. Linux only: reads /proc."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import NamedTuple

from tests.soak.kinds import ENDLESS

PROC = Path("/proc")
AVAILABLE = (PROC / "self/smaps_rollup").exists()
MIB = 1024  # /proc counts in KiB
SHARE = 0.1  # a measure may grow by this share of its mean over the time measured, and by …
# … so much: caches fill, and slots are made as needed.
ALLOWED = {"memory MiB": 8.0, "descriptors": 4.0, "threads": 4.0, "processes": 4.0}
MEASURES = ("memory MiB", "descriptors", "threads")
COVERED = 0.8  # a process that lived for less of the time is judged only as part of the whole


class Sample(NamedTuple):
    """What one process has at one moment."""

    at: float
    pid: int
    role: str
    values: dict[str, float]


class Growth(NamedTuple):
    """How one measure of one process, or of all together, went."""

    role: str
    measure: str
    mean: float
    grown: float  # by the slope, over the time measured
    late: float  # the same of the second half alone

    @property
    def too_much(self) -> bool:
        """Whether it grows by more than is allowed, and still did in the second half: caches fill once, a leak goes on."""
        return min(self.grown, 2 * self.late) > ALLOWED[self.measure] + SHARE * self.mean


def tree(roots: list[int]) -> list[int]:
    """Return the processes and all their descendants."""
    parents = {int(path.name): _parent(path) for path in PROC.iterdir() if path.name.isdigit()}
    found = set(roots)
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return sorted(found)
        found |= more


def _parent(folder: Path) -> int:
    try:
        return int((folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError):  # it has just ended
        return 0


def sample(pids: list[int], at: float) -> list[Sample]:
    """Return one sample of each process that lives."""
    found = []
    for pid in pids:
        try:
            found.append(Sample(at, pid, _role(pid), _values(PROC / str(pid))))
        except (OSError, StopIteration):  # it has just ended
            continue
    return found


def _values(folder: Path) -> dict[str, float]:
    lines = (folder / "smaps_rollup").read_text(encoding="ascii").splitlines()
    memory = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    descriptors, threads = (sum(1 for _ in (folder / name).iterdir()) for name in ("fd", "task"))
    return {"memory MiB": memory / MIB, "descriptors": float(descriptors), "threads": float(threads)}


def _role(pid: int) -> str:
    """Return what a process is, by its command."""
    command = (PROC / str(pid) / "cmdline").read_text(encoding="utf-8", errors="replace")
    names = {"tests.soak.producer": "producer", "mainstay.cli.worker": "worker", "process_main": "process slot",
             f"\0{ENDLESS}\0": "endless worker"}  # fmt: skip
    return next((role for part, role in names.items() if part in command), "supervisor")


def growths(samples: list[Sample]) -> list[Growth]:
    """Return how every measure went: of each process that was there nearly all the time, then of all others and of all.

    Process slots come and go. So their memory is judged by the mean of those that are there, and their number by itself.
    """
    instants = sorted({each.at for each in samples})
    series: dict[str, list[Sample]] = {}
    for each in samples:
        series.setdefault(f"{each.role} {each.pid}", []).append(each)
    lasting = {name for name, found in series.items() if len(found) >= COVERED * len(instants)}
    found = [_growth(name, measure, series[name]) for name in series if name in lasting for measure in MEASURES]
    others = [each for each in samples if f"{each.role} {each.pid}" not in lasting]
    if others:
        found.append(_growth("each other, mean", "memory MiB", others))
    whole = [_sum(at, [each for each in samples if each.at == at]) for at in instants]
    return found + [_growth("all", measure, whole) for measure in ("processes", "descriptors", "threads")]


def _sum(at: float, samples: list[Sample]) -> Sample:
    values = {measure: sum(each.values[measure] for each in samples) for measure in MEASURES}
    return Sample(at, 0, "all", {**values, "processes": float(len(samples))})


def _growth(role: str, measure: str, samples: list[Sample]) -> Growth:
    points = [(each.at, each.values[measure]) for each in samples]
    middle = (points[0][0] + points[-1][0]) / 2
    late = [point for point in points if point[0] >= middle]
    return Growth(role, measure, statistics.fmean(value for _, value in points), _grown(points), _grown(late))


def _grown(points: list[tuple[float, float]]) -> float:
    times, values = zip(*points, strict=True)
    slope: float = statistics.linear_regression(times, values).slope if len(set(times)) > 1 else 0.0
    return slope * (times[-1] - times[0])


def table(found: list[Growth]) -> str:
    """Return a small table for people."""
    head = f"{'process':22} {'measure':12} {'mean':>9} {'growth':>9} {'2nd half':>9}"
    return "\n".join([head, *map(_line, found)])


def _line(growth: Growth) -> str:
    role, measure, mean, grown, late = growth
    return f"{role:22} {measure:12} {mean:9.1f} {grown:+9.1f} {late:+9.1f}{'  TOO MUCH' * growth.too_much}"

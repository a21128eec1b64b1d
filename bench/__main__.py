"""The command: `python -m bench`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from .contenders import Contender, contenders
from .figures import Results, quantile
from .measures import Measure, Place, measures
from .report import number, report
from .scale import FULL, QUICK, Scale
from .targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: list[str]) -> int:
    """Measure, print, and answer 1 when a count was wrong."""
    given = parsed(arguments)
    scale = (QUICK if given.quick else FULL)._replace(**({"rounds": given.rounds} if given.rounds else {}))
    chosen, fields = chosen_measures(given.only), chosen_contenders(given.only)
    print(headline(scale), f"before: {conditions()}", sep="\n", flush=True)
    results = Results()
    try:
        measure(chosen, [one for one in fields if not one.missing()], scale, results)
    except KeyboardInterrupt:
        print("interrupted: this is what was measured until then")
    print(f"after: {conditions()}\n", *report(results, fields, scale), sep="\n")
    if given.json:
        Path(given.json).write_text(json.dumps(machine(results, scale), indent=1), encoding="utf-8")
    return 1 if results.failures() else 0


def parsed(arguments: list[str]) -> argparse.Namespace:
    names = [one.name for one in measures()] + [one.name for one in contenders()]
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure mainstay beside the raw engine and its peers."
    )
    parser.add_argument(
        "--quick", action="store_true", help="small numbers, one round: checks the counts in under a minute"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=names,
        default=[],
        metavar="NAME",
        help=f"measures or contenders: {', '.join(names)}",
    )
    parser.add_argument("--rounds", type=int, help="how often everything is repeated")
    parser.add_argument("--json", metavar="FILE", help="write every figure of every round")
    return parser.parse_args(arguments)


def chosen_measures(only: Sequence[str]) -> list[Measure]:
    """Those named, or all when none is."""
    return [one for one in measures() if one.name in only] or measures()


def chosen_contenders(only: Sequence[str]) -> list[Contender]:
    """Those named, or all when none is."""
    return [one for one in contenders() if one.name in only] or contenders()


def headline(scale: Scale) -> str:
    """What this was measured on."""
    system = (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {platform.system()} {platform.machine()}"
    )
    return f"{system}, {os.cpu_count()} cores; {scale.rounds} round(s), medians (low–high), ratios within a round"


def conditions() -> str:
    """How busy the machine is and what a durable write costs now: a slow disk flatters whoever commits least often."""
    load = f"load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load average unknown"
    with tempfile.NamedTemporaryFile() as file:
        took = [synced(file.fileno()) for _ in range(50)]
    return f"{load}, one fsync {number(quantile(took, 0.5))} ms (p95 {number(quantile(took, 0.95))})"


def synced(file: int) -> float:
    """Milliseconds to append a page and have it on the disk."""
    before = time.perf_counter_ns()
    os.write(file, bytes(4096))
    os.fsync(file)
    return (time.perf_counter_ns() - before) / 1e6


def measure(chosen: Sequence[Measure], fields: Sequence[Contender], scale: Scale, results: Results) -> None:
    """All measures, round by round; the order of the contenders turns with each round."""
    with tempfile.TemporaryDirectory(prefix="mainstay-bench-") as name:
        shared = Path(name)
        for round in range(1, scale.rounds + 1):
            turn = (round - 1) % len(fields)
            for one in chosen:
                one_measure(one, [*fields[turn:], *fields[:turn]], scale, round, shared, results)


def one_measure(
    one: Measure, fields: Sequence[Contender], scale: Scale, round: int, shared: Path, results: Results
) -> None:
    """One measure of one round, in a folder that is gone afterwards."""
    folder = shared / f"{one.name}-{round}"
    folder.mkdir()
    for contender, figures in one.run(fields, scale, Place(folder, shared)):
        results.add(one.name, contender.name, round, figures)
        progress(one.name, contender.name, round, figures)
    rmtree(folder)


def progress(measure: str, contender: str, round: int, figures: dict[str, object]) -> None:
    """A line on standard error: the table comes at the end, and that may be minutes away."""
    shown = [f"{key} {number(value)}" for key, value in figures.items() if isinstance(value, float)]
    print(f"  round {round} {measure:9} {contender:15} {', '.join(shown)}", file=sys.stderr, flush=True)


def machine(results: Results, scale: Scale) -> dict[str, object]:
    """Everything, for a program."""
    held = [
        {
            "target": one.text,
            "measured": one.measured(results),
            "sign": one.sign,
            "bound": one.bound,
            "met": one.met(results),
        }
        for one in TARGETS
    ]
    return {"machine": headline(scale).strip(), "scale": scale._asdict(), "rows": results.rows, "targets": held}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

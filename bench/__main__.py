"""The command: `python -m bench`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from . import against, commits
from .commits import BASELINE, checkout
from .contenders import Contender, contenders
from .engines import ENGINES, Engine, engine
from .figures import Results, quantile
from .measures import Measure, Place, measures
from .report import number, report
from .scale import FULL, PAIRED, QUICK, Scale
from .targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: list[str]) -> int:
    """Measure, print, and return 1 when a count was wrong."""
    given = parsed(arguments)
    names = ENGINES if given.engine == "all" else (given.engine,)
    other = checkout(given.against) if given.against else None
    runs = [one_engine(engine(name, given.appendfsync), chosen_scale(given), given.only, other) for name in names]
    found = {name: run for name, run in zip(names, runs, strict=True) if run is not None}
    if given.json:
        told = found if given.engine == "all" else found.get(given.engine, {})
        Path(given.json).write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 1 if len(found) < len(names) or any(not row["ok"] for run in found.values() for row in run["rows"]) else 0


def chosen_scale(given: argparse.Namespace) -> Scale:
    """How much is measured; `--pairs` and `--rounds` say how often."""
    scale = QUICK if given.quick else FULL
    if given.against:
        scale = scale._replace(rounds=against.ROUNDS) if given.quick else PAIRED
    rounds = (given.pairs or 0) * against.ROUNDS if given.against else given.rounds
    return scale._replace(rounds=rounds) if rounds else scale


def one_engine(chosen: Engine, scale: Scale, only: Sequence[str], other: Path | None) -> dict[str, Any] | None:
    """Measure and print on one engine, beside the commit in the folder `other` if there is one; None: it cannot start here."""
    why = chosen.missing()
    if why:
        print(f"{chosen.name}: {why}")
        return None
    results = Results()
    fields = commits.sides(chosen.name, other) if other else chosen_contenders(chosen, only)
    wanted = chosen_measures(chosen, only, against.MEASURES if other else chosen.measures)
    with chosen:
        title = headline(scale, chosen)
        print(title, f"before: {conditions()}", sep="\n", flush=True)
        try:
            measure(chosen, wanted, [one for one in fields if not one.missing()], scale, results)
        except KeyboardInterrupt:
            print("interrupted: these are the figures up to now")
    lines = against.report(results, fields, scale) if other else report(results, fields, scale, chosen.name)
    print(f"after: {conditions()}\n", *lines, "", sep="\n", flush=True)
    ratios = (
        {"against": other.name, "ratios": against.compared(results, fields)} if other else targets(results, chosen.name)
    )
    return {"engine": chosen.name, "machine": title, "scale": scale._asdict(), "rows": results.rows, **ratios}


def parsed(arguments: list[str]) -> argparse.Namespace:
    known = [engine(name) for name in ENGINES]
    words = [word for one in known for word in [*one.measures, *(each.name for each in contenders(one.name))]]
    names = list(dict.fromkeys(words))
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure mainstay beside the raw engine and its peers."
    )
    parser.add_argument(
        "--engine", choices=[*ENGINES, "all"], default="sqlite", help="which engine; all: one after the other"
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
        help=f"measures or contenders: {', '.join(names)}; held runs only when it is named",
    )
    parser.add_argument("--rounds", type=int, help="how often everything is repeated")
    parser.add_argument(
        "--against",
        nargs="?",
        const=BASELINE,
        metavar="REV",
        help=f"compare this working tree with another commit ({BASELINE} if none is named): {', '.join(against.MEASURES)}",
    )
    parser.add_argument("--pairs", type=int, help="how many alternating pairs --against measures (default: 15)")
    parser.add_argument("--json", metavar="FILE", help="write every figure of every round")
    parser.add_argument(
        "--appendfsync",
        choices=["always", "everysec"],
        default="always",
        help="how durable Redis is, for all its users",
    )
    given = parser.parse_args(arguments)
    if given.against and set(given.only) - set(against.MEASURES):
        parser.error(f"--against measures {', '.join(against.MEASURES)}, and no other contenders")
    return given


def chosen_measures(chosen: Engine, only: Sequence[str], possible: Sequence[str]) -> list[Measure]:
    """The named measures; if none is named, all but those that take too long."""
    known = [one for one in measures(chosen) if one.name in possible]
    return [one for one in known if one.name in only] or [one for one in known if not one.named_only]


def chosen_contenders(chosen: Engine, only: Sequence[str]) -> list[Contender]:
    """The named contenders; if none is named, all."""
    known = contenders(chosen.name)
    return [one for one in known if one.name in only] or known


def headline(scale: Scale, chosen: Engine) -> str:
    """The machine, the engine and the number of rounds."""
    system = f"Python {platform.python_version()}, {chosen.about()}; {platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count()} cores; {scale.rounds} round(s), medians (low–high), ratios within a round"


def conditions() -> str:
    """The load and the time of a durable write: a slow disk favours a contender that commits rarely."""
    load = f"load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load average unknown"
    with tempfile.NamedTemporaryFile() as file:
        took = [synced(file.fileno()) for _ in range(50)]
    return f"{load}, one fsync {number(quantile(took, 0.5))} ms (p95 {number(quantile(took, 0.95))})"


def synced(file: int) -> float:
    """Milliseconds to append a page and fsync it."""
    before = time.perf_counter_ns()
    os.write(file, bytes(4096))
    os.fsync(file)
    return (time.perf_counter_ns() - before) / 1e6


def measure(
    chosen: Engine, wanted: Sequence[Measure], fields: Sequence[Contender], scale: Scale, results: Results
) -> None:
    """Run all measures, round by round; each round begins with another contender."""
    with tempfile.TemporaryDirectory(prefix="mainstay-bench-") as name:
        shared = Path(name)
        for round in range(1, scale.rounds + 1):
            turn = (round - 1) % len(fields)
            for one in wanted:
                place = Place(shared / f"{one.name}-{round}", shared, chosen)
                one_measure(one, [*fields[turn:], *fields[:turn]], scale, round, place, results)


def one_measure(
    one: Measure, fields: Sequence[Contender], scale: Scale, round: int, place: Place, results: Results
) -> None:
    """Run one measure of one round in a folder that is removed afterwards."""
    place.folder.mkdir()
    for contender, figures in one.run(fields, scale, place):
        results.add(one.name, contender.name, round, figures)
        progress(one.name, contender.name, round, figures)
    rmtree(place.folder)


def progress(measure: str, contender: str, round: int, figures: dict[str, object]) -> None:
    """Print a line to standard error: the table at the end may be minutes away."""
    shown = [f"{key} {number(value)}" for key, value in figures.items() if isinstance(value, float)]
    print(f"  round {round} {measure:9} {contender:15} {', '.join(shown)}", file=sys.stderr, flush=True)


def targets(results: Results, name: str) -> dict[str, Any]:
    """Each target of an engine with what was measured, for a program."""
    held = [
        {
            "target": one.text,
            "measured": one.measured(results),
            "sign": one.sign,
            "bound": one.bound,
            "met": one.met(results),
        }
        for one in TARGETS[name]
    ]
    return {"targets": held}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

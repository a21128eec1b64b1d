"""Simulated hours of trouble, seed by seed: `python -m tests.simulation --seeds 2000`.

Exit 1 when a seed shows a violation; with `--variant` the code is broken on purpose, and exit 1 means that nobody saw it.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from tests.simulation.hardships import FLOW, HARDSHIPS, OPERATED
from tests.simulation.variants import VARIANTS
from tests.simulation.world import simulate

if TYPE_CHECKING:
    from tests.simulation.world import Result

SHOWN = 3  # violations of a seed that are printed whole


def main(arguments: list[str]) -> int:
    """Run the seeds and print what came of them."""
    given = _parsed(arguments)
    start, count = (given.replay, 1) if given.replay is not None else (given.start, given.seeds)
    only = VARIANTS[given.variant].only if given.variant else given.only
    began, steps, virtual, bad = time.monotonic(), 0, 0, []
    with VARIANTS[given.variant].apply() if given.variant else nullcontext():
        for seed in range(start, start + count):
            result = simulate(seed, only)
            steps, virtual = steps + result.steps, virtual + result.virtual
            if result.violations:
                bad.append(seed)
                _show(result, given)
            if given.variant and bad:
                break
    spent = time.monotonic() - began
    print(f"{count} seeds, {steps:,} steps ({steps / spent:,.0f}/s), {virtual / 3_600_000:.1f} virtual hours: "
          f"{len(bad)} with violations")  # fmt: skip
    return int(not bad) if given.variant else int(bool(bad))


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2_000, help="how many (2,000)")
    parser.add_argument("--start", type=int, default=0, help="the first (0)")
    parser.add_argument(
        "--replay", type=int, metavar="SEED", help="one seed, with the whole story of every job concerned"
    )
    parser.add_argument("--variant", choices=sorted(VARIANTS), help="break the code so, and see whether it is noticed")
    parser.add_argument(
        "--only",
        default="",
        choices=["", *HARDSHIPS, *FLOW, *OPERATED],
        help="every seed has this hardship and no other",
    )
    return parser.parse_args(arguments)


def _show(result: Result, given: argparse.Namespace) -> None:
    met = f" ({', '.join(sorted(result.hardships))})" if result.hardships else ""
    print(f"seed {result.seed}{met}: {len(result.violations)} violations")
    for place, violation in enumerate(result.violations[: None if given.replay is not None else SHOWN]):
        print(f"  {violation}")
        if violation.job and (place == 0 or given.replay is not None):
            print(*(f"    {record}" for record in result.history.of(violation.job)), sep="\n")
    again = f" --variant {given.variant}" if given.variant else f" --only {given.only!r}" if given.only else ""
    print(f"  again: python -m tests.simulation --replay {result.seed}{again}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The producer of the soak, a process of its own: `python -m tests.soak.producer`. It ends at SIGTERM, in good order."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.journal import Journal
from tests.crash.waiting import rest
from tests.soak import jobs
from tests.soak.kinds import RARE, WEIGHTS

PACE = 0.03  # seconds between two enqueues
BULK = 0.05  # of the enqueues are bulk ones


def main() -> None:
    """Enqueue jobs of every kind until told to stop, and write down which were accepted."""
    done: list[int] = []  # no Event: its lock may be held by the code that the signal interrupts
    signal.signal(signal.SIGTERM, lambda number, _: done.append(number))
    journal = Journal(Path(os.environ["SOAK_FOLDER"]), "producer")
    random, kinds = Random(1), [kind for kind, weight in WEIGHTS.items() for _ in range(weight)]
    for number in itertools.takewhile(lambda _: not done, itertools.count()):
        kind = rare(random) or (random.choice(kinds) if random.random() > BULK else "bulk")
        send(journal, kind, f"{kind}-{number}")
        rest(PACE)
    jobs.app.close()


def rare(random: Random) -> str:
    """Return a rare kind, nearly always none."""
    return next((kind for kind, share in RARE.items() if random.random() < share), "")


def send(journal: Journal, kind: str, item: str) -> None:
    """Enqueue one job, or a batch of quick ones."""
    if kind == "bulk":
        items = [f"{item}.{place}" for place in range(20)]
        jobs.app.enqueue_many([jobs.quick.prepare(each) for each in items])
        journal.write("accepted", kind="quick", items=items)
        return
    options: dict[str, Any] = {"key": f"key-{item[-1]}"} if kind == "unique" else {}
    if jobs.app.registry.expect(kind).options(**options).enqueue(item).created:
        journal.write("accepted", kind=kind, items=[item])


if __name__ == "__main__":
    main()

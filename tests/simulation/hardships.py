"""What befalls a world beside the faults of its store: half of the seeds meet one to three of these hardships.

Each was added with a defect that it could have found.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

HARDSHIPS = {
    "signals": "a signal handler raises inside a call of a producer or operator, wherever Python runs handlers",
    "forks": "a process is forked while a thread is inside an enqueue; the child enqueues with the store it inherited",
    "clock steps": "the wall clock of a worker is put forward or back; monotonic time goes on",
    "suspends": "all workers stand still together for longer than their lease, several times",
    "chatter": "a handler logs without end into a store whose writes take longer the more they hold",
    "drafts twice": "a prepared draft is enqueued twice, and given to ctx.enqueue twice",
    "reviews": "handlers that enqueue children ask for a review, and operators approve, reject and retry",
    "replacements": "jobs that have saved a checkpoint wait for their next attempt, and are replaced by new work",
    "identities": "workers have a fixed identity=, and one that died is started again at once",
    "searches": "an operator deletes what a search found, while another one queues the same jobs again",
    "lock files": "workers have lock files and records of started jobs; several sweeps see one death",
    "long writes": "a transaction of the user's holds SQLite's write lock for longer than a lease",
    "stubborn": "async handlers ignore their cancellation and run on",
    "programs go on": "a worker stops inside a program that goes on for a while, and with it the handlers that nothing can stop",
    "workers again": "a worker that was stopped is started again",
}

# What holds jobs back. Drawn apart, and only in two of five seeds: the others stay what they were before.
FLOW = {
    "limits": "jobs have one, two or three concurrency limits, and different priorities",
    "rates": "jobs have one or two rates",
    "parents": "jobs wait for others, and want them to complete or only to end",
    "pauses": "somebody pauses and resumes types, queues and everything",
    "changed limits": "somebody raises and lowers limits while jobs run",
    "deadlines": "jobs have to start by an instant",
    "breakers": "types that fail rest for a while",
    "tenants": "a queue is shared by tenants of different weights",
    "full queues": "a queue takes only so many jobs",
    "cut short": "a call that takes several transactions is cut off between two of them",
}
# Drawn apart too, in one of ten seeds that have none of the first.
TICKING = {
    "schedules": "processes whose clocks are put forward and back by an hour fire schedules, which somebody pauses and resumes"
}
TOGETHER = {"changed limits": "limits"}  # what makes no sense alone

# Drawn apart too: in one of ten seeds, which has flow control too, and one of twenty, which has not.
OPERATED = {"changes": "an operator gives jobs another priority, queue, time or payload, and lets retried ones wait"}

ON_FILES = frozenset({"forks", "lock files", "long writes"})  # these need a real file
OWN_CLOCKS = frozenset(
    {"clock steps", "schedules"}
)  # in these, processes have clocks of their own, and so has the engine
WITHOUT_FAULTS = frozenset({"long writes"})  # these show a defect only where nothing else excuses it


def draw(seed: int) -> frozenset[str]:
    """Return the hardships of a seed."""
    random = Random(f"hardships of {seed}")
    count = random.choice((0, 0, 0, 1, 2, 3))
    found = frozenset(random.sample(list(HARDSHIPS), count))
    ticking = frozenset(TICKING) if seed % 10 == 7 and not found else frozenset[str]()
    operated = frozenset(OPERATED) if seed % 10 == 6 or seed % 20 == 12 else frozenset[str]()
    return found | _drawn_flow(seed) | ticking | operated


def _drawn_flow(seed: int) -> frozenset[str]:
    random = Random(f"flow of {seed}")
    count = random.choice((1, 2, 3, 4, 5)) if seed % 5 in (1, 4) else 0
    return complete(random.sample(list(FLOW), count))


def complete(names: Iterable[str]) -> frozenset[str]:
    """Return hardships with those without which they make no sense."""
    names = frozenset(names)
    return names | {other for name, other in TOGETHER.items() if name in names}

"""Measures how long commands take that only look, cold, on a store with many jobs.

python -m bench.looking fill ADDRESS JOBS               fills the store and prints, as JSON, the id of a job that waits
python -m bench.looking look ADDRESS WAITING STARTS     prints the figures as JSON

A tenth of the jobs waits, one in 200 is dead, the rest has completed. A figure is the time of a command from the start of its interpreter to
its end, the median of all starts; commands take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from mainstay import Mainstay
from mainstay.core.decide import decide
from mainstay.core.job import WorkerInfo
from mainstay.core.outcome import COMPLETED, Outcome

from .contenders.mainstay_jobs import url
from .figures import quantile
from .marks import payload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mainstay.core.draft import Draft

TYPES = 10
AT_ONCE = 500
WAITING, DEAD = 10, 200  # one of so many
TRACE = 'Traceback (most recent call last):\n  File "/srv/shop/{0}.py", line 7, in {0}\n    call()\n{1}'
COMMANDS = {
    "status": ["status"], "stats": ["stats"], "dead": ["dead"], "stuck": ["stuck"], "dupes": ["dupes"], "history": ["history", "1h"],
    "why": ["why", "{waiting}"], "health": ["health"], "ls_type": ["ls", "type:t3"], "ls_state": ["ls", "state:dead"], "ls_ref": ["ls", "ref:doc/77"],
    "ls_tag": ["ls", "tag:eu"], "ls_finished": ["ls", "finished:1h", "state:dead"], "text": ["ls", "no such words"],
}  # fmt: skip

SEARCH = "text"  # is bounded by the jobs that it looks at: no target


def look(address: str, waiting: str, starts: int) -> dict[str, Any]:
    """Return the figures."""
    took: dict[str, list[float]] = {name: [] for name in COMMANDS}
    codes: dict[str, int] = {}
    for _ in range(starts):
        for name, words in COMMANDS.items():
            took[name].append(run([word.format(waiting=waiting) for word in words], url(address), codes, name))
    slowest = max(quantile(each, 0.50) for name, each in took.items() if name != SEARCH)
    return {name: quantile(each, 0.50) for name, each in took.items()} | {
        "slowest": slowest, "codes": codes, "ok": all(code in (0, 1, 3) for code in codes.values()),
    }  # fmt: skip


def run(words: list[str], address: str, codes: dict[str, int], name: str) -> float:
    """Run one command in a new interpreter; return the milliseconds that it took."""
    command = [sys.executable, "-m", "mainstay", *words, "--url", address]
    before = time.perf_counter_ns()
    ended = subprocess.run(command, capture_output=True, check=False)
    codes[name] = max(codes.get(name, 0), ended.returncode)
    return (time.perf_counter_ns() - before) / 1e6


def fill(app: Mainstay, jobs: int) -> str:
    """Fill the store; return the id of a job that waits."""
    first = jobs - jobs // WAITING
    app.enqueue_many(drafts(app, 0, first))
    now, store = int(time.time() * 1_000), app.store
    types = [f"t{n}" for n in range(TYPES)]
    store.register(WorkerInfo("filler", "here", 1, 1, ("default",), tuple(types), now, now, now + 3_600_000, 0, False))
    done = 0
    while claimed := store.claim("filler", {"default": types}, AT_ONCE, int(time.time() * 1_000)).jobs:
        at = int(time.time() * 1_000)
        store.finish([decide(job, outcome(done + n), at, lambda: 0.0) for n, job in enumerate(claimed)])
        done += len(claimed)
    store.deregister("filler")
    return app.enqueue_many(drafts(app, first, jobs))[0].id


def filled(address: str, jobs: int) -> str:
    """Fill the store at this address; return the id of a job that waits."""
    app = Mainstay(url(address))
    waiting = fill(app, jobs)
    app.close()
    return waiting


def drafts(app: Mainstay, start: int, end: int) -> Iterator[Draft]:
    """Return jobs of several types, some with a tag, a reference or a tenant."""
    for n in range(start, end):
        given: dict[str, Any] = {"tags": ["eu"]} if n % 50 == 0 else {"ref": f"doc/{n % 1_000}"} if n % 7 == 0 else {}
        yield app.prepare(f"t{n % TYPES}", payload(n), **given)


def outcome(n: int) -> Outcome:
    """Return how the n-th job ends."""
    if n % DEAD:
        return COMPLETED
    kind = ("ReadTimeout", "ValueError", "KeyError")[n // DEAD % 3]
    error = f"{kind}: no answer from 10.0.0.{n % 250} after {n} ms"
    return Outcome(
        "failed", error=error, traceback=TRACE.format(f"t{n % TYPES}", error), retry=False, reason="permanent"
    )


if __name__ == "__main__":
    action, address, *given = sys.argv[1:]
    print(json.dumps(filled(address, int(given[0])) if action == "fill" else look(address, given[0], int(given[1]))))

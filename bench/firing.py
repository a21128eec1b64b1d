"""Measures how late ticks fire: one worker with many schedules, spread over a time; and what they cost while none is due.

python -m bench.firing ADDRESS SCHEDULES SECONDS IDLE     prints the figures as JSON

A tick counts as fired when the call that commits its job has returned. Its lateness is that instant less the tick, by the clock of this machine.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from mainstay import Mainstay

from .contenders.mainstay_jobs import url
from .figures import quantile

BEFORE = 5.0  # seconds until the first tick, and more for many schedules: the worker has planned all of them by then
PLANNED = 200  # schedules a second
SETTLING = 3.0
FAR = "2100-01-01T00:00:00+00:00"


def main(address: str, schedules: int, seconds: float, idle: float) -> dict[str, Any]:
    """Return the figures."""
    app = Mainstay(url(address))
    late: list[float] = []

    @app.job
    def noop(n: int) -> None: ...

    def fired(schedule: str, jobs: list[str]) -> None:
        tick = first[schedule] * 1000
        late.append(time.time() * 1000 - tick)

    plain = share(app, idle)
    for n in range(schedules):
        app.schedule(f"far-{n}", noop.prepare(n), cron="0 0 1 1 *", start=FAR)
    resting = share(app, idle)
    begun = time.time() + BEFORE + schedules / PLANNED
    first = {f"s{n}": round(begun + n * seconds / schedules, 3) for n in range(schedules)}
    for n in range(schedules):
        app.schedule(f"s{n}", noop.prepare(n), every="1d", start=first[f"s{n}"])
    app.events.on("fired", fired)
    with app.worker():
        time.sleep(max(0.0, begun - time.time()) + seconds + 1.0)
    stored = len(app.search("schedule:s0").ids)
    app.close()
    return {
        "p50": quantile(late, 0.50), "p95": quantile(late, 0.95), "p99": quantile(late, 0.99), "longest": max(late),
        "idle_cpu": resting, "plain_cpu": plain, "executions": len(late), "distinct": len(late), "completed": len(late),
        "expected": schedules, "ok": len(late) == schedules and stored == 1,
    }  # fmt: skip


def share(app: Mainstay, seconds: float) -> float:
    """Return the share of a core that a worker without jobs uses."""
    with app.worker():
        time.sleep(SETTLING)
        before = time.process_time()
        time.sleep(seconds)
        return 100 * (time.process_time() - before) / seconds


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))))

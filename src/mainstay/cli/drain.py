"""`worker --drain`: runs what is due, prints a summary and ends, within `--max-seconds`.

Handlers that nothing can stop end with their process. This process then becomes another program (`execve` ends every thread), which frees their jobs: so no
other attempt begins while a handler runs, and all jobs are queued when the command has ended. That program is `drained.py`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn

from ..core.errors import UsageError
from ..stores import existing
from ..worker.one_shot import OneShot
from ..worker.shutdown import NOW, STOP, THREAD_GRACE, exit_process, on_signals, tune_gc
from . import enqueue_args, exits
from .drained import HANDOVER, report

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..worker.drained import Drained

LATE = 0.7  # seconds after the time is over, when the process ends whatever it does
SWITCH = 0.0005  # seconds: a handler that computes without end leaves the interpreter sooner


def check(drain: bool, max_seconds: str | None, processes: int) -> float | None:
    """Raise `UsageError` for options that do not fit together; return the time in seconds."""
    if not drain:
        raise UsageError("--max-jobs, --max-seconds and --json belong to --drain", "mainstay worker --drain …")
    if processes > 1:
        raise UsageError("--drain runs in one process", "mainstay worker --drain --concurrency 50")
    return None if max_seconds is None else enqueue_args.duration("--max-seconds", max_seconds)


def run(app: Mainstay, max_jobs: int | None, seconds: float | None, as_json: bool, options: dict[str, Any]) -> NoReturn:
    """Drain, print the summary and exit. SIGTERM and Ctrl-C stop gracefully, a second one at once."""
    since, orders = time.monotonic(), SimpleQueue[str]()
    given: list[int] = []

    def heard(number: int) -> None:
        orders.put(NOW if given else STOP)
        given.append(number)

    shot = OneShot(app, orders, max_jobs, seconds, **options)
    late = threading.Timer((seconds or 0) + LATE, _end_now)
    late.daemon = True
    if seconds is not None:
        late.start()
    with on_signals(heard):
        tune_gc()
        sys.setswitchinterval(SWITCH)
        done = shot.drain()
    if done.running:
        _become_another(shot, done, since, as_json)
    late.cancel()
    left = THREAD_GRACE if seconds is None else max(since + seconds - time.monotonic(), 0) + LATE
    exit_process(report(done, time.monotonic() - since, as_json), min(left, THREAD_GRACE))


def _end_now() -> None:
    """End this process: a store that does not reply, or a hook that hangs, must not use up more of a host's time."""
    exits.complain("the drain did not end in time: the store does not reply, or a hook hangs")
    sys.stderr.flush()
    os._exit(exits.STORE)


# Handlers that nothing can stop -----------------------------------------------------------------------------------------


def _become_another(shot: OneShot, done: Drained, since: float, as_json: bool) -> None:
    """End every thread of this process, and free the jobs of its handlers then. Where that is impossible, the end of the lease frees them."""
    handed = {
        "url": existing(shot.store.url), "worker": shot.id, "wants": {queue: list(types) for queue, types in shot.wants.items()},
        "done": list(done), "since": since, "json": as_json,
    }  # fmt: skip
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    path = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {HANDOVER: json.dumps(handed), "PYTHONPATH": path}
    try:
        os.execve(sys.executable, [sys.executable, "-m", "mainstay.cli.drained"], environment)  # noqa: S606  (our own code)
    except (OSError, ValueError):  # no interpreter of its own: an embedded one
        pass

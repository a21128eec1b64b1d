"""A worker that has its process to itself: runs until an order or a signal; a second one stops it now."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from ..core.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NoReturn

    from ..core.clock import Duration
    from ..core.job import Claimed
    from .worker import Worker

SIGNALS = (signal.SIGTERM, signal.SIGINT)
POLL = 0.5  # seconds: some platforms deliver no signal during a longer wait
SHORTEST, LONGEST = 0.5, 30.0  # seconds to wait for a server that cannot be reached
THREAD_GRACE = 2.0  # seconds for threads that handlers left behind
STOP, NOW, ENDED = "stop", "now", "ended"
DRAIN = "drain"  # as STOP, but handlers go on to their ends, however long that takes
# As STOP, but handlers have the time that they need to stop; those without a timeout, LONGEST_REPLACE.
REPLACE = "replace"
LONGEST_REPLACE = "1h"
LIMITS: dict[str, Duration] = {NOW: 0, REPLACE: LONGEST_REPLACE}  # the grace for any other
YOUNG = 50_000  # new objects before a collection; a batch of jobs makes some thousand and drops them again


def until_signalled(worker: Worker, *, replaceable: bool = False) -> int:
    """Start the worker, wait for a signal, stop it; return the exit code.

    A `replaceable` process also stops when a handler does not end after its timeout, and then starts its command anew: a
    thread can only be ended with its process.
    """
    orders: SimpleQueue[str] = SimpleQueue()
    given: list[int] = []

    def heard(number: int) -> None:
        orders.put(NOW if given else STOP)
        given.append(number)

    stuck: list[Claimed] = []

    def replace(job: Claimed) -> None:
        stuck.append(job)
        orders.put(REPLACE)

    asked: list[str] = []

    def obey(what: str) -> None:
        asked.append(what)
        orders.put(what)

    worker.obey = obey
    if replaceable:
        worker.app.events.on("stuck", replace)
    with on_signals(heard):  # before the start: a signal that comes meanwhile counts
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        if _started(worker, orders):
            tune_gc()
            stop_on_order(worker, orders)
        if stuck and not asked:
            # A signal that comes while the interpreter starts would end the process: it waits for the handlers of the new program.
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            if not given:
                os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  (the command that runs already)
    return 0


def _started(worker: Worker, orders: SimpleQueue[str]) -> bool:
    """Start the worker as soon as its server can be reached; False if an order to stop came first.

    After a power cut the machines of a fleet start in any order. A file that cannot be opened does not come back.
    """
    wait = SHORTEST
    while True:
        try:
            worker.start()
            return True
        except StoreUnavailable as error:
            if not worker.store.remote:
                raise
            worker.app.events.emit("store_error", error=error, wait=round(wait * 1000))
        if next_order(orders, wait):
            return False
        wait = min(2 * wait, LONGEST)


def stop_on_order(worker: Worker, orders: SimpleQueue[str]) -> None:
    """Stop the worker when the first order comes; `NOW` cuts a graceful stop short, `STOP` after the grace one that takes its time."""
    first = next_order(orders)

    def end() -> None:
        try:
            worker.stop(LIMITS.get(first), drain=first == DRAIN)
        finally:
            orders.put(ENDED)

    threading.Thread(target=end, name="mainstay-stop").start()
    while (order := next_order(orders)) != ENDED:
        if order == NOW:
            worker.stop_now()
        elif order == STOP and first in (DRAIN, REPLACE):
            worker.slots.ask_to_stop()
            later = threading.Timer(worker.grace / 1000, worker.stop_now)
            later.daemon = True
            later.start()


def stop_uninterrupted(worker: Worker) -> None:
    """Stop a worker on a thread of its own: Ctrl-C would end the stop anywhere, with outcomes in its hands. It cuts the grace short."""
    orders: SimpleQueue[str] = SimpleQueue()
    orders.put(STOP)
    try:
        stop_on_order(worker, orders)
    except BaseException:
        worker.stop_now()
        worker.stop(0)  # if it has not begun
        raise


@contextmanager
def on_signals(heard: Callable[[int], None]) -> Iterator[None]:
    """Call this in the main thread on SIGTERM and SIGINT.

    A signal handler interrupts that thread anywhere, even while it holds a lock. So it may only put an order on a
    `SimpleQueue`, which is made for this; an Event or a worker's own locks could block for ever.
    """
    before = {number: signal.signal(number, lambda number, _: heard(number)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signalled_block(worker: Worker) -> Iterator[None]:
    """Run the worker for `with app.worker(signals=True)`: the first signal leaves the block, a second one cuts the stop short.

    Only the main thread can listen to signals; Python raises otherwise.
    """
    orders: SimpleQueue[str] = SimpleQueue()
    leaving: list[bool] = []

    def heard(number: int) -> None:
        if leaving:
            orders.put(NOW)
        else:
            leaving.append(True)
            raise SystemExit(128 + number)

    with on_signals(heard):
        try:
            worker.start()
            yield
        finally:
            leaving.append(True)
            orders.put(STOP)
            stop_on_order(worker, orders)


def next_order(orders: SimpleQueue[str], seconds: float = float("inf")) -> str:
    """Return the next order, "" if none came in time."""
    left = seconds
    while left > 0:
        try:
            return orders.get(timeout=min(left, POLL))
        except Empty:
            left -= POLL
    return ""


def tune_gc() -> None:
    """Exclude the objects of the start-up from later collections, and collect less often.

    Jobs of ours leave no cycles, and collecting cost a tenth of a drain. Not for a worker inside another program's
    process: the collector belongs to that program.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 100)


def exit_process(code: int, grace: float = THREAD_GRACE) -> NoReturn:
    """End this process, even if a thread that a handler left behind keeps the interpreter from ending."""
    late = threading.Timer(grace, os._exit, (code,))
    late.daemon = True
    late.start()
    atexit.register(late.cancel)  # runs after the threads have ended: other exit handlers may take longer
    sys.exit(code)

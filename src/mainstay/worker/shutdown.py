"""Ending a worker from outside: the first order asks for a graceful end, a second one for an end now."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from ..core.errors import StoreUnavailable
from .gc_tuning import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import NoReturn

    from . import Worker

SIGNALS = (signal.SIGTERM, signal.SIGINT)
TURN = 0.5
FIRST, LONGEST = 0.5, 30.0  # seconds to wait for a server that is not there
LINGER = 2.0  # seconds for threads that nobody waits for
STOP, NOW, ENDED = "stop", "now", "ended"


def until_signalled(worker: Worker) -> int:
    """Start the worker, wait for a signal, stop it; answers the exit code."""
    orders: SimpleQueue[str] = SimpleQueue()
    given: list[int] = []

    def heard(number: int) -> None:
        orders.put(NOW if given else STOP)
        given.append(number)

    with on_signals(heard):  # before the start: a signal that comes meanwhile counts
        if _started(worker, orders):
            settle()
            obey(worker, orders)
    return 0


def _started(worker: Worker, orders: SimpleQueue[str]) -> bool:
    """Start the worker, as soon as its server is there; False when an order to stop came first.

    After a power cut the machines of a fleet come back in any order. A file that cannot be opened will not come back.
    """
    wait = FIRST
    while True:
        try:
            worker.start()
            return True
        except StoreUnavailable as error:
            if not getattr(worker.store, "remote", False):
                raise
            worker.app.events.emit("store_error", error=error, wait=round(wait * 1000))
        if following(orders, wait):
            return False
        wait = min(2 * wait, LONGEST)


def obey(worker: Worker, orders: SimpleQueue[str]) -> None:
    """Stop the worker when the first order comes; `NOW` cuts a graceful end short."""
    first = following(orders)

    def end() -> None:
        try:
            worker.stop(0 if first == NOW else None)
        finally:
            orders.put(ENDED)

    threading.Thread(target=end, name="mainstay-stop").start()
    while (order := following(orders)) != ENDED:
        if order == NOW:
            worker.hurry()


@contextmanager
def on_signals(heard: Callable[[int], None]) -> Iterator[None]:
    """Have SIGTERM and SIGINT call this, in the main thread.

    A handler interrupts that thread anywhere, even inside a lock that it holds. So it may do no more than put an order
    on a `SimpleQueue`, the one that allows for this; an Event or a worker's own locks could block for ever.
    """
    before = {number: signal.signal(number, lambda number, _: heard(number)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def following(orders: SimpleQueue[str], seconds: float = float("inf")) -> str:
    """The next order, "" for none in time; waits in short turns, since some platforms hold signals back during a long one."""
    left = seconds
    while left > 0:
        try:
            return orders.get(timeout=min(left, TURN))
        except Empty:
            left -= TURN
    return ""


def leave(code: int) -> NoReturn:
    """End this process, even if a thread that some handler left behind would keep the interpreter from ending."""
    late = threading.Timer(LINGER, os._exit, (code,))
    late.daemon = True
    late.start()
    atexit.register(late.cancel)  # called once the threads have ended: what others do at exit may take its time
    sys.exit(code)

"""Interrupts anywhere in the real code: a signal handler that raises there, or a fork while a thread is there."""

from __future__ import annotations

import gc
import math
import os
import select
import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from inspect import CO_GENERATOR
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 5.0  # real seconds in which a call that is not blocked surely returns
MOMENT = 0.3  # real seconds in which a fork is made that nothing holds up
OURS = f"{os.sep}mainstay{os.sep}"


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: finalizers of what earlier tests have left would be counted as places of the call."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Interrupt(KeyboardInterrupt):
    """What the signal handler raises."""


@no_collection()
def at_line(number: int, call: Callable[[], Any], then: Callable[[], None]) -> Any:
    """Run a call; before its nth line inside mainstay, run `then`, which may raise."""
    left = number

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal left
        if OURS not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                then()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return call()
    finally:
        sys.settrace(before)


@no_collection()
def interrupted(number: int, call: Callable[[], Any]) -> Any:
    """Run a call, with a signal handler that raises `Interrupt` at its nth place inside mainstay.

    Python runs handlers when a Python function begins and when a C function has returned, not before every line: to leave
    `with lock:` is a line of its own, at which the lock is held, no block is left that would release it, and no handler runs.
    """
    left: float = number

    def strike(frame: Any, event: str, _: object) -> None:
        nonlocal left
        if event in ("call", "c_return") and OURS in frame.f_code.co_filename:
            left -= 1
            # What is raised in a generator that Python is closing is only printed: the next place is struck instead.
            if left <= 0 and not frame.f_code.co_flags & CO_GENERATOR:
                left = math.inf
                raise Interrupt

    before = sys.getprofile()
    sys.setprofile(strike)
    try:
        return call()
    finally:
        sys.setprofile(before)


def blocked(call: Callable[[], object]) -> str:
    """Run a call in another thread; return what is wrong if it raises or never returns, else ""."""
    problems = ["another thread waits for ever for a lock that nobody will release"]

    def run() -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001  (it is the finding)
            problems[0] = f"another thread gets {type(error).__name__}: {error}"
        else:
            problems[0] = ""

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return problems[0]


def forked(number: int, busy: Callable[[], object], child: Callable[[], object]) -> str:
    """Fork while a thread is before the nth line of `busy`; return what went wrong with `child` in the child, or ""."""
    reached, go_on = threading.Event(), threading.Event()

    def stop_here() -> None:
        reached.set()
        go_on.wait(MOMENT)  # not for ever: code that forbids a fork in this place lets it wait for the thread

    def work() -> None:
        try:
            at_line(number, busy, stop_here)
        finally:
            reached.set()

    thread = threading.Thread(target=work)
    thread.start()
    reached.wait()
    readable, writable = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that threads are about is the point
        pid = os.fork()
    if pid == 0:
        _in_child(child, writable)
    go_on.set()
    thread.join()
    os.close(writable)
    try:
        return _reply(readable, pid)
    finally:
        os.close(readable)


def _in_child(child: Callable[[], object], writable: int) -> None:
    """Run the child's part and end the process, without any cleanup of the parent's."""
    try:
        child()
    except BaseException as error:  # noqa: BLE001  (told to the parent)
        os.write(writable, f"the forked child gets {type(error).__name__}: {error}"[:500].encode())
    else:
        os.write(writable, b"ok")
    finally:
        os._exit(0)


def _reply(readable: int, pid: int) -> str:
    poll = select.poll()  # `select` takes no descriptor above 1,023
    poll.register(readable, select.POLLIN)
    if not poll.poll(PATIENCE * 1000):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return "the forked child hangs in its enqueue"
    told = os.read(readable, 500).decode()
    os.waitpid(pid, 0)
    return "" if told == "ok" else told or "the forked child died"

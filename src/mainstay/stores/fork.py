"""What belongs to one process, and must not be shared with a child that it forks."""

from __future__ import annotations

import _frozen_importlib
import os
import sys
import threading
import time
from _weakrefset import WeakSet  # `weakref` alone costs a cold producer a file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

IMPORT_WAIT = 10.0  # seconds that a fork waits for imports of other threads


class ForkGuard:
    """Base of what holds connections, locks and threads. `_start` sets them up, at first and again in a forked child."""

    def __init__(self) -> None:
        self._parents: list[object] = []
        self._pid = os.getpid()
        self._start()
        _guards.add(self)

    def _start(self) -> None:
        """Start without connections."""
        raise NotImplementedError

    def before_fork(self) -> None:
        """Wait until no other thread is in the middle of what a child cannot take over."""

    def after_fork(self) -> None:
        """Let the other threads of the parent go on."""

    def restarted(self) -> bool:
        """Return whether this is a forked child, which has to start again and does so.

        What the parent opened is kept and never used: closing it here would end it for the parent too.
        """
        pid = os.getpid()
        if self._pid == pid:
            return False
        self._parents.append(self.__dict__.copy())
        self._pid = pid
        self._start()
        return True


_guards: WeakSet[ForkGuard] = WeakSet()


# Python has one lock per module that is being imported, and a child inherits those that other threads hold. No public name leads
# to them. To hold the lock of all imports instead, from here to the fork, would block hooks of others: `logging` waits in its own.
_imports: dict[str, Callable[[], Any]] = getattr(_frozen_importlib, "_module_locks", {})


def _others_import() -> list[str]:
    """Return the modules that other threads are importing."""
    me = threading.get_ident()
    locks = [(name, lock()) for name, lock in _imports.copy().items()]
    return [name for name, lock in locks if lock is not None and lock.owner != me]


def _wait_for_imports() -> None:
    until = time.monotonic() + IMPORT_WAIT
    while _others_import() and time.monotonic() < until:
        time.sleep(0.001)


def _forget_imports() -> None:
    """Have this child begin anew what other threads of its parent were importing: nobody here ends it.

    Nothing outside of a package has seen its modules before the package is complete, so they go with it.
    """
    for name in _others_import():
        _imports.pop(name, None)
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            for module in [each for each in sys.modules if f"{each}.".startswith(f"{name}.")]:
                del sys.modules[module]


def _before() -> None:
    """Bring other threads to a point at which a child can start: they use no store and import nothing."""
    if threading.active_count() > 1:
        for guard in tuple(_guards):
            guard.before_fork()
        _wait_for_imports()


def _in_parent() -> None:
    for guard in tuple(_guards):
        guard.after_fork()


def _in_child() -> None:
    """Start again at once: a lock that another thread of the parent held is never released here."""
    _forget_imports()
    for guard in tuple(_guards):
        guard.restarted()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)

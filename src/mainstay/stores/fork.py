"""What belongs to one process, and must not be shared with a child that it forks."""

from __future__ import annotations

import os
import threading
from _weakrefset import WeakSet  # `weakref` alone costs a cold producer a file

from .verbs import preload


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


def _before() -> None:
    """Bring other threads to a point at which a child can start: no lock of an import and no write to a file is held."""
    if threading.active_count() > 1:
        preload()
        for guard in tuple(_guards):
            guard.before_fork()


def _in_parent() -> None:
    for guard in tuple(_guards):
        guard.after_fork()


def _in_child() -> None:
    """Start again at once: a lock that another thread of the parent held is never released here."""
    for guard in tuple(_guards):
        guard.restarted()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)

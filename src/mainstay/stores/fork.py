"""What belongs to one process, and must not be shared with a child that it forks."""

from __future__ import annotations

import os


class ForkGuard:
    """Base of what holds connections, locks and threads. `_start` sets them up, at first and again in a forked child."""

    def __init__(self) -> None:
        self._parents: list[object] = []
        self._pid = os.getpid()
        self._start()

    def _start(self) -> None:
        """Start without connections."""
        raise NotImplementedError

    def _same_process(self) -> bool:
        """Return whether this process set it up; in a forked child, start again.

        What the parent opened is kept and never used: closing it here would end it for the parent too.
        """
        pid = os.getpid()
        if self._pid == pid:
            return True
        self._parents.append(self.__dict__.copy())
        self._pid = pid
        self._start()
        return False

"""Results that many pages ask for at once, shared for a moment."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar("T")

TIMES, LONGEST = 2, 1.0  # a result is kept twice as long as it took to make, a second at most


class Recent:
    """The last result of each kind. Calls that come while one is made wait for it instead of making their own."""

    def __init__(self) -> None:
        self._locks: dict[str, Lock] = {}
        self._found: dict[str, tuple[float, Any]] = {}  # until when it is kept, and the result

    def get(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of that name: the last one, or a new one if that is too old."""
        with self._locks.setdefault(name, Lock()):
            results = self._found  # not those of a `forget` meanwhile: what is being made may be from before the change
            kept = results.get(name)
            begun = time.monotonic()
            if kept is None or begun > kept[0]:
                made, now = make(), time.monotonic()
                kept = results[name] = now + min(TIMES * (now - begun), LONGEST), made
            found: T = kept[1]
            return found

    def forget(self) -> None:
        """Make all results anew: something has been changed."""
        self._found = {}

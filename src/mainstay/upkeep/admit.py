"""Admit: lets in what was missed, and cancels what had to start by now. Both cost one look where nothing is held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import SECOND
from ..core.errors import StoreError
from .reviews import act_on_due

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.events import Events
    from ..stores.contract import Store

CHUNK = 500
BETWEEN = 50  # milliseconds between two chunks, so that others can write
AFTER_AN_ERROR = 5 * SECOND


class _EverySecond:
    """Calls a verb of the store each second, and at once again while there is more to do."""

    def __init__(self, events: Events, verb: Callable[[int, int], int]) -> None:
        self._events, self._verb = events, verb

    def step(self, now: int) -> int:
        """Do one chunk; return when to do the next."""
        try:
            return BETWEEN if self._verb(now, CHUNK) >= CHUNK else SECOND
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=AFTER_AN_ERROR)
            return AFTER_AN_ERROR


class Admit(_EverySecond):
    """Examines blocked jobs that a crash or a lost wake-up has left behind."""

    name = "admit"

    def __init__(self, store: Store, events: Events) -> None:
        super().__init__(events, store.admit)


class Expire(_EverySecond):
    """Cancels waiting jobs that had to start by an instant that has passed, and acts on reviews that are due."""

    name = "expire"

    def __init__(self, store: Store, events: Events) -> None:
        def expire(now: int, limit: int) -> int:
            return max(store.expire(now, limit), act_on_due(store, events, now, limit))

        super().__init__(events, expire)

"""Roll-up: makes hours of old minutes of the counters, and forgets old hours. Several processes may do it at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import HOUR, MINUTE
from ..core.errors import StoreError

if TYPE_CHECKING:
    from ..core.events import Events
    from ..stores.contract import Store

MINUTES = 2 * HOUR + 5 * MINUTE  # for which minutes are kept: `stats` reads longer times by the hour
BETWEEN = 50  # milliseconds between two calls, so that others can write


class RollUp:
    """Rolls counters up once a minute. Hours are kept for `keep` ms; the totals stay."""

    name = "roll-up"

    def __init__(self, store: Store, events: Events, keep: int) -> None:
        self._store, self._events, self._keep = store, events, keep

    def step(self, now: int) -> int:
        """Roll up some of them; return when to go on."""
        try:
            return BETWEEN if self._store.roll_up(now, MINUTES, self._keep) else MINUTE
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=MINUTE)
            return MINUTE

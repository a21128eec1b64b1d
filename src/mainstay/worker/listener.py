"""The listener: waits for the store's notifications and wakes the claimer or the heartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import StoreError
from ..stores.contract import ClaimingNotifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.events import Events
    from ..stores.contract import Notifier, Store
    from .registration import Registration
    from .slot_offers import SlotOffers

LISTEN = 100  # milliseconds: how long a stop may have to wait for the listener
AFTER_AN_ERROR = 1_000


class Listener:
    """Has the notifier of the registered identity; a lost identity's notifier is removed from the store with it."""

    def __init__(
        self, store: Store, registration: Registration, offers: SlotOffers, events: Events,
        on_jobs: Callable[[], None], on_cancel: Callable[[], None],
    ) -> None:  # fmt: skip
        self._store, self._registration, self._offers, self._events = store, registration, offers, events
        self._on_jobs, self._on_cancel = on_jobs, on_cancel
        self._notifier: Notifier | None = None
        self._owner = ""  # the identity whose notifier that is

    def open(self) -> Notifier:
        """Return the notifier of the registered identity, opened if need be."""
        name = self._registration.registered
        if self._owner != name:
            self.close()
        if self._notifier is None:
            self._notifier, self._owner = self._store.notifier(name), name
        return self._notifier

    def close(self) -> None:
        """Stop listening."""
        notifier, self._notifier = self._notifier, None
        if notifier is not None:
            notifier.close()

    def step(self, now: int) -> int:
        """Wait for a notification, and wake whom it concerns."""
        try:
            notifier = self.open()
            heard = self._take(notifier, now) if isinstance(notifier, ClaimingNotifier) else notifier.wait(LISTEN)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=AFTER_AN_ERROR)
            return AFTER_AN_ERROR
        if heard == "cancel":
            self._on_cancel()
        elif heard:
            self._on_jobs()
        return 0

    def _take(self, notifier: ClaimingNotifier, now: int) -> str:
        """Wait with an offer of one slot, if one is free."""
        offer = self._offers.make(now)
        if offer is None:
            return notifier.wait(LISTEN)
        replied = False
        try:
            heard = notifier.take(LISTEN, offer)
            replied = True
        finally:
            came = self._offers.close(replied)
            if came:
                self._on_jobs()
        return "" if came and heard == "jobs" else heard  # the claimer is awake already

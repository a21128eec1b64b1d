"""The listener: waits for the store's notifications, offers a free slot meanwhile, and wakes the claimer or the heartbeat.

Claim-on-wake: a free slot is offered to a notifier that can claim a job in the moment of the notification. Only Redis has
such a notifier. It shortens a pickup from 2.45 to 1.65 ms at the median with `appendfsync always` (0.69 of the time) and
from 1.61 to 1.41 ms with `everysec` (0.86): medians of 8 alternating pairs of runs of
`python3 dev.py bench --engine redis --only pickup mainstay`, shorter in all 16 pairs. The p95 is 0.64 and 0.54 of the time,
but the machine had other work: single pairs are from 0.23 to 1.04 and from 0.39 to 1.51. Decision 18 explains the rules.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..core.errors import StoreError
from ..stores.results import ClaimingNotifier, SlotOffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..app import Mainstay
    from ..core.job import Claimed
    from ..stores.results import Notifier
    from .registration import Registration

LISTEN = 100  # milliseconds: how long a stop may have to wait for the listener
AFTER_AN_ERROR = 1_000


class SlotOffers:
    """At most one open offer, and the jobs that came by offers. The listener offers, the claimer starts what came."""

    def __init__(
        self, wants: Mapping[str, Sequence[str]], free: Callable[[], bool], monotonic: Callable[[], int]
    ) -> None:
        self._wants, self._free, self._monotonic = wants, free, monotonic
        self.outstanding = False  # a job may be on its way
        # A claim got no reply, by an offer or the claimer's own: the store may have committed it.
        self.uncertain = False
        self._arrived: deque[tuple[int, list[Claimed]]] = deque()  # when the slot was offered, and what came

    def make(self, now: int) -> SlotOffer | None:
        """Return an offer for one job, or None if no slot is free. The listener must call `close` afterwards."""
        # Set before reading `uncertain`: the claimer sets `uncertain` first and reads `outstanding` afterwards. So one
        # of the two sees the other, and a job that is on its way is not looked up and run twice.
        self.outstanding = True
        if self.uncertain or not self._wants or not self._free():
            self.outstanding = False
            return None
        since = self._monotonic()
        return SlotOffer(self._wants, now, lambda jobs: self._arrived.append((since, jobs)) if jobs else None)

    def close(self, replied: bool) -> bool:
        """End the offer; without a reply its claim is uncertain. Return whether the claimer has something to do."""
        if not replied:  # else left as it is: the claimer may set it at this moment
            self.uncertain = True
        self.outstanding = False
        return self.uncertain or bool(self._arrived)

    def arrived(self) -> Iterator[tuple[int, list[Claimed]]]:
        """Yield what came, with the instant of the offer: the worker counts as holding the job since then."""
        while self._arrived:
            yield self._arrived.popleft()


class Listener:
    """Has the notifier of the registered identity; a lost identity's notifier is removed from the store with it."""

    def __init__(
        self, app: Mainstay, registration: Registration, offers: SlotOffers, on_jobs: Callable[[], None],
        on_cancel: Callable[[], None],
    ) -> None:  # fmt: skip
        self._store, self._events, self._registration, self._offers = app.store, app.events, registration, offers
        self._on_jobs, self._on_cancel = on_jobs, on_cancel
        self._notifier: Notifier | None = None
        self._claiming: ClaimingNotifier | None = None  # the same, if it can claim: to find that out takes 9 µs
        self._owner = ""  # the identity whose notifier that is

    def open(self) -> Notifier:
        """Return the notifier of the registered identity, opened if need be."""
        name = self._registration.registered
        if self._owner != name:
            self.close()
        if self._notifier is None:
            self._notifier, self._owner = self._store.notifier(name), name
            self._claiming = self._notifier if isinstance(self._notifier, ClaimingNotifier) else None
        return self._notifier

    def close(self) -> None:
        notifier, self._notifier = self._notifier, None
        if notifier is not None:
            notifier.close()

    def step(self, now: int) -> int:
        """Wait for a notification, and wake whom it concerns."""
        try:
            notifier = self.open()
            heard = notifier.wait(LISTEN) if self._claiming is None else self._take(self._claiming, now)
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

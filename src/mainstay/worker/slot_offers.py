"""Claim-on-wake: a free slot is offered to a notifier that can claim a job in the moment of the notification.

Only Redis has such a notifier. It shortens a pickup from 2.45 to 1.65 ms at the median with `appendfsync always` (0.69 of
the time) and from 1.61 to 1.41 ms with `everysec` (0.86): medians of 8 alternating pairs of runs of
`python3 dev.py bench --engine redis --only pickup mainstay`, shorter in all 16 pairs. The p95 is 0.64 and 0.54 of the time,
but the machine had other work: single pairs are from 0.23 to 1.04 and from 0.39 to 1.51.

Two threads use this: the listener offers, the claimer starts what came. Decision 18 explains the rules.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ..stores.contract import SlotOffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..core.job import Claimed
    from .uncertain_claims import UncertainClaims


class SlotOffers:
    """At most one open offer, and the jobs that came by offers and have not been started."""

    def __init__(
        self, wants: Mapping[str, Sequence[str]], free: Callable[[int], bool], uncertain: UncertainClaims
    ) -> None:
        self._wants, self._free, self._uncertain = wants, free, uncertain
        self.outstanding = False  # a job may be on its way
        self._arrived: deque[tuple[int, list[Claimed]]] = deque()  # when the slot was offered, and what came

    def make(self, now: int) -> SlotOffer | None:
        """Return an offer for one job, or None if no slot is free. The listener must call `close` afterwards."""
        # Set before reading `pending`: the claimer sets `pending` first and reads `outstanding` afterwards. So one of
        # the two sees the other, and a job that is on its way is not looked up and run twice.
        self.outstanding = True
        if self._uncertain.pending or not self._wants or not self._free(now):
            self.outstanding = False
            return None
        return SlotOffer(self._wants, now, lambda jobs: self._arrived.append((now, jobs)) if jobs else None)

    def close(self, replied: bool) -> bool:
        """End the offer; without a reply its claim is uncertain. Return whether the claimer has something to do."""
        self._uncertain.pending = self._uncertain.pending or not replied
        self.outstanding = False
        return self._uncertain.pending or bool(self._arrived)

    def arrived(self) -> Iterator[tuple[int, list[Claimed]]]:
        """Yield what came, with the instant of the offer: the worker counts as holding the job since then."""
        while self._arrived:
            yield self._arrived.popleft()

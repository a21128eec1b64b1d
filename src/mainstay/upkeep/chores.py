"""The list of chores that every worker runs. To add one, write its file and add a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .prune import Prune, PruneActions
from .sweep import GRACE, SYSTEM, Sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from ..core.events import Events
    from ..stores.contract import Store


class Chore(Protocol):
    """Work that keeps an installation healthy. Safe when several processes do it at the same time."""

    name: str

    def step(self, now: int) -> int:
        """Do one round; return after how many milliseconds to do the next."""
        ...


def chores(
    store: Store,
    random: Callable[[], float],
    events: Events,
    audit_keep: int,
    sweep_grace: int = GRACE,
    clock: Clock = SYSTEM,
) -> list[Chore]:
    """Return every chore."""
    return [
        Sweep(store, random, events, store.sweep_interval, sweep_grace, clock),
        Prune(store, events),
        PruneActions(store, events, audit_keep),
    ]

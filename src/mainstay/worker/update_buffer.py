"""Updates of running handlers on their way to the store: a bounded buffer. A handler that reports faster than the store writes waits."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from ..core.updates import Checkpoint, Log, Update

if TYPE_CHECKING:
    from collections.abc import Iterable

    Attempt = tuple[int | str, int]  # seq, token

ROUND, ROUND_CHARACTERS = 5_000, 4 << 20  # of one round: some 100 ms of a server
FULL, FULL_CHARACTERS = 2 * ROUND, 2 * ROUND_CHARACTERS  # above this a report waits
PAUSE = 1.0  # seconds that a report waits at most: while the store is away, a handler slows down, but goes on
# On an event loop a wait holds up every handler, and no call can wait for its own handler alone. So the bound is higher there
# (some 100 MB), and above it a report waits just long enough that a loop of reports cannot outrun the store for ever.
LOOP_TIMES, LOOP_PAUSE = 10, 0.01


class UpdateBuffer:
    """Keeps updates in order, of progress and checkpoints only an attempt's newest. Any thread adds; the claimer takes."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._change = threading.Condition()
        self._updates: dict[tuple[Any, ...], Update] = {}
        self._characters = 0

    def __len__(self) -> int:
        return len(self._updates)

    def add(self, update: Update) -> None:
        """Add an update, after a pause if too many wait and it replaces none of them."""
        with self._change:
            if self._pause and self.is_full() and _key(update) not in self._updates:
                self._wait_for_room()
            self._put(update)

    def _wait_for_room(self) -> None:
        times, pause = (LOOP_TIMES, min(self._pause, LOOP_PAUSE)) if _on_a_loop() else (1, self._pause)
        self._change.wait_for(lambda: not self.is_full(times), pause)

    def take(self, most: int = ROUND, characters: int = ROUND_CHARACTERS) -> tuple[list[Update], set[Attempt]]:
        """Return the first updates, at least one if there are any, and the attempts that have others left."""
        taken: list[Update] = []
        with self._change:
            for update in self._updates.values():
                characters -= size(update)
                if taken and (len(taken) == most or characters < 0):
                    break
                taken.append(update)
            for update in taken:
                del self._updates[_key(update)]
                self._characters -= size(update)
            self._change.notify_all()
            return taken, {(update.seq, update.token) for update in self._updates.values()}

    def put_back(self, updates: Iterable[Update]) -> None:
        """Add updates that were taken, before all others; those that were replaced meanwhile are left out."""
        with self._change:
            newer, self._updates, self._characters = self._updates, {}, 0
            for update in (*updates, *newer.values()):
                self._put(update)

    def _put(self, update: Update) -> None:
        key = _key(update)
        before = self._updates.get(key)
        self._characters += size(update) - (size(before) if before else 0)
        self._updates[key] = update

    def is_full(self, times: int = 1) -> bool:
        """Return whether a report waits, where so many times the usual number may be here."""
        return len(self._updates) >= times * FULL or self._characters >= times * FULL_CHARACTERS


def _on_a_loop() -> bool:
    """Return whether this thread runs an event loop at this moment. Without asyncio, there is none."""
    asyncio = sys.modules.get("asyncio")
    try:
        return asyncio is not None and bool(asyncio.get_running_loop())
    except RuntimeError:  # no loop
        return False


def size(update: Update) -> int:
    """Return about how many characters an update has."""
    if isinstance(update, Log):
        return len(update.message) + len(update.fields or "")
    return len(update.body) if isinstance(update, Checkpoint) else 0


def _key(update: Update) -> tuple[Any, ...]:
    number = update.n if isinstance(update, Log) else 0
    return type(update), update.seq, update.token, number

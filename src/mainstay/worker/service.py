"""A loop on a thread of its own: calls a step until stopped. Each step returns when to call the next."""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock

AFTER_A_BUG = 1_000


class Service:
    """Calls `step(now)` again and again; `wake` calls it at once. `start` and `stop` may come in any order, and twice."""

    def __init__(
        self, name: str, step: Callable[[int], int], clock: Clock, crashed: Callable[[BaseException], None]
    ) -> None:
        self._step, self._clock, self._crashed = step, clock, crashed
        self._calls: SimpleQueue[None] = SimpleQueue()  # in C: whoever waits here runs sooner than at an event
        self._woken = False
        self._stopping = False
        self._thread = threading.Thread(target=self._loop, name=f"mainstay-{name}", daemon=True)

    def start(self) -> None:
        if not self._stopping:
            self._thread.start()

    def wake(self) -> None:
        """Call the next step now. Cheap to call often."""
        if not self._woken:
            self._woken = True
            self._calls.put(None)

    def stop(self) -> None:
        """End after the present step, and wait for that."""
        self._stopping = True
        self._calls.put(None)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _loop(self) -> None:
        while not self._stopping:
            wait = self._try()
            if (wait > 0 or self._woken) and not self._stopping:
                self._rest(max(wait, 0) / 1000)

    def _rest(self, seconds: float) -> None:
        """Wait for the time of the next step, or a call. Of calls that came meanwhile, that step is for all of them."""
        try:
            self._calls.get(timeout=seconds)
        except Empty:
            pass
        self._woken = False

    def _try(self) -> int:
        try:
            return self._step(self._clock.now())
        except BaseException as error:  # noqa: BLE001  (a bug in one part, or code of the user that exits, must not end the worker)
            self._crashed(error)
            return AFTER_A_BUG

"""What happened, told to whoever listens: logs, metrics, alerts and tests. No listener, no cost."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Listener = Callable[..., None]

NAMES = (
    "enqueued",  # ids: the jobs were accepted
    "claimed",  # jobs: a batch was taken
    "started",  # job: its handler is about to be called
    "ended",  # job, outcome: its handler is through
    "stored",  # transitions: these outcomes were recorded
    "lost",  # transition: it was refused, the lease was gone
    "swept",  # orphans: jobs of dead workers were freed
    "beat",  # worker (its id): the lease was renewed
    "lease_lost",  # worker (its id): the lease is gone, the worker rejoins
    "cancelling",  # job: a running job was asked to stop
    "store_error",  # error, wait (in ms): the store failed, the worker waits
    "late",  # job: a handler was given up after its timeout and is still running
    "worker_started",  # worker (the object): it has joined and is about to claim
    "worker_stopping",  # worker (the object): it claims nothing more
    "worker_stopped",  # worker (the object): it has left
    "pruned",  # count: so many ended jobs were removed by retention
)


class Events:
    """A bus of one process: `on` subscribes, `emit` tells."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {name: [] for name in NAMES}

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call `listener(**fields)` for every event of that name; answers how to stop."""
        if name not in NAMES:
            raise ValueError(f"there is no event {name!r}; there are: {', '.join(NAMES)}")
        listeners = self._listeners[name]
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    def listeners(self, name: str) -> list[Listener]:
        """Who listens, as a list that stays current: hot paths hold it and skip the telling while it is empty."""
        return self._listeners[name]

    def emit(self, name: str, **fields: Any) -> None:
        """Tell every listener, in the order in which they subscribed."""
        for listener in tuple(self._listeners[name]):
            try:
                listener(**fields)
            except Exception as error:  # noqa: BLE001  (a listener's bug must not stop the worker it listens to)
                _report(name, error)


def _report(name: str, error: Exception) -> None:
    import sys
    import traceback

    sys.stderr.write(f"mainstay: a listener of the event {name!r} failed:\n")
    traceback.print_exception(error)

"""Events of a worker or an application, for logs, metrics, alerts and tests. An event without a listener costs nothing."""

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
    "ended",  # job, outcome: its handler has ended
    "stored",  # transitions: these outcomes were recorded
    "lost",  # transition: it was refused because the lease was lost
    "swept",  # orphans: jobs of dead workers were freed
    "beat",  # worker (its id): the lease was renewed
    "lease_lost",  # worker (its id): the lease is lost, the worker registers anew
    "cancelling",  # job: a running job was asked to stop
    "store_error",  # error, wait (in ms): the store failed, the worker waits
    "late",  # job: its handler still runs a while after its timeout
    "stuck",  # job: its handler is late and keeps its job and its slot; only the end of the process would end it
    "unknown_queue",  # queue, hint: a worker was told to serve it, but no type declares it and no job waits in it
    "worker_started",  # worker (the object): it is registered and about to claim
    "worker_stopping",  # worker (the object): it claims nothing more
    "left",  # job: its handler cannot be stopped and still runs after the grace period; its job stays running
    "worker_stopped",  # worker (the object): it has stored everything; it is deregistered unless a handler was left
    "pruned",  # count: so many ended jobs were removed by retention
)


class Events:
    """The events of one process: `on` subscribes, `emit` calls the listeners."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {name: [] for name in NAMES}

    def on(self, name: str, listener: Listener) -> Callable[[], None]:
        """Call `listener(**fields)` for every event of that name; return a function that unsubscribes it."""
        if name not in NAMES:
            raise ValueError(f"there is no event {name!r}; there are: {', '.join(NAMES)}")
        listeners = self._listeners[name]
        listeners.append(listener)
        return lambda: listeners.remove(listener) if listener in listeners else None

    def listeners(self, name: str) -> list[Listener]:
        """Return the live list of listeners: hot paths keep it and skip `emit` while it is empty."""
        return self._listeners[name]

    def emit(self, name: str, **fields: Any) -> None:
        """Call every listener, in the order in which they subscribed."""
        for listener in tuple(self._listeners[name]):
            try:
                listener(**fields)
            except Exception as error:  # noqa: BLE001  (a listener's bug must not stop the worker)
                import sys
                import traceback

                sys.stderr.write(f"mainstay: a listener of the event {name!r} failed:\n")
                traceback.print_exception(error)

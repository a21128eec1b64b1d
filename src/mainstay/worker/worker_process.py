"""One worker process under a supervisor: `python -m mainstay.worker.worker_process APP OPTIONS IDENTITY DESCRIPTOR`.

Orders come on the standard input, which is moved away before user code runs; its end means that the supervisor is gone,
and then this worker ends gracefully, its own heart beating. Signals ask for a graceful end however often they come: a
service manager sends them to every process of a group, and that must not cut the grace short. Only the supervisor does.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ..app import Mainstay
from ..core.errors import ConfigError, MainstayError
from . import spawn
from .gc_tuning import settle
from .messages import Reader, Writer
from .shutdown import STOP, leave, obey, on_signals

if TYPE_CHECKING:
    from collections.abc import Callable

    from . import Worker

CANNOT_START = 2  # the exit code that says: another try would end the same way


def load_app(path: str) -> Mainstay:
    """The application named `module:attribute`, from the current folder or the installed packages."""
    name, _, attribute = path.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    found: object = importlib.import_module(name)
    for part in (attribute or "app").split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Mainstay):
        raise ConfigError(f"{path} is not a Mainstay application: name the module and the variable, e.g. jobs:app")
    if ":memory:" in found.store.url:
        raise ConfigError(f"{path} keeps its jobs in memory, where other processes cannot see them: use a file")
    return found


class Link:
    """The pipe to the supervisor: who this worker is, and who it has become."""

    def __init__(self, out: Writer, worker: Worker) -> None:
        self._out, self._worker, self._told = out, worker, ""

    def tell(self, worker: object = None) -> None:
        """Tell the supervisor under which identity to keep this worker alive, if that is news."""
        if self._told != self._worker.id:
            self._told = self._worker.id
            url, lease = self._worker.store.url, self._worker.lease
            self._out.write({"identity": self._told, "url": url, "lease": lease})


def follow(control: int, orders: SimpleQueue[str]) -> None:
    """Pass the supervisor's orders on; when it is gone, that is one to stop."""
    reader = Reader(control)
    try:
        while True:
            orders.put(reader.read(None))
    except (EOFError, OSError):
        orders.put(STOP)


def serve(worker: Worker, control: int, out: Writer, orders: SimpleQueue[str]) -> None:
    """Run the worker until the supervisor or a signal says stop."""
    link = Link(out, worker)
    worker.app.events.on("worker_started", link.tell)
    worker.app.events.on("beat", link.tell)  # a worker that lost its lease beats under another identity
    threading.Thread(target=follow, args=(control, orders), name="mainstay-orders", daemon=True).start()
    worker.start()
    settle()
    obey(worker, orders)


def main(arguments: list[str], load: Callable[[str], Mainstay] = load_app) -> int:
    """Load the application, serve the supervisor, answer the exit code."""
    path, options, identity, descriptor = arguments
    control, out = spawn.take_over(0), int(descriptor)
    os.set_inheritable(out, False)
    spawn.settle()
    orders: SimpleQueue[str] = SimpleQueue()
    with on_signals(lambda _: orders.put(STOP)):
        try:
            worker = load(path).worker(identity=identity, **json.loads(options))
        except Exception as error:  # noqa: BLE001  (importing runs the user's code)
            _explain(path, error)
            return CANNOT_START
        serve(worker, control, Writer(out), orders)
    return 0


def _explain(path: str, error: Exception) -> None:
    """Why there is no worker: one line for a mistake in the configuration, the whole trace for one in the code."""
    if isinstance(error, MainstayError):
        sys.stderr.write(f"error: {error}\n")
    else:
        import traceback

        traceback.print_exception(error)
        sys.stderr.write(f"error: importing {path} failed: {type(error).__name__}: {error}\n")


if __name__ == "__main__":
    leave(main(sys.argv[1:]))

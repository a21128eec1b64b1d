"""One worker process under a supervisor: `python -m mainstay.worker.worker_process APP OPTIONS IDENTITY DESCRIPTOR`.

Orders come on the standard input, which is moved away before user code runs. Its end means that the supervisor is gone;
then this worker stops gracefully and renews its own lease meanwhile. Signals ask for a graceful stop however often they
come: a service manager sends them to every process of a group, and that must not cut the grace short. Only the
supervisor can.
"""

from __future__ import annotations

import json
import sys
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ..core.errors import ConfigError, MainstayError
from ..core.events import report_failure
from ..load_app import load_app
from ..redacting import redactor
from .pipes import Reader, Writer, take_over
from .shutdown import REPLACE, STOP, exit_process, on_signals, stop_on_order, tune_gc

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import Mainstay
    from .worker import Worker

CANNOT_START = 2  # the exit code for: another start would end the same way


def read_orders(control: int, orders: SimpleQueue[str]) -> None:
    """Pass the supervisor's orders on; its end is an order to stop."""
    reader = Reader(control)
    try:
        while True:
            orders.put(reader.read(None))
    except (EOFError, OSError):
        orders.put(STOP)


def serve(worker: Worker, out: Writer, orders: SimpleQueue[str]) -> None:
    """Run the worker until the supervisor or a signal orders it to stop. An order that came already starts nothing."""

    def identify(**_: object) -> None:
        """Tell the supervisor that this worker runs, under which identity to renew its lease, and whether an operator ends it."""
        lease = worker.registration.lease
        out.write({"identity": worker.id, "url": worker.store.url, "lease": lease, "retired": bool(asked)})

    def obey(what: str) -> None:
        asked.append(what)
        identify()
        orders.put(what)

    asked: list[str] = []
    worker.obey = obey

    for event in ("worker_started", "beat"):  # at a beat: a worker that lost its lease has another identity
        worker.app.events.on(event, identify)
    worker.app.events.on("stuck", lambda job: orders.put(REPLACE))  # the supervisor starts another process
    if not orders.empty():
        return
    worker.start()
    tune_gc()
    stop_on_order(worker, orders)


def main(arguments: list[str], load: Callable[[str], Mainstay] = load_app) -> int:
    """Load the application, serve the supervisor, return the exit code."""
    path, options, identity, descriptor = arguments
    control, out = take_over(descriptor)
    orders: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=read_orders, args=(control, orders), name="mainstay-orders", daemon=True).start()
    with on_signals(lambda _: orders.put(STOP)):
        try:
            worker = _shared(load(path), path).worker(identity=identity, **json.loads(options))
        except Exception as error:  # noqa: BLE001  (importing runs the user's code)
            _explain(error)
            return CANNOT_START
        serve(worker, Writer(out), orders)
    return 0


def _shared(app: Mainstay, path: str) -> Mainstay:
    """Return the application, if other processes can reach its store."""
    if ":memory:" in app.store.url:
        raise ConfigError(f"{path} keeps its jobs in memory, where other processes cannot see them: use a file")
    return app


def _explain(error: Exception) -> None:
    """Write why the worker cannot start: one line for an error of ours, with a trace for any other."""
    if not isinstance(error, MainstayError):
        report_failure("the start of the worker", error)
    sys.stderr.write(redactor().text(f"error: {error}\n"))


if __name__ == "__main__":
    exit_process(main(sys.argv[1:]))

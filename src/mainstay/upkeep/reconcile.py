"""Reconciliation at the start of a worker, on a thread of its own: claiming does not wait for it, and a stop does so for a moment only."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..control.reconcile import reconcile, verifications
from ..core.errors import StoreError
from ..core.events import report_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..app import Mainstay

LIMIT = 10_000  # ended jobs that are looked at
GRACE = 1.0  # seconds for the check that goes on when the worker stops


def reconcile_once(app: Mainstay, types: Sequence[str], limit: int) -> Callable[[], None]:
    """Check the completed jobs of these types once, and return a function that ends it. Events tell what was found."""
    chosen = [name for name in types if name in verifications(app)]
    if not chosen or limit < 1:
        return lambda: None
    stopped = threading.Event()
    thread = threading.Thread(target=_check, args=(app, chosen, limit, stopped), name="mainstay-reconcile", daemon=True)
    thread.start()

    def end() -> None:
        stopped.set()
        thread.join(GRACE)

    return end


def _check(app: Mainstay, types: Sequence[str], limit: int, stopped: threading.Event) -> None:
    try:
        reconcile(app, types, limit=limit, going=lambda: not stopped.is_set())
    except StoreError as error:
        app.events.emit("store_error", error=error, wait=0)
    except Exception as error:  # noqa: BLE001  (the worker goes on without it)
        report_failure("reconciliation", error)

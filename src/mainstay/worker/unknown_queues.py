"""Queues that a worker serves though nothing speaks of them: probably mistyped. Any name is allowed, so this is a warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import StoreError
from ..core.search_terms import Term
from ..core.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..app import Mainstay

NEWEST = 200  # jobs of which the queues are known
WAITING = Term("state", "=", ("queued",))


def warn_unknown(app: Mainstay, queues: Iterable[str]) -> None:
    """Emit `unknown_queue` for each queue that no type declares and no job waits in, with the name that was meant."""
    declared = {type.queue for type in app.registry.values()}
    others = [queue for queue in queues if queue not in declared]
    if not others:  # nearly always: asks the store nothing
        return
    try:
        known = declared | {type.queue for type in app.store.types()} | _used(app)
        unknown = [
            queue for queue in others if queue not in known and not _jobs(app, WAITING, Term("queue", "=", (queue,)))
        ]
    except StoreError:  # a worker starts without this warning too
        return
    for queue in unknown:
        app.events.emit("unknown_queue", queue=queue, hint=did_you_mean(queue, known))


def _used(app: Mainstay) -> set[str]:
    return {job.queue for job in app.store.get_many(_jobs(app))}


def _jobs(app: Mainstay, *terms: Term) -> tuple[str, ...]:
    return app.store.search(terms, NEWEST, None, app.clock.now()).ids

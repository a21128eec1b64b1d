"""Which types a worker claims from which queues, and a warning for queues that nobody uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import ConfigError, StoreError
from ..core.search_terms import Term
from ..core.suggest import did_you_mean
from ..options import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..app import Mainstay

NEWEST = 200  # jobs of which the queues are known
WAITING = Term("state", "=", ("queued",))


def wanted_by(app: Mainstay, queues: Iterable[str] | None, types: Iterable[str] | None) -> Mapping[str, Sequence[str]]:
    """Return the types to claim by queue: all of them in each, because a call may send a job to another queue."""
    names = app.registry.served(types)
    if not names:
        raise ConfigError("this worker would serve no job: no @app.job is defined (is the module imported?)")
    own = (app.registry.expect(name).queue for name in names)
    served = dict.fromkeys(own if queues is None else listed(queues))
    if not served:
        raise ConfigError("this worker would serve no job: queues= names no queue")
    return dict.fromkeys(served, names)


def warn_unknown(app: Mainstay, queues: Iterable[str]) -> None:
    """Emit `unknown_queue` for each queue that no type declares and no job waits in, with the name that was meant.

    Probably it is mistyped. Any name is allowed, so this is a warning.
    """
    declared = {type.queue for type in app.registry.values()}
    others = [queue for queue in queues if queue not in declared]
    if not others:  # nearly always: asks the store nothing
        return
    try:
        used = {job.queue for job in app.store.get_many(_jobs(app))}
        known = declared | used | {type.queue for type in app.store.types()}
        unknown = [
            queue for queue in others if queue not in known and not _jobs(app, WAITING, Term("queue", "=", (queue,)))
        ]
    except StoreError:  # a worker starts without this warning too
        return
    for queue in unknown:
        app.events.emit("unknown_queue", queue=queue, hint=did_you_mean(queue, known))


def _jobs(app: Mainstay, *terms: Term) -> tuple[str, ...]:
    return app.store.search(terms, NEWEST, None, app.clock.now()).ids

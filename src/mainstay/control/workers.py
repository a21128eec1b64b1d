"""Workers as an application sees them: which there are, and how to end one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import NotFound, UsageError
from ..core.suggest import did_you_mean
from .records import WorkerRecord
from .rules import instant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..core.job import WorkerInfo
    from ..flow import Flow

SHOWN = 5  # candidates


def state_of(worker: WorkerInfo, now: int) -> str:
    """Return whether a worker is live, stopping or dead."""
    return "dead" if worker.expires_at <= now else "stopping" if worker.stopping else "live"


def live(workers: Iterable[WorkerInfo], now: int) -> list[WorkerInfo]:
    """Return the workers that have a valid lease and are not stopping."""
    return [worker for worker in workers if state_of(worker, now) == "live"]


def workers(app: Flow) -> list[WorkerRecord]:
    """Return the registered workers, oldest first."""
    now = app.clock.now()
    return [
        WorkerRecord(
            each.id, state_of(each, now), each.host, each.pid, each.slots, each.running, each.queues, each.types,
            instant(each.started_at), instant(each.beat_at), instant(each.expires_at),
        )
        for each in app.store.workers()
    ]  # fmt: skip


def stop_worker(app: Flow, worker: str, drain: bool, actor: str) -> str:
    """Ask a worker to drain or to stop; return its id."""
    now, known = app.clock.now(), {each.id: each for each in app.store.workers()}
    found = find(list(known), worker)
    dead = state_of(known[found], now) == "dead"
    if dead or not app.store.ask_worker(found, "drain" if drain else "stop", now, actor):
        raise NotFound(f"the worker {found} is dead: its lease has run out", "mainstay workers")
    return found


def find(ids: Sequence[str], given: str) -> str:
    """Return the id of the only worker whose id starts so; raise `NotFound`, or `UsageError` with the candidates."""
    found = [id for id in ids if id == given] or [id for id in ids if given and id.startswith(given)]
    if not found:
        raise NotFound(f"there is no worker {given}{did_you_mean(given, ids)}", "mainstay workers")
    if len(found) > 1:
        more = " …" if len(found) > SHOWN else ""
        raise UsageError(f"{given!r} stands for several workers: {', '.join(found[:SHOWN])}{more}")
    return found[0]

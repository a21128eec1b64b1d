"""Workers: which there are, which jobs they hold, and how to stop one."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ...control.records import WorkerRecord
from ...core.search_terms import Term
from ...core.states import RUNNING
from ..call import Call
from ..extend import extended, extends
from ..job_records import JobRecord, job_records
from ..operations import Body, operation

EACH, ALL = 50, 150  # jobs that are listed of a worker, and of all


@extends(WorkerRecord)
class WorkerPage(NamedTuple):
    """A worker with the jobs that it holds: 50 at most, of the 150 newest that run."""

    jobs: list[JobRecord]


class Stop(Body, frozen=True, kw_only=True):
    """How a worker stops: with `drain`, it finishes what it runs first, however long that takes."""

    drain: bool = False


class Stopped(msgspec.Struct, kw_only=True):
    """The worker that was asked to stop."""

    id: str


@operation("GET", "/api/workers")
def list_workers(call: Call) -> list[WorkerPage]:
    """Return the registered workers, oldest first, with the jobs that they hold."""
    now, store = call.app.clock.now(), call.app.store
    page = store.search([Term("state", "=", (RUNNING,))], ALL, None, now)
    held: dict[str | None, list[JobRecord]] = {}
    for row in job_records(store.get_many(page.ids), now):
        held.setdefault(row.worker, []).append(row)
    return [extended(WorkerPage, each, jobs=held.get(each.id, [])[:EACH]) for each in call.app.workers()]


@operation("POST", "/api/workers/{id}/stop")
def stop_worker(call: Call, id: str, body: Stop) -> Stopped:
    """Ask a worker to stop, as a signal does."""
    return Stopped(id=call.app.stop_worker(id, drain=body.drain, actor=call.who.actor))

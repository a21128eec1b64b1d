"""Runs what is due in the process of the server: for hosts without a worker of their own."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, NamedTuple

import msgspec

from ...core.errors import Conflict, UsageError
from ...worker.drained import Drained
from ..call import Call
from ..extend import extended, extends
from ..operations import Body, operation
from ..roles import ADMIN

_busy = threading.Lock()  # one drain at a time in this process


class Trigger(Body, frozen=True):
    """For how long, and how many jobs at most."""

    max_seconds: Annotated[float, msgspec.Meta(gt=0, le=300)] = 25.0
    max_jobs: Annotated[int, msgspec.Meta(ge=1)] | None = None


@extends(Drained)
class Triggered(NamedTuple):
    """How many attempts ended in each way, and how many jobs are left; how many ended in all, and how many of them failed."""

    processed: int
    errors: int


@operation("POST", "/api/jobs/trigger", role=ADMIN)
async def run_due(call: Call, body: Trigger) -> Triggered:
    """Run what is due in this process, until nothing is or the time is over; return how many attempts ended how.

    The process needs the application's code. Jobs that have not finished in time are released, with no attempt spent.
    """
    if not call.app.registry:
        raise UsageError("this server has no job types: start it with the application's code, mainstay serve --app …")
    if not _busy.acquire(blocking=False):
        raise Conflict("this process runs due jobs already: try again when it is through")
    try:
        found = await asyncio.to_thread(call.app.drain, max_seconds=body.max_seconds, max_jobs=body.max_jobs)
        return extended(Triggered, found, processed=found.processed, errors=found.errors)
    finally:
        _busy.release()

"""Waiting for a job to end: look often at first, then less, never spin."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from .core.clock import milliseconds
from .core.errors import NotFound
from .core.states import ENDED, REVIEW

if TYPE_CHECKING:
    from .core.clock import Duration
    from .core.job import Job
    from .stores.contract import Store

SHORTEST, LONGEST = 0.002, 0.1


def wait_for(store: Store, job_id: str, timeout: Duration | None) -> Job | None:
    """The job once it has ended (or waits for a person); None when the time is over first."""
    limit = None if timeout is None else time.monotonic() + milliseconds(timeout) / 1000
    pause, never = SHORTEST, threading.Event()
    while True:
        job = store.get(job_id)
        if job is None:
            raise NotFound(
                f"job {job_id} is not there: its transaction has not committed, or retention or someone has removed it"
            )
        if job.state in ENDED or job.state == REVIEW:
            return job
        left = LONGEST if limit is None else limit - time.monotonic()
        if left <= 0:
            return None
        never.wait(min(pause, left))
        pause = min(pause * 1.5, LONGEST)

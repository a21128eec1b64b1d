"""Waits for a job to end by polling: often at first, then less often."""

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
    """Wait until the job has ended or is in review and return it; None after the timeout."""
    limit = None if timeout is None else time.monotonic() + milliseconds(timeout) / 1000
    pause, never = SHORTEST, threading.Event()
    while True:
        job = store.get(job_id)
        if job is None:
            raise NotFound(
                f"job {job_id} does not exist: its transaction has not committed, or it was deleted or removed by retention"
            )
        if job.state in ENDED or job.state == REVIEW:
            return job
        left = LONGEST if limit is None else limit - time.monotonic()
        if left <= 0:
            return None
        never.wait(min(pause, left))
        pause = min(pause * 1.5, LONGEST)

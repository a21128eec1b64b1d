"""Why a job waits, as its caller may know it: a caller of one tenant learns nothing of other jobs, and nothing of the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..control.records import Reason

if TYPE_CHECKING:
    from ..control.records import Why
    from ..core.job import Job
    from .call import Call

# What a caller of one tenant is told instead: the texts name jobs, workers, operators and numbers that are not its own.
PLAIN = {
    "paused": "its type, its queue or the installation is paused",
    "breaker": "its type rests after failures",
    "limit": "a limit of how many jobs run is reached",
    "rate": "a limit of how many jobs start in a time is reached",
    "parents": "it waits for other jobs to end",
    "key": "another job holds its key: a retry would be refused",
    "behind": "other jobs are first",
    "worker": "no worker has it at this moment",
    "slot": "it waits for a worker to be free",
}


def explained(call: Call, job: Job) -> Why:
    """Return why a job is where it is."""
    found = call.app.why(job.id)
    if call.who.tenant is None:
        return found
    return found._replace(reasons=tuple(map(_plain, found.reasons)))


def _plain(reason: Reason) -> Reason:
    return Reason(reason.kind, PLAIN[reason.kind]) if reason.kind in PLAIN else reason

"""A payload that this worker's code does not take: during a deploy, a worker with other code may run the job."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import TYPE_CHECKING
from zlib import crc32

from ..core.clock import SECOND, human
from ..core.errors import StoreError
from ..core.fits import fits
from ..core.outcome import Outcome

if TYPE_CHECKING:
    from ..core.job import Attempt, Claimed, Declaration
    from ..stores.contract import Store
    from .in_flight import Execution

# At first more than the 1 s after which an idle worker looks for jobs: it finds out, too. Then a part of the time since the
# first refusal: an eighth means 24 claims in the first minute, so of two workers that claim in turn at random, the right one
# has had the job.
WAIT, LONGEST, PART = 5 * SECOND // 4, 64 * SECOND, 8


def left_to_others(store: Store, execution: Execution, outcome: Outcome, now: int) -> Outcome:
    """Return the outcome of such a job: released, without the loss of an attempt, if other code may run it; else as given.

    Code of a newer version than this worker has ever seen is about to be deployed, or was deployed and is coming back.
    """
    job, own = execution.job, execution.type.declaration(execution.job.type)
    try:
        refusals, others = _refusals(store.attempts(job.id)), store.declarations(now, job.type)
    except StoreError:  # the next worker that claims the job decides
        return _released(
            own, outcome, WAIT, "its payload is not valid here, and the store did not tell what others take"
        )
    waited = max(0, now - (refusals[-1].ended_at or now)) if refusals else 0
    if job.version > own.version:
        reason = f"waits for a worker with version {job.version} of {job.type}"
    elif any(_takes(each, job) for each in others if not _refused(each, own, refusals)):
        reason = f"waits for a worker with other code of {job.type}, which takes its payload"
    else:
        late = f"; no live worker took it within {human(waited)}" if refusals else ""
        return outcome._replace(error=f"{outcome.error}{late}")
    return _released(own, outcome, waited // PART, reason)


def _refusals(attempts: list[Attempt]) -> list[Attempt]:
    """Return how workers released the job since it was enqueued, run or retried; the last one first."""
    ended = [each for each in reversed(attempts) if each.ended_at is not None]
    return list(takewhile(lambda each: each.outcome == "released", ended))


def _refused(other: Declaration, own: Declaration, refusals: list[Attempt]) -> bool:
    """Return whether this is the code of this worker, or that of one which has released the job for its payload."""
    mark = _mark(other)
    return mark == _mark(own) or any((each.error or "").endswith(mark) for each in refusals)


def _mark(code: Declaration) -> str:
    """Return what the error of a refused job ends with."""
    return f" [refused by code {crc32(f'{code.version} {code.takes}'.encode()):08x}]"


def _takes(other: Declaration, job: Claimed) -> bool:
    if other.version != job.version:
        return other.version > job.version  # it can be upgraded
    try:
        schema = json.loads(other.takes)
        return fits(json.loads(job.payload), schema, schema)
    except (ValueError, RecursionError):  # no JSON: nobody takes it
        return False


def _released(own: Declaration, outcome: Outcome, wait: int, reason: str) -> Outcome:
    delay = min(max(wait, WAIT), LONGEST)
    return Outcome("released", error=f"{outcome.error}{_mark(own)}", reason=reason, delay=delay)

"""A payload that this worker's code does not take: during a deploy, a worker with other code may run the job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..core.clock import SECOND
from ..core.errors import StoreError
from ..core.json_schema import fits
from ..core.outcome import Outcome

if TYPE_CHECKING:
    from ..core.job import Declaration
    from ..stores.contract import Store
    from .in_flight import Execution

WAIT, LONGEST = (
    5 * SECOND // 4,
    64 * SECOND,
)  # more than the 1 s after which an idle worker looks for jobs: it finds out, too
ALIKE = 8  # waits before they double: of two workers, the other has claimed the job by then in 255 of 256 cases


def left_to_others(store: Store, execution: Execution, outcome: Outcome, now: int) -> Outcome:
    """Return the outcome of such a job: released, without the loss of an attempt, if other code can run it; else as given.

    Code of a newer version than this worker has ever seen is about to be deployed, or was deployed and is coming back.
    """
    job, known = execution.job, execution.type.version
    if job.version > known:
        return _released(execution, outcome, f"waits for a worker with version {job.version} of {job.type}")
    try:
        others = store.declarations(now, job.type)
    except StoreError:  # the next worker that claims the job decides
        return _released(
            execution, outcome, "its payload is not valid here, and the store did not tell what others take"
        )
    if any(_takes(each, execution) for each in others):
        return _released(
            execution, outcome, f"waits for a worker with other code of {job.type}, which takes its payload"
        )
    return outcome


def _takes(other: Declaration, execution: Execution) -> bool:
    job, type = execution.job, execution.type
    if (other.version, other.takes) == (type.version, type.takes):
        return False
    if other.version != job.version:
        return other.version > job.version  # it can be upgraded
    try:
        schema = json.loads(other.takes)
        return fits(json.loads(job.payload), schema, schema)
    except (ValueError, RecursionError):  # no JSON: nobody takes it
        return False


def _released(execution: Execution, outcome: Outcome, reason: str) -> Outcome:
    delay = min(WAIT << min(max(0, execution.job.token - ALIKE), 10), LONGEST)  # a token counts the claims
    return Outcome("released", error=outcome.error, reason=reason, delay=delay)

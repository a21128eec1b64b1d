"""Reading jobs with all that belongs to them, each consistent in itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..core.export import JobHistory
    from ..core.job import Job

TRIES = 5


def settled(
    ids: Sequence[str], read: Callable[[list[str]], list[JobHistory]], jobs: Callable[[Sequence[str]], list[Job]]
) -> list[JobHistory]:
    """Return the jobs that exist with their history, in the order asked.

    A job whose state changed while it was read is read again, so that its attempts fit its state.
    """
    found: dict[str, JobHistory] = {}
    left = list(dict.fromkeys(ids))
    for _ in range(TRIES):
        some = {history.job.id: history for history in read(left)}
        found |= some
        marks = {job.id: (job.state, job.token) for job in jobs(list(some))}
        left = [id for id, (job, *_) in some.items() if marks.get(id) != (job.state, job.token)]
        if not left:
            break
    return [found[id] for id in ids if id in found]

"""What a type declares so that its completed jobs can be checked later: `@app.job(verify=…, subject=…)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import UsageError
from .fields import by

if TYPE_CHECKING:
    from collections.abc import Callable

    from .job import Job


class Verification(NamedTuple):
    """A function that says whether what a job did still holds, and what names the thing that the job was about."""

    holds: Callable[[Any], Any]
    subject: by | Callable[[Any], str] | None

    def subject_of(self, type: str, job: Job[Any, Any]) -> str:
        """Return what a job was about. Fields name a thing among jobs of its type, a function among all jobs."""
        if self.subject is None:
            return job.id
        if isinstance(self.subject, by):
            return f"{type} {self.subject.plain(type, job.payload)}"
        return str(self.subject(job))


def verification(name: str, given: dict[str, Any], batch: bool) -> Verification | None:
    """Take `verify` and `subject` out of the options of a type; None if it has none."""
    holds, subject = given.pop("verify", None), given.pop("subject", None)
    if holds is None and subject is not None:
        raise UsageError(f"{name}: subject= needs verify=, the function that checks what a completed job did")
    if holds is None:
        return None
    if not callable(holds) or batch:
        raise UsageError(
            f"{name}: verify={holds!r:.60}: give a function that takes a completed Job; a batch type has none"
        )
    if subject is not None and not (isinstance(subject, by) or callable(subject)):
        raise UsageError(f"{name}: subject={subject!r:.60}: give by('path'), or a function that takes a Job")
    return Verification(holds, subject)


def problem(returned: object) -> str | None:
    """Return what is wrong, from what a `verify` has returned; None if all holds. Raises for a value that says neither."""
    if returned is None or returned is True:
        return None
    if returned is False:
        return "does not hold any more"
    if not isinstance(returned, str):
        raise TypeError(
            f"verify returned {returned!r:.60}: return None if all holds, else a text that says what is wrong"
        )
    return returned or "does not hold any more"

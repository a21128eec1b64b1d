"""How an attempt ended, and the exceptions that a handler raises to end it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .clock import milliseconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Literal

    from .clock import Duration
    from .draft import Draft

    AtDeadline = Literal["reject", "approve", "dead"]


class Signal(Exception):
    """Base class of the exceptions that a handler raises to end its attempt without failing."""

    code: str | int | None = None  # kept with the attempt

    def __init__(self, reason: str = "", *, code: str | int | None = None) -> None:
        super().__init__(*([reason] if reason else []))
        if code is not None:  # a subclass may have its own
            self.code = code


class Snooze(Signal):
    """Not now: run the job again after `delay`. Costs no attempt."""

    def __init__(self, delay: Duration, reason: str = "", *, code: str | int | None = None) -> None:
        super().__init__(reason or f"snoozed for {delay}", code=code)
        self.delay, self.reason = milliseconds(delay), reason


class Review(Signal):
    """A person decides: the job waits in `review`, with `output` as the proposed result."""

    def __init__(
        self, question: str, output: Any = None, *, expires: Duration | datetime | None = None, at_deadline: AtDeadline = "reject",
        deciders: str | Sequence[str] = (), remind: Duration | None = None, code: str | int | None = None,
    ) -> None:  # fmt: skip
        """Ask. At `expires`, a duration or an instant, `at_deadline` decides: reject, approve or dead.

        `deciders` are the actors and roles (`"role:editor"`) that may decide; without any, anybody may. An event reminds every `remind`.
        """
        from .review import terms

        super().__init__(question, code=code)
        self.question, self.output = question, output
        self.terms = terms(expires, at_deadline, deciders, remind)


class Cancel(Signal):
    """The job is no longer wanted: it ends as `cancelled`."""

    def __init__(self, reason: str = "cancelled by its handler", *, code: str | int | None = None) -> None:
        super().__init__(reason, code=code)
        self.reason = reason


class Permanent(Signal):
    """The job can never succeed: dead at once, whatever attempts remain."""


class Stopping(BaseException):
    """Raised at a safe point when the worker is shutting down: the job is released with its checkpoint.

    Not an `Exception`, so that a handler's own `except Exception` does not swallow it.
    """


class Cancelled(BaseException):
    """Raised at a safe point when the job was cancelled, timed out or lost its lease."""


class Outcome(NamedTuple):
    """How an attempt ended. `decide` returns what happens to the job."""

    kind: str
    error: str | None = None
    traceback: str | None = None
    result: str | None = None
    reason: str | None = None
    delay: int = 0  # of a snooze or a release; of a failure the shortest time until the next attempt
    retry: bool = True
    code: str | None = None  # of the error
    review: str | None = None  # what a review asks beyond its question (`core.review.terms`)
    children: tuple[Draft, ...] = ()


INVALID = "invalid payload"  # the reason of an outcome: the handler's code does not take the payload
DEATHS = ("crashed", "lost_unknown")  # the kinds that count as a worker's death
COMPLETED = Outcome("completed")
RELEASED = Outcome("released")
CRASHED = Outcome("crashed", error="WorkerLost: the worker died while it ran this job")
LOST_UNKNOWN = Outcome(
    "lost_unknown", error="WorkerLost: the worker died while it held this job; whether the job had started is not known"
)
INTERRUPTED = Outcome("failed", error="LeaseLost: the worker was suspended or cut off from its store for too long")
CANCELLED = Outcome("cancelled", reason="cancelled")

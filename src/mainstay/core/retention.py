"""How long ended jobs are kept, by state, and how many of them: `Keep`, and the columns of a job that follow from it."""

from __future__ import annotations

from .clock import DAY, milliseconds
from .errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .clock import Duration

NAMES = ("keep_cancelled", "keep_dead", "keep_last")  # columns that most jobs lack; `keep` is of every job
AGES = ("keep", "keep_cancelled", "keep_dead")
FOREVER = 1_000_000 * DAY  # of cancelled jobs: no value means as long as completed ones
MOST = 1_000_000_000
_AS_COMPLETED: Any = "as completed"


class Keep:
    """How long jobs stay after their end: `Keep("7d", cancelled="1d", dead="90d", last=1000)`.

    `completed` and `cancelled` jobs are removed after so long; None keeps them for ever. Without `cancelled`, cancelled jobs are
    kept as long as completed ones. Dead jobs stay unless `dead` says for how long. `last` keeps so many jobs of the type in each
    of these states: older ones are removed earlier; dead ones only if `dead` is given.
    """

    __slots__ = ("cancelled", "completed", "dead", "last")

    def __init__(
        self, completed: Duration | None = "7d", *, cancelled: Duration | None = _AS_COMPLETED, dead: Duration | None = None,
        last: int | None = None,
    ) -> None:  # fmt: skip
        self.completed = _age("completed", completed)
        self.cancelled = None if cancelled is _AS_COMPLETED else stored("keep_cancelled", cancelled)
        self.dead, self.last = _age("dead", dead), stored("keep_last", last)

    def columns(self) -> dict[str, int | None]:
        """Return the columns of a job that follow."""
        return {
            "keep": self.completed,
            "keep_cancelled": self.cancelled,
            "keep_dead": self.dead,
            "keep_last": self.last,
        }

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.columns().items() if value is not None)
        return f"<Keep {given or 'for ever'}>"


def stored(name: str, value: Any) -> int | None:
    """Return what a job has in one of the columns `NAMES`; raise for a value that it cannot have."""
    if name == "keep_last":
        if value is not None and (type(value) is not int or not 1 <= value <= MOST):
            raise UsageError(f"last={value!r}: how many jobs to keep, a whole number from 1 on, or None for all")
        return value
    age = _age(name.removeprefix("keep_"), value)
    return FOREVER if age is None and name == "keep_cancelled" else age


def shown(name: str, value: int | None) -> int | None:
    """Return the value of a column as people give it: None for ever."""
    return None if name in AGES and value is not None and value >= FOREVER else value


def _age(name: str, value: Any) -> int | None:
    try:
        return None if value is None else milliseconds(value)
    except ValueError as error:
        raise UsageError(f"{name}: {error}; None keeps jobs for ever") from None


def expiry(state: str, at: int, columns: dict[str, int | None]) -> int | None:
    """Return until when a job is kept that ended in a state at an instant; None: for ever."""
    keep = columns["keep_dead"] if state == "dead" else columns["keep"]
    if state == "cancelled" and columns["keep_cancelled"] is not None:
        keep = columns["keep_cancelled"]
    return None if keep is None else at + keep

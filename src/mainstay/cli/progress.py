"""How far an operation on many jobs is: a bar on terminals, the ids of changed jobs for `-q`, and how to resume what was stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..control.bulk_run import VERBS
from ..core.errors import MainstayError
from . import exits
from .output import plural

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from ..control.bulk_run import Progress
    from .output import Cell, Output

WIDTH = 24  # columns of the bar


class Watch:
    """Is called after each chunk. Where the operation is stopped, it says how far it came and how to resume it.

    Jobs whose result is `wait` are kept in `waiting`, and not printed yet.
    """

    def __init__(self, output: Output, verb: str, by_id: bool = False, wait: str = "") -> None:
        self._output, self._verb, self._by_id, self._wait = output, verb, by_id, wait
        self.waiting: list[str] = []
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self._last = progress
        self.waiting += [job for job, result in progress.jobs.items() if result == self._wait]
        if self._output.shape.quiet and not self._output.shape.machine:
            done = VERBS[self._verb].done
            self._output.lines(
                job for job, result in progress.jobs.items() if result.split()[0] in done and result != self._wait
            )
        if progress.done < progress.matched:
            self._output.live(*_bar(progress))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._last is not None:
            self._output.live()
        if error is None or self._by_id or self._last is None or self._verb == "copy":
            return
        resume = f"mainstay bulk resume {self._last.id}"
        told = f"stopped after {self._last.done:,} of {plural(self._last.matched, 'job')}; to go on: {resume}"
        if isinstance(error, MainstayError):
            error.add_note(told)
        else:
            exits.say(told)


def _bar(progress: Progress) -> list[Cell]:
    percent = 100 * progress.done // progress.matched
    return [*bar(progress.done, progress.matched), f" {percent:>3} %  {progress.done:,} of {progress.matched:,}"]


def bar(done: float | None, total: float | None, width: int = WIDTH) -> list[Cell]:
    """Return how much is done as a bar; empty if it is unknown."""
    if done is None or not total:
        return []
    full = round(width * min(max(done / total, 0), 1))
    return [("━" * full, "running"), ("─" * (width - full), "dim")]

"""Runs one handler alone, with a context that records its reports: no store, no worker."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from ..batch_context import BatchContext
from ..context import Context, current
from ..core.batch import ITEM, results
from ..core.clock import SystemClock
from ..core.errors import TransactionUnsupported
from ..core.ids import IDS
from ..core.job import Claimed, Labels
from ..core.updates import Checkpoint, Log, LogLimits, Progress, Update
from ..job_log import AtOnce
from ..options import instant

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ..core.batch import Batch
    from ..core.draft import Draft
    from ..registry import JobType
    from ..stores.contract import Store

P = ParamSpec("P")
R = TypeVar("R")


class Trial(AtOnce, Generic[P, R]):
    """One attempt at a job type: `Trial(extract, attempt=3, checkpoint={"page": 4}).run(7, tenant="acme")`.

    `run` passes the arguments through JSON as a real job does. It returns what the handler returns and raises what it
    raises; a batch handler gets a batch of one. Afterwards `logs`, `progress`, `saved` and `children` hold what the handler reported.
    """

    limits = LogLimits()

    def __init__(
        self, type: JobType[P, R, Any], *, attempt: int = 1, checkpoint: dict[str, Any] | None = None,
        cancelled: str | None = None, stopping: bool = False, tenant: str | None = None, ref: str | None = None,
        key: str | None = None, tags: Sequence[str] = (), parent: str | None = None, priority: int = 0,
        schedule: str | None = None, tick: datetime | None = None,
        review: tuple[str, str, str] | None = None,
    ) -> None:  # fmt: skip
        self._type, self._checkpoint, self._priority = type, checkpoint, priority
        self._labels = Labels(
            tenant, ref, key, tuple(tags), parent, schedule, None if tick is None else instant("tick", tick), review
        )
        self._cancelled, self._stopping, self._attempt = cancelled, stopping, attempt
        self.logs: list[Log] = []
        self.progress: list[Progress] = []
        self.saved: dict[str, Any] = dict(checkpoint or {})
        self.children: tuple[Draft, ...] = ()

    def run(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the handler once, with these arguments."""
        arguments = self._type.schema.decode(self._type.schema.encode(args, kwargs))
        context = self._context()
        batch = self._type.batch
        held = current.set(context if batch is None else BatchContext([context]))
        try:
            made = cast("Any", self._type.handler)(
                **(arguments if batch is None else {batch.parameter: [arguments[ITEM]]})
            )
            returned = asyncio.run(made) if self._type.is_async else made
            return cast("R", returned if batch is None else _only(batch, returned))
        finally:
            current.reset(held)
            self.children = context.children

    def _context(self) -> Context:
        now = self.now()
        job = Claimed(
            0, IDS.new(now), self._type.name, self._type.queue, self._attempt, max(self._attempt, 3), 0, self._attempt,
            None, None, None, now, now, False, "{}", -self._priority, 0, "trial",
        )  # fmt: skip
        context = Context(job, self)
        context.cancelled_because, context.stopping = self._cancelled, self._stopping
        return context

    # what a context needs -----------------------------------------------------------------------------------------
    def now(self) -> int:
        """Return the time."""
        return SystemClock().now()

    def report(self, update: Update) -> None:
        """Record what the handler reports."""
        if isinstance(update, Log):
            self.logs.append(update)
        elif isinstance(update, Progress):
            self.progress.append(update)
        elif isinstance(update, Checkpoint):
            self.saved = json.loads(update.body)

    def checkpoint(self, job: Claimed) -> str | None:
        """Return the checkpoint of the trial, as if an earlier attempt had saved it."""
        return json.dumps(self._checkpoint) if self._checkpoint else None

    def labels(self, job: Claimed) -> Labels:
        """Return what the trial was given."""
        return self._labels

    @property
    def store(self) -> Store:
        """Raise: there is no job in a store. Test such a handler with the kit."""
        raise TransactionUnsupported("a Trial has no store: test ctx.complete_in with app.testing() or the fixture")


def _only(batch: Batch, returned: Any) -> Any:
    """Return the result of the only job of a batch, or raise the exception that is its outcome."""
    (entry,) = results(batch, returned, 1)
    if isinstance(entry, BaseException):
        raise entry
    return entry

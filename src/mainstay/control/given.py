"""What the verbs of flow control take, as type checkers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Literal

    from ..core.clock import Duration
    from ..core.draft import Draft
    from ..core.limits import Limit
    from ..core.retention import Keep
    from ..core.retry import Retry


class TypeOverrides(TypedDict, total=False):
    """What an operator may set on a type; `control.types.NAMES` is the same list."""

    queue: str
    priority: int
    attempts: int
    retry: Retry | int
    timeout: Duration | None
    keep: Duration | Keep | None
    keep_cancelled: Duration | None
    keep_dead: Duration | None
    keep_last: int | None
    limit: Limit | Sequence[Limit] | None


class QueueRules(TypedDict, total=False):
    """What a queue may have; `control.queues.NAMES` is the same list."""

    max_depth: int | None
    when_full: Literal["raise", "wait", "shed", "sample"]
    wait: Duration
    below: int
    one_in: int
    fair: bool
    weights: Mapping[str, float]
    aging: Duration | None
    limit: Limit | None


class Times(TypedDict, total=False):
    """When a schedule fires; `control.schedules.NAMES` is the same list."""

    cron: str | None
    every: Duration | None
    tz: str
    start: datetime | str | float | None
    end: datetime | str | float | None
    limit: int | None
    jitter: Duration | None
    catch_up: Literal["skip", "latest", "all"]
    overlap: Literal["allow", "skip", "queue", "cancel"]


class ScheduleValues(Times, total=False):
    """What can be changed of a schedule."""

    job: Draft

"""Schedules of an application: declared in code, or made and changed at run time.

On the cold path of every producer: each verb imports what it needs. Every verb that changes something is in the audit trail
with its `actor`; with `dry_run=True` it changes nothing and returns what it would have changed.
"""

from __future__ import annotations

from .core.errors import ConfigError
from .flow import Flow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any, Literal, TypedDict, Unpack

    from .control.records import Change, ScheduleRecord
    from .core.clock import Duration
    from .core.draft import Draft
    from .handle import Handle
    from .options import JobOptions

    class Times(TypedDict, total=False):
        """When a schedule fires, as type checkers see it; `control.schedules.NAMES` is the same list."""

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


class Scheduling(Flow):
    """The verbs of schedules: a part of `Mainstay`."""

    if TYPE_CHECKING:

        def _draft(self, job: str | Draft, payload: Mapping[str, Any] | None, options: JobOptions) -> Draft: ...
        def _handles(self, drafts: list[Draft], accepted: Sequence[tuple[str, bool]]) -> list[Handle[Any]]: ...

    declared_schedules: Mapping[str, Mapping[str, Any]] = {}  # of this program, by name

    def schedule(
        self, name: str, job: str | Draft, payload: Mapping[str, Any] | None = None, /, **times: Unpack[Times]
    ) -> None:
        """Declare a schedule: `app.schedule("nightly", report.prepare(), cron="0 4 * * *", tz="Europe/Berlin")`.

        It is written to the store when a worker starts, or by `app.sync_schedules()`; what operators have changed stays. `cron` has five
        fields, or six with seconds first, or is `@daily` and so on; `every="15m"` is an interval in real time, counted from `start` or from
        when the schedule is written. `start` and `end` are the first and the last instant, `limit` is how many ticks fire in all, and
        `jitter="30s"` delays each job by up to that. `catch_up` says what becomes of ticks while no worker ran: `"latest"` fires the newest,
        `"all"` each, `"skip"` none that is more than a minute late. `overlap` says what happens while the job of the tick before has not
        ended: `"allow"`, `"skip"` the tick, `"queue"` the job behind it, or `"cancel"` the one before.
        """
        from .control.schedules import declared

        spec = declared(name, self._draft(job, payload, {}), times)
        if self.declared_schedules.get(name, spec) != spec:
            raise ConfigError(f"two schedules are called {name!r}: give one of them another name")
        self.declared_schedules = {**self.declared_schedules, name: spec}

    def sync_schedules(self) -> None:
        """Write the schedules that this program declares to the store. A worker does so when it starts."""
        from .control.schedules import sync

        sync(self)

    def create_schedule(
        self, name: str, job: str | Draft, payload: Mapping[str, Any] | None = None, /, *, reason: str = "",
        actor: str = "python", dry_run: bool = False, **times: Unpack[Times],
    ) -> Change:  # fmt: skip
        """Make a schedule at run time, in the store at once. Takes what `schedule` takes."""
        from .control.schedules import create

        return create(self, name, self._draft(job, payload, {}), times, reason, actor, dry_run)

    def reschedule(
        self,
        name: str,
        *,
        reason: str = "",
        actor: str = "python",
        dry_run: bool = False,
        **values: Unpack[ScheduleValues],
    ) -> Change:
        """Change a schedule from now on: its times, or its `job`. What is set here holds over what code declares, and survives deploys."""
        from .control.schedules import reschedule

        return reschedule(self, name, values, reason, actor, dry_run)

    def reset_schedule(
        self, name: str, *names: str, reason: str = "", actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Remove what operators have set on a schedule: the values of these names, or all. What code declares holds again."""
        from .control.schedules import reset

        return reset(self, name, names, reason, actor, dry_run)

    def pause_schedule(self, name: str, reason: str = "", *, actor: str = "python", dry_run: bool = False) -> Change:
        """Let no tick of a schedule fire until it is resumed. Its jobs that are there still run."""
        from .control.schedules import pause

        return pause(self, name, reason, actor, dry_run)

    def resume_schedule(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let ticks of a schedule fire from now on. Those of the pause are not caught up."""
        from .control.schedules import resume

        return resume(self, name, reason, actor, dry_run)

    def remove_schedule(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Remove a schedule. Its jobs stay."""
        from .control.schedules import remove

        return remove(self, name, reason, actor, dry_run)

    def run_schedule(self, name: str, *, actor: str = "python") -> Handle[Any]:
        """Enqueue an extra job of a schedule; its tick is this instant. Ticks, pauses and `overlap` do not matter to it."""
        from .control.schedules import run

        draft, accepted = run(self, name, actor)
        return self._handles([draft], [accepted])[0]

    def schedules(self) -> list[ScheduleRecord]:
        """Return every schedule, by name: its times, its next and last tick, and what operators have changed."""
        from .control.schedules import schedules

        return schedules(self)

    def next_fires(
        self,
        name: str | None = None,
        count: int = 5,
        *,
        after: datetime | str | float | None = None,
        **times: Unpack[Times],
    ) -> list[datetime]:
        """Return the next ticks of a schedule, in UTC; or of one with these times: `app.next_fires(cron="0 4 * * *", tz="Asia/Tokyo")`."""
        from .control.schedules import next_fires

        return next_fires(self, name, count, after, times)

"""Flow control of an application: pauses, types, queues, limits, breakers, schedules and settings as data.

On the cold path of every producer: `control` imports what a verb needs. Every verb that changes something is in the audit trail
with its `actor`; with `dry_run=True` it changes nothing and returns what it would have changed.
"""

from __future__ import annotations

from .core.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any, Unpack

    from . import control as control  # noqa: PLC0414  (`app` and `questions` take it from here)
    from .control.declared import TypeRules
    from .control.given import QueueRules, ScheduleValues, Times, TypeOverrides
    from .control.records import (
        BreakerRecord,
        Change,
        LimitRecord,
        QueueRecord,
        ScheduleRecord,
        SettingRecord,
        TypeRecord,
    )  # fmt: skip
    from .core.clock import Clock, Duration
    from .core.draft import Draft
    from .core.job import Job as StoredJob
    from .handle import Handle
    from .options import JobOptions
    from .registry import Registry
    from .senders.channels import Channel
    from .stores.contract import Store
    from .testing.kit import Kit
else:

    class _Parts:
        """The package `control`: a part of it is imported when a verb first needs it."""

        def __getattr__(self, name: str) -> object:
            part = __import__(f"{__package__}.control.{name}", fromlist=[name])
            setattr(self, name, part)
            return part

    control = _Parts()


class Flow:
    """The verbs of flow control and of schedules: a part of `Mainstay`."""

    if TYPE_CHECKING:
        store: Store
        clock: Clock
        kit: Kit | None
        _registry: Registry | None

        @property
        def registry(self) -> Registry: ...
        def _stored(self, job_id: str | Handle[Any]) -> StoredJob: ...
        def _draft(self, job: str | Draft, payload: Mapping[str, Any] | None, options: JobOptions) -> Draft: ...
        def _handles(self, drafts: list[Draft], accepted: Sequence[tuple[str, bool]]) -> list[Handle[Any]]: ...

    declares = False  # some type has limits or a breaker
    queue_rules: Mapping[str, Mapping[str, Any]] = {}  # of the queues that this program declares, by name
    declared_schedules: Mapping[str, Mapping[str, Any]] = {}  # of this program, by name
    channels: Mapping[str, Channel] = {}  # that carry notices of alerts, by name
    recorded: tuple[object, set[str]] = None, set()  # the store in which declarations are recorded, and of what

    # declare ------------------------------------------------------------------------------------------------------
    def queue(self, name: str, **rules: Unpack[QueueRules]) -> None:
        """Declare the rules of a queue: how deep it may be and what happens then, fairness between tenants, a limit.

        `max_depth=10_000, when_full="wait", wait="5s"`: an enqueue waits that long for room, then raises `QueueFull`; `"raise"` (the
        default) raises at once, `"shed"` refuses jobs with a priority `below=`, `"sample"` keeps one in `one_in=`. `fair=True` gives
        tenants equal shares, or by `weights={"acme": 3}`. `aging="1m"`: so long a wait is worth one step of priority.
        """
        self.queue_rules = {**self.queue_rules, control.queues.checked_queue(name): control.queues.checked(rules)}
        self.recorded = None, set()

    def declared_type(self, name: str) -> TypeRules | None:
        """Return the limits and the breaker that this program declares of a type."""
        known = self._registry.get(name) if self._registry is not None else None
        return None if known is None else known.flow

    # pause --------------------------------------------------------------------------------------------------------
    def pause(
        self, type: str | None = None, queue: str | None = None, reason: str = "", *, actor: str = "python",
        dry_run: bool = False,
    ) -> Change:  # fmt: skip
        """Start no more jobs of a type or a queue; of neither: of the whole installation. Running jobs finish."""
        return control.pauses.pause(self, type, queue, reason, actor, dry_run)

    def resume(
        self, type: str | None = None, queue: str | None = None, *, reason: str = "", actor: str = "python",
        dry_run: bool = False,
    ) -> Change:  # fmt: skip
        """End a pause. Each pause ends by itself: one of the installation leaves those of types and queues."""
        return control.pauses.resume(self, type, queue, reason, actor, dry_run)

    def disable(self, type: str, reason: str = "", *, actor: str = "python", dry_run: bool = False) -> Change:
        """Let a type take no jobs: `enqueue` raises `TypeDisabled`. Jobs that are there still run."""
        return control.types.disable(self, type, reason, actor, dry_run)

    def enable(self, type: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let a disabled type take jobs again."""
        return control.types.enable(self, type, reason, actor, dry_run)

    # types, queues, limits ----------------------------------------------------------------------------------------
    def types(self) -> list[TypeRecord]:
        """Return every type that a worker ever registered, by name: what code declares, what operators set, what holds."""
        return control.types.types(self)

    def set_type(
        self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False,
        **values: Unpack[TypeOverrides],
    ) -> Change:  # fmt: skip
        """Set values of a type over what its code declares, for jobs enqueued from now on. They survive deploys."""
        return control.types.set_type(self, name, values, reason, actor, dry_run)

    def reset_type(
        self, name: str, *names: str, reason: str = "", actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Remove what operators have set on a type: the values of these names, or all. What code declares holds again."""
        return control.types.reset_type(self, name, names, reason, actor, dry_run)

    def queues(self) -> list[QueueRecord]:
        """Return every queue that has jobs, types, rules or workers, by name."""
        return control.queues.queues(self)

    def set_queue(
        self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False, **values: Unpack[QueueRules]
    ) -> Change:
        """Set rules of a queue over what code declares (`app.queue` has the names). They survive deploys."""
        return control.queues.set_queue(self, name, values, reason, actor, dry_run)

    def reset_queue(
        self, name: str, *names: str, reason: str = "", actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Remove what operators have set on a queue: the rules of these names, or all."""
        return control.queues.reset_queue(self, name, names, reason, actor, dry_run)

    def limits(self) -> list[LimitRecord]:
        """Return every limit, by name: what code declares, what operators set, who holds it and who waits."""
        return control.limits.limits(self)

    def set_limit(
        self, name: str, *, running: int | None = None, rate: str | None = None, burst: int | None = None,
        key: Any = None, reason: str = "", actor: str = "python", dry_run: bool = False,
    ) -> Change:  # fmt: skip
        """Set a limit, at once and for all its jobs. `name` is a limit's name, a type's, or `queue:` and a queue's.

        A type or queue without a limit gets one, for jobs enqueued from now on; `key` is for these.
        """
        given = {"running": running, "rate": rate, "burst": burst, "key": key}
        return control.limits.set_limit(self, name, given, reason, actor, dry_run)

    def reset_limit(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Remove what operators have set of a limit. What code declares holds again."""
        return control.limits.reset_limit(self, name, reason, actor, dry_run)

    # breakers -----------------------------------------------------------------------------------------------------
    def breakers(self) -> list[BreakerRecord]:
        """Return the breakers that types declare and those that are open, by type."""
        return control.breakers.breakers(self)

    def open_breaker(
        self, type: str, rest: Duration = "30m", reason: str = "", *, actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Let a type rest for some time; then one job is tried, and its outcome decides. The type needs a breaker."""
        return control.breakers.open_breaker(self, type, rest, reason, actor, dry_run)

    def close_breaker(self, type: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let a type that rests go on at once."""
        return control.breakers.close_breaker(self, type, reason, actor, dry_run)

    # settings -----------------------------------------------------------------------------------------------------
    def settings(self) -> list[SettingRecord]:
        """Return the settings of the installation, by name."""
        return control.settings.settings(self)

    def setting(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting of the installation."""
        return control.settings.setting(self, name, default)

    def set_setting(
        self, name: str, value: Any, description: str | None = None, *, actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Set a setting of the installation: any JSON value. A description of None keeps the one before."""
        return control.settings.set_setting(self, name, value, description, actor, dry_run)

    def unset_setting(self, name: str, *, actor: str = "python", dry_run: bool = False) -> Change:
        """Remove a setting of the installation."""
        return control.settings.unset_setting(self, name, actor, dry_run)

    def forget_key(self, type: str, key: str, *, actor: str = "python") -> str:
        """Free a key that a job took with `unique="forever"`; return that job's id. `NotFound`: it is not taken."""
        from .refusals import forgotten

        return forgotten(type, key, self.store.forget_key(type, key, self.clock.now(), actor))

    # schedules ----------------------------------------------------------------------------------------------------
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
        spec = control.schedules.declared(name, self._draft(job, payload, {}), times)
        if self.declared_schedules.get(name, spec) != spec:
            raise ConfigError(f"two schedules are called {name!r}: give one of them another name")
        self.declared_schedules = {**self.declared_schedules, name: spec}

    def sync_schedules(self) -> None:
        """Write the schedules that this program declares to the store. A worker does so when it starts."""
        control.schedules.sync(self)

    def create_schedule(
        self, name: str, job: str | Draft, payload: Mapping[str, Any] | None = None, /, *, reason: str = "",
        actor: str = "python", dry_run: bool = False, **times: Unpack[Times],
    ) -> Change:  # fmt: skip
        """Make a schedule at run time, in the store at once. Takes what `schedule` takes."""
        return control.schedules.create(self, name, self._draft(job, payload, {}), times, reason, actor, dry_run)

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
        return control.schedules.reschedule(self, name, values, reason, actor, dry_run)

    def reset_schedule(
        self, name: str, *names: str, reason: str = "", actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Remove what operators have set on a schedule: the values of these names, or all. What code declares holds again."""
        return control.schedules.reset(self, name, names, reason, actor, dry_run)

    def pause_schedule(self, name: str, reason: str = "", *, actor: str = "python", dry_run: bool = False) -> Change:
        """Let no tick of a schedule fire until it is resumed. Its jobs that are there still run."""
        return control.schedules.pause(self, name, reason, actor, dry_run)

    def resume_schedule(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let ticks of a schedule fire from now on. Those of the pause are not caught up."""
        return control.schedules.resume(self, name, reason, actor, dry_run)

    def remove_schedule(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Remove a schedule. Its jobs stay."""
        return control.schedules.remove(self, name, reason, actor, dry_run)

    def run_schedule(self, name: str, *, actor: str = "python") -> Handle[Any]:
        """Enqueue an extra job of a schedule; its tick is this instant. Ticks, pauses and `overlap` do not matter to it."""
        draft, accepted = control.schedules.run(self, name, actor)
        return self._handles([draft], [accepted])[0]

    def schedules(self) -> list[ScheduleRecord]:
        """Return every schedule, by name: its times, its next and last tick, and what operators have changed."""
        return control.schedules.schedules(self)

    def next_fires(
        self, name: str | None = None, count: int = 5, *, after: datetime | str | float | None = None,
        **times: Unpack[Times],
    ) -> list[datetime]:  # fmt: skip
        """Return the next ticks of a schedule, in UTC; or of one with these times: `app.next_fires(cron="0 4 * * *", tz="Asia/Tokyo")`."""
        return control.fires.next_fires(self, name, count, after, times)

"""Flow control of an application: pauses, types, queues, limits, breakers and settings as data, and why a job waits.

On the cold path of every producer: each verb imports what it needs. Every verb that changes something is in the audit trail
with its `actor`; with `dry_run=True` it changes nothing and returns what it would have changed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, TypedDict, Unpack

    from .control.declared import TypeRules
    from .control.records import (
        BreakerRecord,
        Change,
        LimitRecord,
        QueueRecord,
        SettingRecord,
        TypeRecord,
        Why,
        WorkerRecord,
    )  # fmt: skip
    from .core.clock import Clock, Duration
    from .core.job import Job as StoredJob
    from .core.limits import Limit
    from .core.retry import Retry
    from .handle import Handle
    from .registry import Registry
    from .stores.contract import Store
    from .testing.kit import Kit

    class TypeOverrides(TypedDict, total=False):
        """What an operator may set on a type, as type checkers see it; `control.types.NAMES` is the same list."""

        queue: str
        priority: int
        attempts: int
        retry: Retry | int
        timeout: Duration | None
        keep: Duration | None
        limit: Limit | Sequence[Limit] | None

    class QueueRules(TypedDict, total=False):
        """What a queue may have, as type checkers see it; `control.queues.NAMES` is the same list."""

        max_depth: int | None
        when_full: Literal["raise", "wait", "shed", "sample"]
        wait: Duration
        below: int
        one_in: int
        fair: bool
        weights: Mapping[str, float]
        aging: Duration | None
        limit: Limit | None


class Flow:
    """The verbs of flow control: a part of `Mainstay`."""

    if TYPE_CHECKING:
        store: Store
        clock: Clock
        kit: Kit | None
        _registry: Registry | None

        @property
        def registry(self) -> Registry: ...
        def _stored(self, job_id: str | Handle[Any]) -> StoredJob: ...

    declares = False  # some type has limits or a breaker
    queue_rules: Mapping[str, Mapping[str, Any]] = {}  # of the queues that this program declares, by name
    recorded: tuple[object, set[str]] = None, set()  # the store in which declarations are recorded, and of what

    # declare ------------------------------------------------------------------------------------------------------
    def queue(self, name: str, **rules: Unpack[QueueRules]) -> None:
        """Declare the rules of a queue: how deep it may be and what happens then, fairness between tenants, a limit.

        `max_depth=10_000, when_full="wait", wait="5s"`: an enqueue waits that long for room, then raises `QueueFull`; `"raise"` (the
        default) raises at once, `"shed"` refuses jobs with a priority `below=`, `"sample"` keeps one in `one_in=`. `fair=True` gives
        tenants equal shares, or by `weights={"acme": 3}`. `aging="1m"`: so long a wait is worth one step of priority.
        """
        from .control.queues import checked, checked_queue

        self.queue_rules = {**self.queue_rules, checked_queue(name): checked(rules)}
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
        from .control.pauses import pause

        return pause(self, type, queue, reason, actor, dry_run)

    def resume(
        self,
        type: str | None = None,
        queue: str | None = None,
        *,
        reason: str = "",
        actor: str = "python",
        dry_run: bool = False,
    ) -> Change:
        """End a pause. Each pause ends by itself: one of the installation leaves those of types and queues."""
        from .control.pauses import resume

        return resume(self, type, queue, reason, actor, dry_run)

    def disable(self, type: str, reason: str = "", *, actor: str = "python", dry_run: bool = False) -> Change:
        """Let a type take no jobs: `enqueue` raises `TypeDisabled`. Jobs that are there still run."""
        from .control.types import disable

        return disable(self, type, reason, actor, dry_run)

    def enable(self, type: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let a disabled type take jobs again."""
        from .control.types import enable

        return enable(self, type, reason, actor, dry_run)

    # types, queues, limits ----------------------------------------------------------------------------------------
    def types(self) -> list[TypeRecord]:
        """Return every type that a worker ever registered, by name: what code declares, what operators set, what holds."""
        from .control.types import types

        return types(self)

    def set_type(
        self,
        name: str,
        *,
        reason: str = "",
        actor: str = "python",
        dry_run: bool = False,
        **values: Unpack[TypeOverrides],
    ) -> Change:
        """Set values of a type over what its code declares, for jobs enqueued from now on. They survive deploys."""
        from .control.types import set_type

        return set_type(self, name, values, reason, actor, dry_run)

    def reset_type(
        self, name: str, *names: str, reason: str = "", actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Remove what operators have set on a type: the values of these names, or all. What code declares holds again."""
        from .control.types import reset_type

        return reset_type(self, name, names, reason, actor, dry_run)

    def queues(self) -> list[QueueRecord]:
        """Return every queue that has jobs, types, rules or workers, by name."""
        from .control.queues import queues

        return queues(self)

    def set_queue(
        self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False, **values: Unpack[QueueRules]
    ) -> Change:
        """Set rules of a queue over what code declares (`app.queue` has the names). They survive deploys."""
        from .control.queues import set_queue

        return set_queue(self, name, values, reason, actor, dry_run)

    def reset_queue(
        self, name: str, *names: str, reason: str = "", actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Remove what operators have set on a queue: the rules of these names, or all."""
        from .control.queues import reset_queue

        return reset_queue(self, name, names, reason, actor, dry_run)

    def limits(self) -> list[LimitRecord]:
        """Return every limit, by name: what code declares, what operators set, who holds it and who waits."""
        from .control.limits import limits

        return limits(self)

    def set_limit(
        self, name: str, *, running: int | None = None, rate: str | None = None, burst: int | None = None,
        key: Any = None, reason: str = "", actor: str = "python", dry_run: bool = False,
    ) -> Change:  # fmt: skip
        """Set a limit, at once and for all its jobs. `name` is a limit's name, a type's, or `queue:` and a queue's.

        A type or queue without a limit gets one, for jobs enqueued from now on; `key` is for these.
        """
        from .control.limits import set_limit

        given = {"running": running, "rate": rate, "burst": burst, "key": key}
        return set_limit(self, name, given, reason, actor, dry_run)

    def reset_limit(self, name: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Remove what operators have set of a limit. What code declares holds again."""
        from .control.limits import reset_limit

        return reset_limit(self, name, reason, actor, dry_run)

    # breakers -----------------------------------------------------------------------------------------------------
    def breakers(self) -> list[BreakerRecord]:
        """Return the breakers that types declare and those that are open, by type."""
        from .control.breakers import breakers

        return breakers(self)

    def open_breaker(
        self, type: str, rest: Duration = "30m", reason: str = "", *, actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Let a type rest for some time; then one job is tried, and its outcome decides. The type needs a breaker."""
        from .control.breakers import open_breaker

        return open_breaker(self, type, rest, reason, actor, dry_run)

    def close_breaker(self, type: str, *, reason: str = "", actor: str = "python", dry_run: bool = False) -> Change:
        """Let a type that rests go on at once."""
        from .control.breakers import close_breaker

        return close_breaker(self, type, reason, actor, dry_run)

    # settings -----------------------------------------------------------------------------------------------------
    def settings(self) -> list[SettingRecord]:
        """Return the settings of the installation, by name."""
        from .control.settings import settings

        return settings(self)

    def setting(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting of the installation."""
        from .control.settings import setting

        return setting(self, name, default)

    def set_setting(
        self, name: str, value: Any, description: str | None = None, *, actor: str = "python", dry_run: bool = False
    ) -> Change:
        """Set a setting of the installation: any JSON value. A description of None keeps the one before."""
        from .control.settings import set_setting

        return set_setting(self, name, value, description, actor, dry_run)

    def unset_setting(self, name: str, *, actor: str = "python", dry_run: bool = False) -> Change:
        """Remove a setting of the installation."""
        from .control.settings import unset_setting

        return unset_setting(self, name, actor, dry_run)

    def forget_key(self, type: str, key: str, *, actor: str = "python") -> str:
        """Free a key that a job took with `unique="forever"`; return that job's id. `NotFound`: it is not taken."""
        from .refusals import forgotten

        return forgotten(type, key, self.store.forget_key(type, key, self.clock.now(), actor))

    # workers ------------------------------------------------------------------------------------------------------
    def workers(self) -> list[WorkerRecord]:
        """Return the registered workers, oldest first."""
        from .control.workers import workers

        return workers(self)

    def stop_worker(self, worker: str, *, drain: bool = False, actor: str = "python") -> str:
        """Ask a worker to stop as a signal does; return its id. With `drain`, it finishes what it runs first, however long that takes."""
        from .control.workers import stop_worker

        return stop_worker(self, worker, drain, actor)

    # why ----------------------------------------------------------------------------------------------------------
    def why(self, job: str | Handle[Any]) -> Why:
        """Return why a job has not started, the true reason first; or what became of it."""
        from .control.why import why

        return why(self, self._stored(job))

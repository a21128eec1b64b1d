"""Job types: a name, a handler, a payload schema and default options, made by `@app.job`."""

from __future__ import annotations

from functools import cached_property
from inspect import iscoroutinefunction
from json import dumps
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from .control.declared import declared_rules
from .core import keys
from .core.draft import Draft
from .core.errors import ConfigError, InvalidPayload, UnknownType, UsageError
from .core.events import Hooked
from .core.job import Declaration, TypeInfo
from .core.limits import follow_policy
from .core.payload import clean, encode, loads
from .core.retention import NAMES as RETENTION
from .core.retry import Retry
from .core.schema import Schema
from .core.suggest import did_you_mean
from .core.verification import verification
from .options import NO_OPTIONS, POLICY, Options, checked_name, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Unpack

    from .app import Mainstay
    from .core.batch import Batch
    from .core.clock import Duration
    from .handle import Handle
    from .options import JobOptions

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")
# The options a type may set for all its jobs.
TYPE_NAMES = ("queue", "priority", "retry", "timeout", "keep", "tags", "key", "unique", "period", "on_conflict")
OWN_NAMES = "process, batch, wait, stages, on_timeout, name, aliases, version, upgrades, limit, breaker, description, verify, subject"
BUILT_IN = "mainstay.handlers."
# Of on_timeout: whether the next attempt waits for the end of a handler that does not stop.
WAIT, ABANDON = "wait", "abandon"


class Bound(Generic[P, R]):
    """A job type with the options of the next call."""

    def __init__(self, type: JobType[P, R, Any], options: Options, tx: object = None) -> None:
        self._type, self._options, self._tx = type, options, tx

    def prepare(self, *args: P.args, **kwargs: P.kwargs) -> Draft:
        """Return a job that is not enqueued yet: for `app.enqueue_many` and `ctx.enqueue`."""
        if self._tx is not None:
            raise UsageError("prepare takes no tx=: pass it to enqueue_many(…, tx=…)")
        return self._type.draft(self._options, args, kwargs)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Accept the job durably, or with the transaction given as `tx=`: it survives whatever happens to this process."""
        return self._type.app.enqueue(self._type.draft(self._options, args, kwargs), tx=self._tx)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """As `enqueue`, awaited."""
        return await self._type.app.aenqueue(self._type.draft(self._options, args, kwargs), tx=self._tx)


class JobType(Bound[P, R], Hooked, Generic[P, R, C]):
    """A function that can also be enqueued. Calling it stays a plain call."""

    def __init__(self, app: Mainstay, function: Callable[P, C], name: str, given: dict[str, Any]) -> None:
        super().__init__(self, NO_OPTIONS)
        self.app, self.function, self.name = app, function, checked_name(name)
        self.process = bool(given.pop("process", False))
        self.batch: Batch | None = _batch(function, name, given, self.process)
        self.verification = verification(name, given, self.batch is not None)
        self.on_timeout: str = given.pop("on_timeout", WAIT)
        if self.on_timeout not in (WAIT, ABANDON):
            raise UsageError(f"on_timeout={self.on_timeout!r}: one of {WAIT!r}, {ABANDON!r}")
        self.stages: tuple[str, ...] = listed(given.pop("stages", ()))
        self.aliases: tuple[str, ...] = tuple(map(checked_name, listed(given.pop("aliases", ()))))
        self.flow = declared_rules(self.name, given.pop("limit", None), given.pop("breaker", None))
        self.description = _description(given.pop("description", None), function)
        self.version, self.upgrades = _checked_version(given.pop("version", 1), given.pop("upgrades", {}))
        for option in given:
            if option not in TYPE_NAMES:
                raise UsageError(f"@job has no option {option!r}; there are: {', '.join(TYPE_NAMES)}, {OWN_NAMES}")
        retry = given.get("retry")
        self.retry = Retry(retry) if isinstance(retry, int) else retry or Retry()
        self.defaults = Options(given, of_type=True)
        if self.version > 1:
            self.defaults.values["version"] = self.version
        self.is_async = iscoroutinefunction(function)
        if self.is_async and self.process:
            raise UsageError(f"{name}: an async handler cannot run in a process slot; make it a plain function")
        if getattr(function, "__code__", None) and function.__code__.co_varnames[:1] == ("self",):
            raise UsageError(f"{name} is a method: a job has no object to run on; make it a plain function")
        self.schema = Schema(function if self.batch is None else self.batch.one, name)
        self.__name__, self.__doc__, self.__wrapped__ = getattr(function, "__name__", name), function.__doc__, function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> C:
        if self.batch is not None:
            from .batch_context import called

            return cast("C", called(self.function, self.is_async, args, kwargs))
        return self.function(*args, **kwargs)

    @cached_property
    def handler(self) -> Callable[..., Any]:
        """What a worker calls: the function, inside the middleware of the application and of this type."""
        from .core.middleware import with_middleware

        handler: Callable[..., Any] = with_middleware(
            self.function, (*self.app.middlewares, *self.middlewares), self.is_async
        )
        return handler

    def options(self, *, tx: object = None, **options: Unpack[JobOptions]) -> Bound[P, R]:
        """Return the same type with options for the next call: `f.options(delay="5m").enqueue(…)`."""
        return Bound(self, Options(options).with_defaults(self.defaults), tx)

    def debounce(self, wait: Duration, /, *, tx: object = None, **options: Unpack[JobOptions]) -> Bound[P, R]:
        """Run once the calls with the same key have stopped for `wait`: each one replaces the waiting job and waits anew."""
        return self._limited("debounce", {"delay": wait, "unique": "start", "on_conflict": "replace"}, options, tx)

    def throttle(self, period: Duration, /, *, tx: object = None, **options: Unpack[JobOptions]) -> Bound[P, R]:
        """Run at most once a period for each key: later calls in the period return the job that is there."""
        return self._limited("throttle", {"period": period, "on_conflict": "existing"}, options, tx)

    def _limited(self, verb: str, fixed: dict[str, Any], options: JobOptions, tx: object) -> Bound[P, R]:
        for name in options:
            if name in fixed or name in ("unique", "period"):
                raise UsageError(f"{verb} takes no {name}=: it sets this itself; {self.name}.options(…) takes it")
        if options.get("key") is None and "key" not in self.defaults.values:
            raise UsageError(
                f"{verb} needs a key: @app.job(key=by('id')), or {self.name}.{verb}(…, key=by('id')); "
                f"key={self.name!r} makes it one for all jobs of the type"
            )
        return self.options(tx=tx, **{**options, **fixed})

    def draft(self, options: Options, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Draft:
        """Return a job of this type with these options, which its defaults complete, and these arguments, checked."""
        payload = self.schema.encode(args, kwargs, self.app.max_payload)
        return self.draft_of(payload, self.defaults if options is NO_OPTIONS else options)

    def draft_of(self, payload: str, options: Options) -> Draft:
        """Return a job of this type with this encoded payload, and with the rules that the type declares."""
        draft = options.draft(self.name, payload, self.app.clock.now())
        if self.flow is not None:
            follow_policy(draft, self.flow.policy, self.flow.functions)
        return draft

    def arguments(self, payload: str, version: int) -> dict[str, Any]:
        """Return the arguments of a stored payload; raise `InvalidPayload` if this code does not take it."""
        return self.schema.decode(payload if version == self.version else self.upgraded(payload, version))

    def upgraded(self, payload: str, version: int) -> str:
        """Return a payload of another version as this code has it; raise `InvalidPayload` if it cannot."""
        if version > self.version:
            raise InvalidPayload(
                f"the payload has version {version}, but this code of {self.name} has version {self.version}"
            )
        given = loads(payload)
        for each in range(version, self.version):
            try:
                given = self.upgrades[each](given) if each in self.upgrades else given
            except MemoryError:  # not the payload's fault
                raise
            except Exception as error:
                raise InvalidPayload(
                    f"upgrades[{each}] of {self.name} raised {type(error).__name__}: {error}"
                ) from error
        return encode(given, self.app.max_payload)

    def declaration(self, name: str) -> Declaration:
        """Return what this code takes, for the other workers; `name` may be an alias."""
        return Declaration(name, self.version, self.schema.signature, self.takes)

    @cached_property
    def takes(self) -> str:
        """The payload's JSON Schema, as text; of a schema that cannot be written, one that takes everything."""
        try:
            # Without the title: it is the type's name, which may change.
            return dumps(self.schema.json_schema() | {"title": ""}, sort_keys=True)
        except (TypeError, ValueError, RecursionError):
            return "{}"

    @property
    def queue(self) -> str:
        """The queue that the type belongs to."""
        queue: str = self.defaults.values.get("queue", "default")
        return queue

    def info(self, now: int, name: str = "") -> TypeInfo:
        """Return what producers without the code may know; `name` may be an alias."""
        draft, values = Draft(self.name, "{}"), self.defaults.values
        policy = {name: values.get(name, getattr(draft, name)) for name in POLICY} | {"stages": self.stages}
        policy |= {name: values[name] for name in RETENTION if values.get(name) is not None}
        rule = keys.pack(values, self.defaults.relative)
        policy |= {keys.RULE: rule} if rule else {}
        policy |= self.flow.policy if self.flow is not None else {}
        return TypeInfo(
            name or self.name, self.queue, self.schema.signature, policy, now, self.description or None, self.takes
        )

    def __repr__(self) -> str:
        return f"<JobType {self.name}>"


class Registry(dict[str, "JobType[..., Any, Any]"]):
    """The types of one application, by name and by alias."""

    def add(self, type: JobType[..., Any, Any]) -> None:
        """Register a type; a name belongs to one function."""
        names = (type.name, *type.aliases)
        for name in names:
            before = self.get(name)
            if before is not None and _where(type).startswith(BUILT_IN):  # the same function, but with other settings
                raise ConfigError(
                    f"{name!r} is registered on this application already. Register it once with all its settings, or the second "
                    "one under another name=…"
                )
            if before is not None and _where(before) != _where(type):
                raise ConfigError(
                    f"two jobs are called {name!r}: {_where(before)} and {_where(type)}. Give one of them name=…"
                )
        self.update(dict.fromkeys(names, type))

    def expect(self, name: str) -> JobType[..., Any, Any]:
        """Return the type of that name, or raise with the closest name."""
        found = self.get(name)
        if found is None:
            raise UnknownType(f"no job is called {name!r}{did_you_mean(name, self)}")
        return found

    def served(self, names: Iterable[str] | None = None) -> list[str]:
        """Return the names of the jobs that these types take, or all types: their own and their aliases."""
        if names is None:
            return sorted(self)
        types = [self.expect(name) for name in listed(names)]
        return list(dict.fromkeys(name for type in types for name in (type.name, *type.aliases)))


def _batch(function: Callable[..., Any], name: str, given: dict[str, Any], process: bool) -> Batch | None:
    """Take the options of a batch type out of those given; None if it is none."""
    if given.keys().isdisjoint(("batch", "wait")):
        return None
    from .core.batch import WAIT as SHORT, batch_of

    if "batch" not in given:
        raise UsageError("wait= needs batch=: it says how long a job waits for others; batch=32 runs up to 32 at once")
    return batch_of(function, name, given.pop("batch"), given.pop("wait", SHORT), process)


def _checked_version(version: Any, upgrades: Any) -> tuple[int, dict[int, Callable[[Any], Any]]]:
    if type(version) is not int or version < 1:
        raise UsageError(f"version={version!r}: a whole number from 1 on; raise it when a payload changes")
    for each, upgrade in dict(upgrades).items():
        if type(each) is not int or not 1 <= each < version or not callable(upgrade):
            raise UsageError(
                f"upgrades={{{each!r}: …}}: from a version below version={version} to a function that takes a payload of "
                "that version and returns one of the next"
            )
    return version, dict(upgrades)


def _description(given: Any, function: Callable[..., Any]) -> str:
    """Return what a type says about itself: what it was given, or the first line of its docstring."""
    if given is not None and not isinstance(given, str):
        raise UsageError(f"description={given!r:.60}: a text for people; without it, the first line of the docstring")
    text = given if given is not None else (function.__doc__ or "").strip().partition("\n")[0]
    return clean(text.strip(), 500)


def _where(type: JobType[..., Any, Any]) -> str:
    return f"{type.function.__module__}.{type.function.__qualname__}"

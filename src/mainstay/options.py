"""Job options: the defaults of a type, the options of one call, and the draft made of both."""

from __future__ import annotations

from .core import keys
from .core.clock import milliseconds, span
from .core.draft import Draft
from .core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Literal, TypedDict

    from .core.clock import Duration
    from .core.fields import by
    from .core.retention import Keep
    from .core.retry import Retry
    from .handle import Handle
    from .job import Job
    from .worker.worker import Runtime

    class JobOptions(TypedDict, total=False):
        """The options of one job, as type checkers see them; `NAMES` is the same list at run time."""

        queue: str
        priority: int
        delay: Duration | None
        at: datetime | str | float | None
        retry: Retry | int
        timeout: Duration | None
        keep: Duration | Keep | None
        key: str | by | None
        unique: Literal["alive", "start", "forever"] | None
        period: Duration | None
        on_conflict: Literal["existing", "replace", "raise"] | None
        tags: Sequence[str]
        tenant: str | None
        ref: str | None
        after: Sequence[Handle[Any] | Job | str]
        if_parent_fails: Literal["cancel", "run", "dead"]
        start_by: Duration | datetime | None

    class WorkerOptions(TypedDict, total=False):
        """What `app.worker` takes: the arguments of `Worker`."""

        concurrency: int
        queues: Iterable[str] | None
        types: Iterable[str] | None
        lease: Duration | None
        grace: Duration
        poll: Duration
        archive: str | None  # a folder or s3://bucket/prefix: jobs go there before retention removes them
        audit_keep: Duration  # what operators did is forgotten after this
        stats_keep: Duration  # and what was counted, after this
        process_slots: int | None
        job_log_lines: int  # of an attempt, that are kept; and characters
        job_log_size: int
        job_log_level: str  # from which records of `logging` land in the job's log; "off": none
        identity: str | None
        reconcile: int  # ended jobs that the worker checks when it starts, the last ones; 0: none
        signals: bool  # SIGTERM and SIGINT leave the `with` of a worker, which then stops gracefully
        runtime: Runtime


MOST_PARENTS = 1_000  # that one job waits for: they are stored with it, and looked at when one of them ends
IF_PARENT_FAILS = ("cancel", "run", "dead")
# What a type passes on to its jobs.
POLICY = ("queue", "priority", "max_attempts", "backoff", "timeout", "keep", "version")
NAMES = (
    "queue", "priority", "delay", "at", "retry", "timeout", "keep", "key", "unique", "period", "on_conflict", "tags",
    "tenant", "ref", "after", "if_parent_fails", "start_by",
)  # fmt: skip


class Options:
    """Checked options. The type decides what is left out, then the defaults."""

    __slots__ = ("relative", "values")

    def __init__(self, given: Mapping[str, Any], of_type: bool = False) -> None:
        for name in given:
            if name not in NAMES:
                from .core.suggest import did_you_mean

                raise UsageError(
                    f"there is no option {name!r}{did_you_mean(name, NAMES)}; there are: {', '.join(NAMES)}"
                )
        given = {name: value for name, value in given.items() if value is not None or name not in _NONE_IS_UNSET}
        checked = {name: _checked(name, value) for name, value in given.items() if name not in ("unique", "period")}
        if "retry" in checked:
            checked["max_attempts"], checked["backoff"] = checked.pop("retry")
        if isinstance(checked.get("keep"), dict):
            checked |= checked.pop("keep")
        # The same on every draft.
        self.values = {name: value for name, value in checked.items() if name not in _RELATIVE}
        self.relative = {name: given[name] for name in _RELATIVE if name in given}
        _consistent(given)
        if of_type:
            self.check_key()
        else:
            _waits_only(given.get("retry"))

    def draft(self, type: str, payload: str, now: int) -> Draft:
        """Return a draft of this type with these options; delays and periods count from `now`."""
        draft = Draft(type, payload)
        for name, value in self.values.items():
            setattr(draft, name, value)
        if self.relative or draft.key is not None:
            self._settle(draft, now)
        if draft.after or "start_by" in self.relative:
            from .control.drafts import add_rules

            add_rules(draft, self.relative, now)
        return draft

    def check_key(self) -> None:
        """Raise for options about a key where there is none."""
        if "key" not in self.values:
            for name in _OF_KEY:
                if name in self.values or name in self.relative:
                    raise UsageError(f"{name}= needs key=: it says how long and how strictly the key holds")

    def _settle(self, draft: Draft, now: int) -> None:
        relative = self.relative
        if "delay" in relative:
            draft.run_at = now + milliseconds(relative["delay"])
        if "at" in relative:
            draft.run_at = _at(relative["at"])
        if draft.key is not None:
            keys.take(draft, draft.key, relative.get("unique", "alive"), relative.get("period"), now)

    def with_defaults(self, defaults: Options) -> Options:
        """Return these options, completed by a type's defaults."""
        merged = Options.__new__(Options)
        merged.values = {**defaults.values, **self.values}
        merged.relative = {**defaults.relative, **self.relative}
        if "unique" in self.relative or "period" in self.relative:  # one replaces the other
            for name in ("unique", "period"):
                if name not in self.relative:
                    merged.relative.pop(name, None)
        merged.check_key()
        return merged


def _checked(name: str, value: Any) -> Any:
    """Return what is stored for an option."""
    if name in _RULES:
        fits, rule = _RULES[name]
        if not fits(value):
            raise UsageError(f"{name}={value!r}: {rule}")
        return value
    try:
        return _CONVERTED[name](value)
    except ValueError as error:  # the message about a duration does not name the option
        raise UsageError(f"{name}: {error}") from error


# A draft gets what follows from them and the time.
_RELATIVE = ("delay", "at", "unique", "period", "if_parent_fails", "start_by")
_OF_KEY = ("unique", "period", "on_conflict")
_NONE_IS_UNSET = (*_RELATIVE, "key", "on_conflict", "tenant", "ref", "after")


def _consistent(given: Mapping[str, Any]) -> None:
    if "delay" in given and "at" in given:
        raise UsageError("give delay= or at=, not both")
    if "if_parent_fails" in given and not given.get("after"):
        raise UsageError(
            "if_parent_fails= needs after=: it says what becomes of the job if one of those does not complete"
        )
    if "period" in given and given.get("unique") == "forever":
        raise UsageError("give period= or unique='forever', not both: each says how long the key is taken")
    if "unique" in given or "period" in given:
        try:
            keys.lock("", "-", given.get("unique", "alive"), given.get("period"), 0)
        except ValueError as error:
            raise UsageError(f"period: {error}") from error


def _waits_only(retry: Any) -> None:
    """Raise for rules that a job cannot carry: attempts and backoff are stored with it, which exceptions to retry is code."""
    if any(getattr(retry, name, None) for name in ("on", "never", "when")):
        raise UsageError(
            "Retry(on=…, never=…, when=…) belongs to the type: @app.job(retry=…). A call sets attempts and waits only"
        )


def checked_name(name: str) -> str:
    """Return a type's name if it needs no quotes in a URL, a shell or a search; else raise."""
    allowed = 0 < len(name) <= 200 and all(c.isalnum() or c in "._-" for c in name)
    if not allowed or name.startswith(("-", ".")):
        raise UsageError(f"job name {name!r:.60}: use letters, digits, '.', '_' and '-', up to 200")
    return name


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and value.isprintable()


def _retry(value: Any) -> tuple[int, str | None]:
    from .core.retry import Retry

    if isinstance(value, int) and not isinstance(value, bool):
        value = Retry(value)
    if not isinstance(value, Retry):
        raise UsageError(f"retry={value!r}: how many attempts, as a number, or Retry(5, base='2s', cap='1h')")
    return value.attempts, value.pack()


def _keep(value: Any) -> int | dict[str, int | None] | None:
    """Return how long a job is kept; of a `Keep`, all columns that follow from it."""
    if hasattr(value, "columns"):
        found: dict[str, int | None] = value.columns()
        return found
    return None if value is None else milliseconds(value)


def _timeout(value: Any) -> int | None:
    limit = None if value is None else milliseconds(value)
    if limit == 0:
        raise UsageError("timeout=0: give a duration above zero, or None for no limit")
    return limit


def listed(value: Any) -> tuple[Any, ...]:
    """Return names as a tuple; a text is one name, not a list of letters."""
    return (value,) if isinstance(value, str) else tuple(value)


def _key(value: Any) -> Any:
    """Return a key: a text, or the rule by which each payload gives one."""
    if type(value) is str:
        return value
    from .core.fields import by

    if isinstance(value, (type, list, tuple, dict, set)) or callable(value):
        raise UsageError(
            f"key={value!r:.60}: a text, by('field') for a field of the payload, or by_payload for all of it"
        )
    return value if isinstance(value, by) else str(value)


def _after(value: Any) -> tuple[str, ...]:
    """Return the ids of parents, each once: handles, jobs or whole ids."""
    found = tuple(dict.fromkeys(map(_parent, (value,) if hasattr(value, "id") else listed(value))))
    if len(found) > MOST_PARENTS:
        raise UsageError(
            f"after: {len(found):,} jobs, and one job waits for {MOST_PARENTS:,} at most: put jobs in between, each after "
            f"{MOST_PARENTS:,} of them, and this one after those"
        )
    return found


def _parent(value: Any) -> str:
    from .core.ids import LENGTH, normal, prefix

    found = value if isinstance(value, str) else getattr(value, "id", None)
    if found == "":
        raise UsageError(f"after: {value!r} is not enqueued yet; enqueue it first and give what that returns")
    full = normal(found) if isinstance(found, str) else ""
    if len(full) != LENGTH or prefix(full) is None:
        raise UsageError(f"after: {value!r:.60} is no job; give what enqueue returned, or a whole id")
    return full


def checked_tenant(value: Any) -> str:
    """Return a tenant: a name, or two with a slash between them."""
    parts = value.split("/") if _is_text(value, 200) else ()
    if not parts or len(parts) > 2 or (len(parts) > 1 and not all(parts)):
        raise UsageError(
            f'tenant={value!r:.60}: a name, or two with a slash ("acme/team-a"), up to 200 printable characters'
        )
    return str(value)


def _start_by(value: Any) -> Any:
    """Return a time until which a job has to start: a duration from now on, or an instant."""
    if hasattr(value, "timestamp"):
        instant("start_by", value)
    elif milliseconds(value) <= 0:
        raise UsageError("start_by: give a duration above zero, such as start_by='1h', or an aware datetime")
    return value


def _tags(value: Any) -> tuple[str, ...]:
    tags = listed(value)
    for tag in tags:
        if not tag or not _is_text(tag, 100):
            raise UsageError(f"tag {tag!r}: a text of 1 to 100 printable characters")
    return tags


def _at(value: Any) -> int:
    return instant("at", value)


def past_instant(name: str, value: Any, now: int) -> int:
    """Return an instant as `instant` does, or that of so long ago: "1h", a timedelta."""
    if (isinstance(value, str) and value[4:5] != "-") or hasattr(value, "total_seconds"):
        return now - span(name, value)
    return instant(name, value)


def instant(name: str, value: Any) -> int:
    """Return an instant as milliseconds: from an aware datetime, ISO text with a zone, or seconds since the epoch."""
    if isinstance(value, str):
        from datetime import datetime

        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise UsageError(f"{name}={value!r} is not an instant: write it as 2030-01-31T09:30:00+00:00") from None
    if hasattr(value, "timestamp"):
        if value.tzinfo is None:
            raise UsageError(f"{name}={value}: has no time zone; give datetime.now(timezone.utc) or another aware one")
        return int(value.timestamp() * 1000)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e11:  # 1e11: milliseconds
        raise UsageError(f"{name}={value!r}: give an aware datetime, ISO text with a zone, or seconds since the epoch")
    return round(value * 1000)


_SHORT = "a text of up to 200 printable characters"
_RULES: dict[str, tuple[Callable[[Any], object], str]] = {
    "queue": (lambda value: value and _is_text(value, 100), "a name of 1 to 100 printable characters"),
    "priority": (
        lambda value: isinstance(value, int) and not isinstance(value, bool) and -1000 <= value <= 1000,
        "a whole number from -1000 to 1000; higher runs first",
    ),
    "on_conflict": (lambda value: value in keys.ON_CONFLICT, f"one of {', '.join(keys.ON_CONFLICT)}"),
    "if_parent_fails": (lambda value: value in IF_PARENT_FAILS, f"one of {', '.join(IF_PARENT_FAILS)}"),
    "ref": (lambda value: _is_text(value, 200), _SHORT),
}
_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "retry": _retry, "timeout": _timeout, "keep": _keep, "key": _key, "tags": _tags, "delay": milliseconds, "at": _at,
    "tenant": checked_tenant, "after": _after, "start_by": _start_by,
}  # fmt: skip
NO_OPTIONS = Options({})

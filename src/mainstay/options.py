"""Job options: the defaults of a type, the options of one call, and the draft made of both."""

from __future__ import annotations

from .core import keys
from .core.clock import milliseconds
from .core.draft import Draft
from .core.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Literal, TypedDict

    from .core.clock import Duration
    from .core.retry import Retry

    Unique = Literal["alive", "start"]
    OnConflict = Literal["existing", "replace", "raise"]

    class JobOptions(TypedDict, total=False):
        """The options of one job, as type checkers see them; `NAMES` is the same list at run time."""

        queue: str
        priority: int
        delay: Duration | None
        at: datetime | str | float | None
        retry: Retry | int
        timeout: Duration | None
        keep: Duration | None
        key: str | None
        unique: Unique | None
        period: Duration | None
        on_conflict: OnConflict | None
        tags: Sequence[str]
        tenant: str | None
        ref: str | None


POLICY = (
    "queue",
    "priority",
    "max_attempts",
    "backoff",
    "timeout",
    "keep",
    "version",
)  # what a type passes on to its jobs
NAMES = (
    "queue", "priority", "delay", "at", "retry", "timeout", "keep", "key", "unique", "period", "on_conflict", "tags",
    "tenant", "ref",
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
        values: dict[str, Any] = {}  # set on every draft unchanged
        for name, check in _CHECKS.items():
            if name in given:
                values.update(_checked(name, check, given[name]))
        self.values = values
        self.relative = {name: given[name] for name in _RELATIVE if given.get(name) is not None}
        _consistent(given)
        if not of_type:
            _waits_only(given.get("retry"))

    def draft(self, type: str, payload: str, now: int) -> Draft:
        """Return a draft of this type with these options; delays and periods count from `now`."""
        draft = Draft(type, payload)
        for name, value in self.values.items():
            setattr(draft, name, value)
        if self.relative:
            self._settle(draft, now)
        return draft

    def _settle(self, draft: Draft, now: int) -> None:
        relative = self.relative
        if "delay" in relative:
            draft.run_at = now + milliseconds(relative["delay"])
        if "at" in relative:
            draft.run_at = _instant(relative["at"])
        if draft.key is not None:
            unique, period = relative.get("unique", "alive"), relative.get("period")
            draft.lock, draft.lock_until = keys.lock(draft.type, draft.key, unique, period, now)

    def with_defaults(self, defaults: Options) -> Options:
        """Return these options, completed by a type's defaults."""
        merged = Options.__new__(Options)
        merged.values = {**defaults.values, **self.values}
        merged.relative = {**defaults.relative, **self.relative}
        return merged


def _checked(name: str, check: Callable[[Any], dict[str, Any]], value: Any) -> dict[str, Any]:
    try:
        return check(value)
    except ValueError as error:  # the message about a duration does not name the option
        raise UsageError(f"{name}: {error}") from error


_RELATIVE = ("delay", "at", "unique", "period", "key")


def _consistent(given: Mapping[str, Any]) -> None:
    if given.get("delay") is not None and given.get("at") is not None:
        raise UsageError("give delay= or at=, not both")
    for name in ("unique", "period", "on_conflict"):
        if given.get(name) is not None and given.get("key") is None:
            raise UsageError(f"{name}= needs key=: it says how long and how strictly the key holds")


def _waits_only(retry: Any) -> None:
    """Return attempts and backoff, which are stored with a job. Which exceptions to retry stays in the code."""
    if getattr(retry, "on", ()) or getattr(retry, "never", ()):
        raise UsageError(
            "Retry(on=…, never=…) belongs to the type: @app.job(retry=…). A call sets attempts and waits only"
        )


def checked_name(name: str) -> str:
    """Return a type's name if it needs no quotes in a URL, a shell or a search; else raise."""
    allowed = 0 < len(name) <= 200 and all(c.isalnum() or c in "._-" for c in name)
    if not allowed or name.startswith(("-", ".")):
        raise UsageError(f"job name {name!r:.60}: use letters, digits, '.', '_' and '-', up to 200")
    return name


def _queue(value: Any) -> dict[str, Any]:
    if not isinstance(value, str) or not 0 < len(value) <= 100 or not value.isprintable():
        raise UsageError(f"queue={value!r}: a name of 1 to 100 printable characters")
    return {"queue": value}


def _priority(value: Any) -> dict[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int) or not -1000 <= value <= 1000:
        raise UsageError(f"priority={value!r}: a whole number from -1000 to 1000; higher runs first")
    return {"priority": value}


def _retry(value: Any) -> dict[str, Any]:
    from .core.retry import Retry

    if isinstance(value, int) and not isinstance(value, bool):
        value = Retry(value)
    if not isinstance(value, Retry):
        raise UsageError(f"retry={value!r}: how many attempts, as a number, or Retry(5, base='2s', cap='1h')")
    return {"max_attempts": value.attempts, "backoff": value.pack()}


def _timeout(value: Any) -> dict[str, Any]:
    limit = None if value is None else milliseconds(value)
    if limit == 0:
        raise UsageError("timeout=0: give a duration above zero, or None for no limit")
    return {"timeout": limit}


def _keep(value: Any) -> dict[str, Any]:
    return {"keep": None if value is None else milliseconds(value)}


def _delay(value: Any) -> dict[str, Any]:
    if value is not None:
        milliseconds(value)
    return {}


def _at(value: Any) -> dict[str, Any]:
    if value is not None:
        _instant(value)
    return {}


def _key(value: Any) -> dict[str, Any]:
    return {} if value is None else {"key": str(value)}


def _on_conflict(value: Any) -> dict[str, Any]:
    if value not in keys.ON_CONFLICT:
        raise UsageError(f"on_conflict={value!r}: one of {', '.join(keys.ON_CONFLICT)}")
    return {"on_conflict": value}


def _tags(value: Any) -> dict[str, Any]:
    tags = (value,) if isinstance(value, str) else tuple(value)
    for tag in tags:
        if not isinstance(tag, str) or not 0 < len(tag) <= 100 or not tag.isprintable():
            raise UsageError(f"tag {tag!r}: a text of 1 to 100 printable characters")
    return {"tags": tags}


def _short(name: str) -> Any:
    def check(value: Any) -> dict[str, Any]:
        if value is not None and (not isinstance(value, str) or len(value) > 200 or not value.isprintable()):
            raise UsageError(f"{name}={value!r}: a text of up to 200 printable characters")
        return {name: value}

    return check


def _instant(value: Any) -> int:
    """Return an instant as milliseconds: from an aware datetime, ISO text with a zone, or seconds since the epoch."""
    if isinstance(value, str):
        value = _read_instant(value)
    if hasattr(value, "timestamp"):
        if value.tzinfo is None:
            raise UsageError(f"at={value}: has no time zone; give datetime.now(timezone.utc) or another aware one")
        return int(value.timestamp() * 1000)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e11:  # 1e11: milliseconds
        raise UsageError(f"at={value!r}: give an aware datetime, ISO text with a zone, or seconds since the epoch")
    return round(value * 1000)


def _read_instant(text: str) -> datetime:
    from datetime import datetime

    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"at={text!r} is not an instant: write it as 2030-01-31T09:30:00+00:00") from None


_CHECKS = {
    "queue": _queue, "priority": _priority, "retry": _retry, "timeout": _timeout, "keep": _keep, "key": _key,
    "on_conflict": _on_conflict, "tags": _tags, "tenant": _short("tenant"), "ref": _short("ref"), "delay": _delay,
    "at": _at,
}  # fmt: skip
NO_OPTIONS = Options({})

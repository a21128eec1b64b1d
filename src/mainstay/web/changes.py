"""What operations that change rules take: a reason, values as JSON has them, and names that must exist."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from ..control.json_records import plain
from ..core.errors import NotFound, UnknownType, UsageError
from ..core.fields import by
from ..core.limits import Limit
from ..core.retry import Retry
from ..redacting import redactor
from .encode import Revealed
from .operations import Body, Query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..control.records import NewSecret
    from .call import Call

LIMIT = ("name", "running", "rate", "burst", "key")
RETRY = ("attempts", "base", "cap", "factor", "jitter")


class Reasoned(Body, frozen=True, kw_only=True):
    """Why something is changed. With `dry_run`, nothing is changed, and the result says what would be."""

    reason: str = ""
    dry_run: bool = False


class Values(Reasoned, frozen=True, kw_only=True):
    """Values to set, by name."""

    set: dict[str, Any]


class Names(Reasoned, frozen=True, kw_only=True):
    """The names of values; none: all."""

    names: list[str] = msgspec.field(default_factory=list)


class Rotation(Reasoned, frozen=True, kw_only=True):
    """A new secret, and how long the one before holds too. Without a `secret`, one is made."""

    secret: str | None = None
    keep: str = "24h"


class SecretChange(Revealed, kw_only=True):
    """What was changed; with the secret if one was made, which is shown this once."""

    kind: str
    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    secret: str | None


class Removal(Query, frozen=True, kw_only=True):
    """Why something is removed. With `dry_run`, nothing is."""

    reason: str = ""
    dry_run: bool = False


def told(call: Call, body: Reasoned | Removal) -> tuple[str, str, bool]:
    """Return why, who, and whether only to say what would happen, as the verbs of control take it."""
    return body.reason, call.who.actor, body.dry_run


def given(call: Call, body: Body) -> dict[str, Any]:
    """Return the fields of a body and who has sent it, as the verbs of named rules take them."""
    return {**{name: getattr(body, name) for name in body.__struct_fields__}, "actor": call.who.actor}


def with_secret(made: NewSecret) -> dict[str, Any]:
    """Return the values of a `SecretChange`: all but the new secret without secrets."""
    sides = {side: redactor().value(plain(getattr(made.change, side))) for side in ("before", "after")}
    return {"kind": made.change.kind, "name": made.id, **sides, "secret": made.secret}


@contextmanager
def existing() -> Iterator[None]:
    """Turn the error about a name that nothing has into `NotFound`: the name is a part of the path."""
    try:
        yield
    except (UnknownType, UsageError) as error:
        raise NotFound(str(error)) from None


def limit_of(given: Any) -> Limit | None:
    """Return a limit that was written as JSON: `{"running": 5, "rate": "10/s", "burst": 5, "key": "tenant"}`."""
    if given is None:
        return None
    values = _fields("limit", given, LIMIT)
    return Limit(**{**values, "key": key_of(values.get("key"))})


def key_of(given: Any) -> Any:
    """Return the key of a limit: `tenant`, `tenant/*`, or fields of the payload, with commas between them."""
    if given is None or given in ("tenant", "tenant/*"):
        return given
    if not isinstance(given, str):
        raise UsageError(f'key={given!r:.60}: give "tenant", "tenant/*" or a field of the payload, such as "order.id"')
    return by(*(part.strip() for part in given.split(",")))


def retry_of(given: Any, attempts: int) -> Retry:
    """Return a policy for retries that was written as JSON: `{"base": "2s", "cap": "1h"}`; with `attempts` unless it says how many."""
    values: dict[str, Any] = {"attempts": attempts, **_fields("retry", given, RETRY)}
    try:
        return Retry(**values)
    except (TypeError, ValueError) as error:
        raise UsageError(f"retry: {error}") from None


def _fields(what: str, given: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(given, dict) or not {*given} <= {*known}:
        raise UsageError(f"{what}={given!r:.60}: give an object with some of {', '.join(known)}")
    return given

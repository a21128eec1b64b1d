"""The operations of the HTTP API: functions with a method, a path, a role and typed arguments, in one table.

From this table come the routes, the checks of every call, the OpenAPI description, and the tests of who may do what.
"""

from __future__ import annotations

import inspect
import re
import typing
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from .roles import ANYBODY, CREATOR, OPERATOR, ROLES, VIEWER

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])

READS = ("GET", "HEAD")
LOGIN, CREATION, HOOKS = BUCKETS = ("login", "creation", "hooks")  # what `rate_limits` bounds


class Query(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """The parameters of a path; an unknown one is refused."""


class Body(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """The JSON object that a call sends; an unknown name is refused."""


class Operation(NamedTuple):
    """One operation: how it is called, who may, and what it takes and returns."""

    method: str
    path: str
    role: str  # the lowest that may call it
    tenants: bool  # whether callers who see one tenant may
    status: int  # of its success
    bucket: str | None  # the rate limit that it counts against (`rate_limits`)
    personal: bool  # whether callers of one tenant may get different answers
    media: str  # what it returns; an event stream or a text is made by the function itself
    names: tuple[str, ...]  # parts of the path
    query: type[Query] | None
    body: type[Body] | None
    returns: Any
    run: Callable[..., Any]

    @property
    def name(self) -> str:
        """The name of its function: unique over the API."""
        return self.run.__name__

    @property
    def resource(self) -> str:
        """The name of its module, which groups operations in the description."""
        return self.run.__module__.rpartition(".")[2]

    @property
    def changes(self) -> bool:
        """Whether it may change something."""
        return self.method not in READS

    @property
    def creates(self) -> bool:
        """Whether it enqueues new jobs."""
        return self.role == CREATOR or self.bucket in (CREATION, HOOKS)


OPERATIONS: dict[tuple[str, str], Operation] = {}


def operation(
    method: str, path: str, *, role: str | None = None, tenants: bool = False, status: int = 200,
    media: str = "application/json", bucket: str | None = None,
    personal: bool = False,
) -> Callable[[F], F]:  # fmt: skip
    """Make a function an operation. Without a role, viewers may read and operators may change.

    Its arguments are the call, the parts of the path by their names, `query` (a `Query`) and `body` (a `Body`).
    """

    def register(function: F) -> F:
        key = method, path
        if bucket not in (None, *BUCKETS):
            raise ValueError(f"{function.__name__}: there is no bucket {bucket!r}; there are: {', '.join(BUCKETS)}")
        if key in OPERATIONS:
            raise ValueError(f"two operations for {method} {path}: {OPERATIONS[key].name}, {function.__name__}")
        lowest = role or (VIEWER if method in READS else OPERATOR)
        if lowest not in (ANYBODY, CREATOR, *ROLES):
            raise ValueError(f"{function.__name__}: there is no role {lowest!r}")
        said = method, path, lowest, tenants, status, bucket, personal, media
        OPERATIONS[key] = Operation(*said, *_signature(function, path), function)
        return function

    return register


def _signature(function: Callable[..., Any], path: str) -> tuple[tuple[str, ...], Any, Any, Any]:
    """Return the names in the path, and the types of the query, the body and the result."""
    names = tuple(re.findall(r"{(\w+)(?::\w+)?}", path))
    hints = typing.get_type_hints(function, localns={"Call": Any})
    taken = set(inspect.signature(function).parameters) - {"call"}
    if taken - {"query", "body"} != set(names):
        raise TypeError(f"{function.__name__} takes {sorted(taken)}, but its path {path} has {sorted(names)}")
    return names, hints.get("query"), hints.get("body"), hints["return"]

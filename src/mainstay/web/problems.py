"""Errors as problem documents (RFC 9457): a code for programs, and a detail that says what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from ..core import errors
from ..core.suggest import without_suggestion
from ..redacting import redactor

if TYPE_CHECKING:
    from .roles import Access

HIDDEN = "the server cannot use its store or its settings: its log says why"
MEDIA = "application/problem+json"


class Problem(msgspec.Struct, kw_only=True):
    """An error as the API returns it."""

    type: str
    title: str
    status: int
    detail: str
    code: str


class Refused(errors.MainstayError):
    """The call is refused before any operation runs."""

    def __init__(self, status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.code, self.headers = status, code, headers or {}


# The first class that fits decides.
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (errors.JobGone, 410),
    (errors.NotFound, 404),
    (errors.QueueFull, 429),
    (errors.NotAllowed, 403),
    (errors.InvalidPayload, 422),
    (errors.UnknownType, 422),
    (errors.UsageError, 422),
    (errors.ConfigError, 422),
    (errors.Conflict, 409),
    (errors.StoreError, 503),
    (errors.MainstayError, 422),
)
TITLES = {
    401: "Log in first", 403: "Not permitted", 404: "Not found", 405: "Method not allowed", 409: "Conflict", 410: "Gone", 413: "Too large",
    415: "Not JSON", 422: "Not valid", 429: "Too many", 500: "Error in the server", 503: "Store not available",
}  # fmt: skip


def problem_of(error: Exception, who: Access | None = None) -> tuple[Problem, dict[str, str]]:
    """Return the problem document of an error, and headers that belong to it. Secrets in its text are redacted.

    Only callers who see the whole installation learn which store is not available, and why.
    """
    if isinstance(error, Refused):
        return _problem(error.status, error.code, str(error)), error.headers
    if isinstance(error, msgspec.MsgspecError):
        return _problem(422, "not_valid", f"{error}; see api/openapi.json"), {}
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    if status == 500:
        return _problem(500, "internal_error", "the server's log has the traceback"), {}
    return _problem(status, _code(error), detail_of(error, who)), {}


def detail_of(error: Exception, who: Access | None) -> str:
    """Return what a caller learns of an error. Those who do not see all get no suggestions: the names may be those of others.

    What a type takes is told to whoever may enqueue it.
    """
    if _sees_all(who):
        return str(error)
    told = HIDDEN if is_inner(error) else str(error)
    return told if isinstance(error, errors.InvalidPayload) else without_suggestion(told)


def is_inner(error: Exception) -> bool:
    """Whether an error is about the store or the settings of the server, and may say where they are."""
    return isinstance(error, errors.StoreError | errors.ConfigError)


def _sees_all(who: Access | None) -> bool:
    return who is not None and who.how != "none" and who.tenant is None


def _problem(status: int, code: str, detail: str) -> Problem:
    kind, text = f"urn:mainstay:problem:{code.replace('_', '-')}", redactor().text(detail)
    return Problem(type=kind, title=TITLES.get(status, "Error"), status=status, detail=text, code=code)


def _code(error: Any) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()

"""The audit trail: what operators did, newest first, and as a table for a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from starlette.responses import StreamingResponse

from ...control.rules import EPOCH, instant
from ...core.clock import iso
from ...redacting import redactor
from ..call import Call
from ..operations import Query, operation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from ...core.job import Action
    from ...stores.contract import Store

PAGE = 1_000  # lines that are read at once
LOOKED = 10_000  # lines that one call looks at
EXPORTED = 100_000  # lines of a table
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a cell that begins so for a formula
COLUMNS = ("number", "at", "actor", "action", "job", "detail")


class AuditLine(msgspec.Struct, kw_only=True):
    """One line: who did what, to which job, and the details."""

    number: int
    at: datetime
    actor: str
    action: str
    job: str | None
    detail: dict[str, Any]


class AuditPage(msgspec.Struct, kw_only=True):
    """Lines, newest first. `before` is where the next page starts, null at the end; `looked` is how many lines were read for this one."""

    lines: list[AuditLine]
    before: int | None
    looked: int


class Filter(Query, frozen=True, kw_only=True):
    """Which lines: before a number, by an actor, of an action, about a job. The actions `pause` and `resume` are rules of the kind pause."""

    before: int | None = None
    actor: str | None = None
    action: str | None = None
    job: str | None = None

    def fits(self, action: Action) -> bool:
        """Whether a line is asked for."""
        given = {"actor": self.actor, "job": self.job}
        return self.action in (None, action.action, _pausing(action)) and all(
            value is None or getattr(action, name) == value for name, value in given.items()
        )


class Lines(Filter, frozen=True, kw_only=True):
    """Which lines, and how many."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 100


@operation("GET", "/api/audit")
def list_audit(call: Call, query: Lines) -> AuditPage:
    """Return what operators did, newest first. A filter looks at 10,000 lines; `before` goes on from there."""
    found: list[AuditLine] = []
    before, looked = query.before, 0
    while looked < LOOKED:
        page = call.app.store.audit(PAGE if _filtered(query) else query.limit + 1, before)
        for number, action in page:
            if len(found) == query.limit:
                return AuditPage(lines=found, before=before, looked=looked)
            before, looked = number, looked + 1
            if query.fits(action):
                found.append(_line(number, action))
        if not page:
            return AuditPage(lines=found, before=None, looked=looked)
    return AuditPage(lines=found, before=before, looked=looked)


def _pausing(action: Action) -> str | None:
    """Return what operators call the change of a pause."""
    if action.action != "rule" or action.detail.get("kind") != "pause":
        return None
    return "resume" if action.detail.get("after") is None else "pause"


def _filtered(query: Filter) -> bool:
    return any(value is not None for value in (query.actor, query.action, query.job))


def _line(number: int, action: Action) -> AuditLine:
    at = instant(action.at) or EPOCH
    return AuditLine(number=number, at=at, actor=action.actor, action=action.action, job=action.job, detail=action.detail)  # fmt: skip


# a table --------------------------------------------------------------------------------------------------------------
@operation("GET", "/api/audit.csv", media="text/csv")
async def export_audit(call: Call, query: Filter) -> StreamingResponse:
    """Return up to 100,000 lines as CSV. Cells that a spreadsheet would take for formulas begin with an apostrophe."""
    headers = {"Content-Disposition": 'attachment; filename="audit.csv"'}
    return StreamingResponse(_exported(call, query), media_type="text/csv; charset=utf-8", headers=headers)


async def _exported(call: Call, query: Filter) -> AsyncIterator[str]:
    yield _csv([COLUMNS])
    before, read = query.before, 0
    while read < EXPORTED:
        page = await call.site.in_thread(lambda before=before: _read(call.app.store, before))  # type: ignore[misc]
        if not page:
            return
        before, read = page[-1][0], read + len(page)
        yield _csv(_cells(number, action) for number, action in page if query.fits(action))


def _read(store: Store, before: int | None) -> list[tuple[int, Action]]:
    return store.audit(PAGE, before)


def _cells(number: int, action: Action) -> list[str]:
    given = redactor().record(action)
    detail = json.dumps(given.detail, ensure_ascii=False, default=str) if given.detail else ""
    texts = [iso(given.at), given.actor, given.action, given.job or "", detail]
    return [str(number), *(f"'{text}" if text.startswith(FORMULA) else text for text in texts)]


def _csv(lines: Iterable[Iterable[str]]) -> str:
    made = io.StringIO()
    csv.writer(made).writerows(lines)
    return made.getvalue()

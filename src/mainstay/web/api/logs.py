"""The log of a job: page by page, as a text, and as a stream of events that goes on until the job has ended."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Annotated

import anyio
import msgspec
from starlette.responses import StreamingResponse

from ...control.logs import shown_level
from ...core.clock import iso
from ...core.errors import UsageError
from ...core.states import ENDED
from ...core.suggest import did_you_mean
from ...core.updates import LEVELS
from ...redacting import redactor
from ..call import Call
from ..encode import encoded
from ..job_records import LineRecord, attempt_numbers, line_records
from ..operations import Query, operation
from ..rate_limits import caller_of, client_of
from ..streams import EVENTS, EventStream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ...core.job import LogLine

POLL = 0.25  # seconds between two reads of a stream
QUIET = 15.0  # seconds after which a comment keeps the connection open
ASKED = 5.0  # seconds after which the caller of a stream is checked again
LONGEST = 600.0  # seconds of one stream; the client goes on with a new one, from the last line it has
PAGE = 1_000  # lines of one read
MOST = 200_000  # lines of a text
Place = Annotated[int, msgspec.Meta(ge=0)]


class LogQuery(Query, frozen=True):
    """A page of a log: behind how many lines it begins, and from which level on lines are shown."""

    after: Place = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=5_000)] = 1_000
    level: str = "debug"


class StreamQuery(Query, frozen=True):
    """Behind which line the stream begins; a client that comes back says it by the header Last-Event-ID."""

    after: Place = 0


class LogPage(msgspec.Struct, kw_only=True):
    """Lines of a log; `next` is what `after` of the next page is."""

    lines: list[LineRecord]
    next: int


@operation("GET", "/api/jobs/{id}/logs", tenants=True)
def list_lines(call: Call, id: str, query: LogQuery) -> LogPage:
    """Return lines of a job's log in order, of a level and above. `next` counts those of lower levels too."""
    if query.level and query.level not in LEVELS:
        raise UsageError(
            f"there is no level {query.level!r:.40}{did_you_mean(query.level, LEVELS)}; there are: {', '.join(LEVELS)}"
        )
    job = call.job(id).id
    lines = call.app.store.logs(job, query.after, query.limit)
    levels = LEVELS[LEVELS.index(query.level or LEVELS[0]) :]
    found = line_records(lines, query.after, attempt_numbers(call.app.store.attempts(job)))
    return LogPage(lines=[line for line in found if line.level in levels], next=query.after + len(lines))


@operation("GET", "/api/jobs/{id}/logs.txt", tenants=True, media="text/plain")
async def download_log(call: Call, id: str) -> StreamingResponse:
    """Return the whole log of a job as a text, without secrets."""
    job = (await call.site.in_thread(lambda: call.job(id))).id
    headers = {"Content-Disposition": f'attachment; filename="{job}.txt"'}
    return StreamingResponse(_pages(call, job), media_type="text/plain; charset=utf-8", headers=headers)


async def _pages(call: Call, job: str) -> AsyncIterator[str]:
    """Return a log as texts of some lines each, so that a long one is never in memory whole."""
    for start in range(0, MOST, PAGE):
        lines = await call.site.in_thread(functools.partial(call.app.store.logs, job, start, PAGE))
        yield redactor().text("".join(map(_text, lines)))
        if len(lines) < PAGE:
            return


def _text(line: LogLine) -> str:
    stage = f" [{line.stage}]" if line.stage else ""
    fields = f"  {msgspec.json.encode(redactor().value(line.fields)).decode()}" if line.fields else ""
    return f"{iso(line.at)} {shown_level(line):7}{stage} {line.message}{fields}\n"


@operation("GET", "/api/jobs/{id}/logs/stream", tenants=True, media=EVENTS)
async def stream_lines(call: Call, id: str, query: StreamQuery) -> EventStream:
    """Send the lines of a job's log as events (`line`, with its number as id) until the job has ended (`end`).

    After ten minutes the stream ends without `end`: an EventSource goes on by itself from the last line.
    """
    job = (await call.site.in_thread(lambda: call.job(id))).id
    last = call.request.headers.get("last-event-id", "")
    after = int(last) if last.isascii() and last.isdigit() and len(last) < 10 else query.after
    streams, caller = call.site.streams, f"{caller_of(call.who)} {client_of(call.request)}"
    streams.enter(caller)
    return EventStream(_events(call, job, after), lambda: streams.leave(caller))


async def _events(call: Call, job: str, seen: int) -> AsyncIterator[bytes]:
    """Return the events of a log, from a line on. The state is read before the lines, so that none is missed at the end."""
    yield b"retry: 2000\n\n"
    began = heard = asked = time.monotonic()
    while time.monotonic() < began + LONGEST and not call.site.stopping.is_set():
        if time.monotonic() > asked + ASKED:
            if not await call.is_permitted():
                return
            asked = time.monotonic()
        ended, lines = await call.site.in_thread(functools.partial(_read, call, job, seen))
        for line in lines:
            yield b"id: %d\nevent: line\ndata: %b\n\n" % (line.number, encoded(line))
            seen, heard = line.number, time.monotonic()
        if ended and len(lines) < PAGE:
            yield b"event: end\ndata: {}\n\n"
            return
        if time.monotonic() > heard + QUIET:
            yield b": still here\n\n"
            heard = time.monotonic()
        await anyio.sleep(0 if len(lines) == PAGE else POLL)


def _read(call: Call, job: str, after: int) -> tuple[bool, list[LineRecord]]:
    """Return whether a job has ended or is gone, and its next lines."""
    found = call.app.store.get(job)
    lines = call.app.store.logs(job, after, PAGE)
    numbers = attempt_numbers(call.app.store.attempts(job)) if lines else {}
    return found is None or found.state in ENDED, line_records(lines, after, numbers)

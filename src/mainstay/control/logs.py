"""Logs over many jobs: by search, level and time. Bounded, and it says how far it looked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from ..core.errors import UsageError
from ..core.job import JobLine
from ..core.log_lines import loaded
from ..core.search_terms import Term
from ..core.suggest import did_you_mean
from ..core.updates import LEVELS, WARNED
from ..job import each_of
from ..options import past_instant
from ..query import parse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Literal, Unpack

    from ..core.clock import Duration
    from ..core.job import LogLine
    from ..stores.contract import Store

ROWS, JOBS = 200, 50  # read at once
MOST = 5_000  # rows or jobs of one search
LINES = 20_000  # of one job
BY_LEVEL, BY_JOB = "w", "j"  # what a place begins with: in which order the logs are read


class LogSearch(NamedTuple):
    """Lines of many logs, the newest first. `after` continues; `looked`: so many rows or jobs, if the search ended before it was full."""

    lines: Sequence[JobLine[Any]]
    after: str | None
    looked: int | None


class LogOptions(TypedDict, total=False):
    """What `app.search_logs` takes."""

    level: Literal["debug", "info", "warning", "error"]  # this one and above; default: debug
    since: Duration | datetime | None  # an instant, or so long ago
    limit: int  # about so many lines; default: 1,000
    after: str | None  # the place at which the page before ended


def search(store: Store, query: str, now: int, **given: Unpack[LogOptions]) -> LogSearch:
    """As `search_logs`, with datetimes."""
    since = given.get("since")
    oldest = 0 if since is None else past_instant("since", since, now)
    level, limit = given.get("level", "debug"), given.get("limit", 1_000)
    found = search_logs(store, query, level, oldest, limit, given.get("after"), now)
    return found._replace(lines=each_of(found.lines))


def search_logs(store: Store, query: str, level: str, since: int, limit: int, after: str | None, now: int) -> LogSearch:
    """Return the lines of a level or above, of the jobs that match, since an instant; `limit` and some more of what was read with them.

    Warnings and errors are found by an index, however many jobs there are. For other levels the logs of the newest jobs are read.
    """
    _check(level, limit)
    terms, levels = parse(query, now), LEVELS[LEVELS.index(level) :]
    way, read = (BY_LEVEL, _by_level) if level in WARNED else (BY_JOB, _by_job)
    before, _, place = (after or "").partition(" ")
    if after and before != way:
        raise UsageError("after: this place belongs to a search for another level; begin without it")
    found: list[JobLine] = []
    looked, at = 0, place or None
    while len(found) < limit and looked < MOST:
        lines, count, at = read(store, terms, since, at, now)
        found += [line for line in lines if line.level in levels and line.at >= since]
        looked += count
        if at is None:
            break
    found.sort(key=lambda line: line.at)  # lines of one millisecond stay in their order
    found.reverse()
    return LogSearch(found, at and f"{way} {at}", looked if at and len(found) < limit else None)


def _check(level: str, limit: int) -> None:
    if level not in LEVELS:
        raise UsageError(
            f"level={level!r}: there is no such level{did_you_mean(level, LEVELS)}; there are: {', '.join(LEVELS)}"
        )
    if limit < 1:
        raise UsageError(f"limit={limit}: a page holds at least one line")


def _by_level(
    store: Store, terms: Sequence[Term], since: int, place: str | None, now: int
) -> tuple[list[JobLine], int, str | None]:
    records, at = store.warnings(since, ROWS, place)
    known = _matching(store, terms, {each.job for each in records}, now)
    lines = [
        JobLine(each.job, each.at, each.token, each.level, each.stage, each.message, loaded(each.fields))
        for each in sorted(records, key=lambda each: each[:3])
        if each.job in known
    ]
    return lines, ROWS, at


def _matching(store: Store, terms: Sequence[Term], ids: set[str], now: int) -> set[str]:
    """Return those of the jobs that a search finds."""
    if not terms or not ids:
        return ids
    found: set[str] = set()
    chosen = [*terms, Term("id", "=", tuple(sorted(ids)))]
    page = store.search(chosen, len(ids), None, now)
    found.update(page.ids)
    while page.after is not None:
        page = store.search(chosen, len(ids), page.after, now)
        found.update(page.ids)
    return found


def _by_job(
    store: Store, terms: Sequence[Term], since: int, place: str | None, now: int
) -> tuple[list[JobLine], int, str | None]:
    page = store.search(terms, JOBS, place, now)
    jobs = store.get_many(page.ids)
    read = [job.id for job in jobs if job.started_at is not None and (job.finished_at or now) >= since]
    lines = [JobLine(id, *_told(line)) for id in read for line in store.logs(id, 0, LINES)]
    return lines, max(len(jobs), page.searched or 0), page.after


def _told(line: LogLine) -> LogLine:
    return line._replace(level=shown_level(line))


def shown_level(line: LogLine | JobLine) -> str:
    """Return the level of a line, one of the four. The ends of stages had one of their own once."""
    return line.level if line.level in LEVELS else "info"


def length(store: Store, job_id: str, known: int) -> int:
    """Return how many lines the log of a job has, which has at least `known`: found by halves, so that few lines are read."""
    high = max(known, 1)
    while store.logs(job_id, high - 1, 1):
        known, high = high, high * 2
    while high - known > 1:
        middle = (known + high) // 2
        known, high = (middle, high) if store.logs(job_id, middle - 1, 1) else (known, middle)
    return known

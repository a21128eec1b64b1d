"""`logs`: prints the log of one job, or lines of the logs of many."""

from __future__ import annotations

import json
import shlex
import time
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..control.logs import LogSearch, search_logs, shown_level
from ..core.clock import span
from ..core.errors import UsageError
from ..core.states import ENDED
from ..core.updates import LEVELS
from ..short_ids import shortened
from .jobs import stored
from .options import command, how_many, on_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app import Mainstay
    from ..core.job import JobLine, LogLine
    from .options import Target
    from .output import Cell, Output

PAGE = 10_000  # log lines per read
POLL = 0.25  # seconds between two reads of `logs --follow` of one job …
POLL_MANY, OVERLAP = 1.0, 10_000  # … and of many; lines may come this many milliseconds after their time
STYLES = {"debug": "dim", "info": "", "warning": "warn", "error": "bad"}
PER_PAGE = 500


@command(
    """
    mainstay logs 01JQ93
    mainstay logs 01JQ93 --follow
    mainstay logs type:mail --level warning --since 1h
    mainstay logs --level error --follow
    """
)
@click.argument("query", nargs=-1, metavar="[JOB|SEARCH…]")
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines: of a job, until it has ended.")
@click.option(
    "--level", default="debug", metavar="LEVEL", help="Only this level and above: debug, info, warning, error."
)
@click.option("--since", metavar="DURATION", help="Only what was logged in this time: 90m, 1d.")
@how_many("--limit", PER_PAGE, "Of many jobs: about how many lines, the newest.")
@click.option("--after", metavar="PLACE", help="Of many jobs: continue with older lines, from this place.")
@on_store("Print only the lines, and no message if there are none.")
def logs(
    target: Target, output: Output, query: tuple[str, ...], follow: bool, level: str, since: str | None, limit: int,
    after: str | None,
) -> None:  # fmt: skip
    """Show what jobs have logged: one job, or all that match a search.

    Of one job the beginning of the id is enough; lines of earlier attempts come first. Of many jobs the newest lines are printed, in
    the order of their time. Warnings and errors are found among all jobs; for lower levels the newest jobs are looked at.
    """
    _check_level(level)
    with target.reading() as app:
        output.now = app.clock.now()
        oldest = output.now - span("--since", since) if since else 0
        if len(query) == 1 and ":" not in query[0]:
            _one(app, output, query[0], follow, LEVELS[LEVELS.index(level) :], oldest)
            return
        words = " ".join(query)
        page = search_logs(app.store, words, level, oldest, limit, after, output.now)
        _print_many(output, page.lines)
        if follow:
            _follow_many(app, output, words, level, page.lines)
    typed = ["mainstay", "logs", *query, *(["--level", level] if level != "debug" else [])]
    _tell(output, page, shlex.join([*typed, *(["--since", since] if since else []), *target.words()]))


def _check_level(level: str) -> None:
    if level not in LEVELS:
        from ..core.suggest import did_you_mean

        raise UsageError(
            f"--level: there is no level {level!r}{did_you_mean(level, LEVELS)}; there are: {', '.join(LEVELS)}"
        )


def _tell(output: Output, page: LogSearch, again: str) -> None:
    if not page.lines:
        output.talk("no line matches")
    if page.after is not None:
        looked = f"looked at {page.looked:,} so far; " if page.looked else ""
        output.talk(f"{looked}there may be older lines: {again} --after {shlex.quote(page.after)}")


# One job ----------------------------------------------------------------------------------------------------------------


def _one(app: Mainstay, output: Output, word: str, follow: bool, levels: Sequence[str], since: int) -> None:
    job_id, seen, ended, printed = stored(app, word).id, 0, False, 0
    while not ended:
        ended = not follow or stored(app, job_id).state in ENDED  # read before the lines, so that none is missed
        lines = _lines(app, job_id, seen)
        chosen = [line for line in lines if shown_level(line) in levels and line.at >= since]
        _print(output, chosen, first=not seen)
        seen, printed = seen + len(lines), printed + len(chosen)
        if not ended:
            output.flush()
            time.sleep(POLL)
    if not printed:
        output.talk(f"job {job_id} has logged nothing" + " of that" * (seen > 0))


def _lines(app: Mainstay, job_id: str, after: int) -> list[LogLine]:
    """Return the lines after the first `after` ones."""
    lines = page = app.store.logs(job_id, after, PAGE)
    while len(page) == PAGE:
        page = app.store.logs(job_id, after + len(lines), PAGE)
        lines = lines + page
    return lines


def _print(output: Output, lines: Sequence[LogLine], first: bool) -> None:
    if output.shape.machine:
        if lines or (output.shape.json and first):  # no lines: print one empty array
            output.data([json_records.of(line) for line in lines])
        return
    for line in lines:
        output.line(*log_line(output, line))


# Many jobs --------------------------------------------------------------------------------------------------------------


def _print_many(output: Output, lines: Sequence[JobLine]) -> None:
    """Print lines in the order of their time."""
    ordered = list(reversed(lines))
    if output.shape.machine:
        output.data([json_records.of(line) for line in ordered])
        return
    short = dict(zip(ids := list(dict.fromkeys(line.job for line in ordered)), shortened(ids), strict=True))
    for line in ordered:
        output.line((short[line.job], "dim"), " ", *log_line(output, line))


def _follow_many(app: Mainstay, output: Output, words: str, level: str, lines: Sequence[JobLine]) -> None:
    """Print new lines until it is interrupted. A line may be written a moment after its time, so the last seconds are read again."""
    seen = {_identity(line): line.at for line in lines}
    while True:
        time.sleep(POLL_MANY)
        oldest = app.clock.now() - OVERLAP
        page = search_logs(app.store, words, level, oldest, 100_000, None, app.clock.now())
        fresh = [line for line in page.lines if _identity(line) not in seen]
        if fresh:
            _print_many(output, fresh)
            output.flush()
        seen = {key: at for key, at in seen.items() if at >= oldest} | {_identity(line): line.at for line in fresh}


def _identity(line: JobLine) -> tuple[Any, ...]:
    return line.job, line.token, line.at, line.message, json.dumps(line.fields, sort_keys=True)


def log_line(output: Output, line: LogLine | JobLine) -> list[Cell]:
    """Return a line such as `09:41:03 info  read  sent 3 chunks  page=4`."""
    fields = "  ".join(f"{name}={_plain(value)}" for name, value in line.fields.items())
    level = shown_level(line)
    stage: list[Cell] = [(f" {line.stage} ", "running")] if line.stage else []
    return [
        (output.moment(line.at), "dim"),
        " ",
        (f"{level:7}", STYLES[level]),
        *stage,
        f" {line.message}  ",
        (fields, "dim"),
    ]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() and " " not in value else json.dumps(value)

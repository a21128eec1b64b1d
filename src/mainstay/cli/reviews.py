"""`reviews`: lists the jobs that wait for a person. And another output for one: from the command line, or from an editor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..control.reviews import PROPOSED, asked, encoded, resolve, reviews as listed
from ..core.errors import UsageError
from ..core.payload import decode_result
from ..core.redaction import restored
from ..redacting import redactor
from ..short_ids import shortened
from . import exits, records
from .editor import edited, keeping, read
from .jobs import WIDE
from .options import command, how_many, on_store
from .output import dumped
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app import Mainstay
    from ..control.records import ReviewRecord
    from ..core.job import Job
    from .groups import By
    from .options import Target
    from .output import Cell, Output

PER_PAGE = 50
HEADERS = ("ID", "TYPE", "WAITED", "EXPIRES", "DECIDERS", "QUESTION")


@command("mainstay reviews\nmainstay reviews --json\nmainstay reviews -n 10 --after 01JQ93")
@how_many("--limit", PER_PAGE, "How many reviews.")
@click.option("--after", metavar="ID", help="Continue after this job: the next page.")
@on_store("Print only the ids, one per line.")
def reviews(target: Target, output: Output, limit: int, after: str | None) -> None:
    """List the jobs that wait for a person, the oldest job first.

    DECIDERS are the people and roles that may decide; of none, anybody may. EXPIRES is when the job is decided without them.
    """
    with target.open() as app:
        output.now = app.clock.now()
        found = listed(app, limit + 1, app.resolve(after) if after else None)
    shown = found[:limit]
    every = [_record(each, output.now) for each in shown]
    records.give(output, every, [each.id for each in shown], lambda: _print(output, shown))
    if len(found) > limit:
        output.talk(f"there are more: {typed('reviews', '--after', shown[-1].id, target=target)}")
    if not found:
        output.talk("no job is in review")


def _record(each: ReviewRecord, now: int) -> dict[str, Any]:
    return {**json_records.plain(each), "waited": _waited(each, now) / 1000}


def _waited(each: ReviewRecord, now: int) -> int:
    return max(now - json_records.instant(each.asked_at), 0) if each.asked_at else 0


def _print(output: Output, found: Sequence[ReviewRecord]) -> None:
    ids = [each.id for each in found]
    ids = shortened(ids) if output.width < WIDE else ids
    rows: list[list[Cell]] = [
        [
            id, (each.type, "bold"), output.spent(_waited(each, output.now)),
            (output.when(json_records.instant(each.expires_at)) if each.expires_at else "", "warn"), ", ".join(each.deciders), each.question,
        ]
        for id, each in zip(ids, found, strict=True)
    ]  # fmt: skip
    output.filled_table(HEADERS, rows, always=(0, 1, 2), right=(2,))


# decide ---------------------------------------------------------------------------------------------------------------
def output_of(words: Sequence[str], given: str | None) -> Any:
    """Return the output that the command line gives for one job: JSON, @FILE or - for stdin; else `PROPOSED`."""
    if given is None:
        return PROPOSED
    if len(words) != 1 or ":" in words[0]:
        raise UsageError("--output is for one job, named by its id", "mainstay approve ID --output '{…}'")
    text = read(given.removeprefix("@")) if given == "-" or given.startswith("@") else given
    return _loaded(text, "--output")


def _loaded(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what}: this is not valid JSON: {error}; text is written with quotes: '\"…\"'") from None


def edit_review(app: Mainstay, output: Output, job: Job, file: str | None, by: By, roles: tuple[str, ...]) -> int:
    """Open the proposed output in the editor, then approve the job with what was saved."""
    asked(job).check(by.actor, roles)
    proposed = decode_result(app.store.result(job.id))
    before = dumped(proposed, indent=2) + "\n"
    after, path = (read(file), "") if file else edited(before, "output", ".json")
    with keeping(path, job.id):
        value = restored(_loaded(after, "the output"), proposed, redactor())
        encoded(app, job.type, value)  # raises for a mistake, with --dry-run too
        if path and after == before:
            output.talk(f"Nothing changed. To approve it as it is: {typed('approve', job.id)}")
        elif by.dry_run:
            output.talk("--dry-run: it would be approved with this output. Nothing changed.")
        else:
            resolve(app, job, True, by.reason, by.actor, roles, value, declared=True)
            record = {"id": job.id, "result": value, "approved": True}
            output.give(lambda: record, [job.id], lambda: output.line(f"{job.id} approved"))
    return exits.OK

"""`show`: prints everything about one job. Long texts are shortened; `--json` prints them whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..control.timeline import gaps, timeline
from ..core.clock import human, iso
from ..core.frames import user_lines
from ..core.job import updated_at
from ..core.states import DEAD, ENDED
from ..redacting import redactor
from . import records
from .audit import described
from .jobs import stored
from .logs import log_line
from .options import command, on_store
from .output import size, state
from .progress import bar
from .why import STARTED, local, reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..app import Mainstay
    from ..control.timeline import Event
    from ..core.job import Action, Attempt, Job, LogLine
    from .options import Target
    from .output import Cell, Output
    from .why import Step

CAP, CHILDREN, LINES = 10_000, 20, 10
LONG, MANY = 400, 40  # characters of a line and lines of a section that are printed
NEXT = {
    "completed": ("retry {id} --copy   (again, as a new job)",),
    "dead": ("retry {id}",),
    "cancelled": ("retry {id}",),
    "review": (
        "approve {id}",
        "edit {id}   (its output, then approve)",
        "reject {id} --note …",
        "retry {id} --note …   (run again)",
    ),
    "running": ("logs {id} --follow", "cancel {id}"),
    "retrying": ("retry {id}   (now)", "cancel {id}"),
    "scheduled": ("retry {id}   (now)", "cancel {id}"),
}


@command("mainstay show 01JQ93\nmainstay show 01JQ93 --json\nmainstay show 01JQ93 --fields state,error,reason --json")
@click.argument("job")
@click.option("--full", is_flag=True, help="Print the whole traceback, with the frames of libraries.")
@on_store("Print only the id, whole.")
def show(target: Target, output: Output, job: str, full: bool) -> None:
    """Show everything about one job.

    The beginning of the id is enough. For a waiting job it says why it waits. Long texts are shortened; --json prints
    them whole.
    """
    records.check_fields(output.shape.fields)
    with target.reading() as app:
        found = stored(app, job)
        output.now = app.clock.now()
        output.give(
            lambda: _record(app, found, output.now, target), [found.id],
            lambda: records.print_fields(output, [found]) if output.shape.fields else print_job(app, output, found, target, full),
        )  # fmt: skip


def _record(app: Mainstay, job: Job, now: int, target: Target) -> dict[str, Any]:
    store = app.store
    attempts, actions = store.attempts(job.id), store.actions(job.id, CAP)
    return json_records.of_job(job, now) | {
        "updated_at": iso(updated_at(job, attempts, actions)),
        "attempts": [_attempt(attempt) for attempt in attempts],
        "result": json_records.kept(store.result, job.id),
        "checkpoint": json_records.kept(store.checkpoint, job.id),
        "children": app.search(f"parent:{job.id}", CAP, exact=True).ids,
        "actions": [json_records.of(action) for action in actions],
        "waiting": [" → ".join([step.text, *step.next[:1]]) for step in _reasons(app, job, target)],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return json_records.of(attempt) | {"frames": [frame._asdict() for frame in attempt.frames]}


def _reasons(app: Mainstay, job: Job, target: Target) -> list[Step]:
    """Return why a job makes no progress, the true reason first, each with what to type."""
    if job.state in ENDED:
        return []
    return [step for step in reasons(app, job, app.why(job.id), target) if step.kind not in STARTED]


# Text -------------------------------------------------------------------------------------------------------------------


def print_job(app: Mainstay, output: Output, job: Job, target: Target, full: bool = False) -> None:
    """Print everything about a job, for people."""
    attempts, actions = app.store.attempts(job.id), app.store.actions(job.id, CAP)
    lines = app.store.logs(job.id, 0, CAP)
    _print_head(output, job, updated_at(job, attempts, actions))
    if job.state == "running" and (job.done is not None or job.stage or job.details):
        told = [
            json_records.progress(job),
            _stage(app, job),
            json_records.short(json_records.loaded(job.details) or {}),
        ]
        output.line(*bar(job.done, job.total), " ", " ".join(filter(None, told)), indent=2)
    _print_reasons(output, "worker" if job.state == "running" else "waiting because", _reasons(app, job, target))
    output.heading("timeline")
    output.table([""] * 4, _timeline(output, timeline(job, attempts, actions, lines)), right=(1,), indent=3)
    _section(output, "arguments", _arguments(job.payload))
    _section(
        output, "error", _error(job, attempts, full), more="--full prints all" if not full else "--json prints all"
    )
    _section(
        output,
        "result" if job.state != "review" else "proposed result",
        _json(json_records.kept(app.store.result, job.id)),
    )
    _section(output, "checkpoint", _json(json_records.kept(app.store.checkpoint, job.id)))
    _print_children(app, output, job)
    _print_log(output, job, lines)
    _section(output, "history", [_action(output, action) for action in actions[:LINES]])
    output.lines([""] * (job.label in NEXT))
    for attempt in NEXT.get(job.label, ()):
        output.line(("→ mainstay " + attempt.format(id=job.id), "link"), indent=1)


def _print_head(output: Output, job: Job, updated: int) -> None:
    output.line(state(job.label), "  ", (job.type, "bold"), "  ", job.id)
    facts = [f"attempt {job.attempt}/{job.max_attempts}", f"queue {job.queue}", f"priority {job.priority}"]
    facts += [
        f"{name} {getattr(job, name)}"
        for name in ("worker", "key", "tenant", "ref", "parent", "schedule", "code")
        if getattr(job, name)
    ]
    facts += [f"fingerprint {job.fingerprint}"] if job.state == DEAD and job.fingerprint else []
    facts += [f"tick {iso(job.tick)}"] if job.tick is not None else []
    facts += [f"tags {', '.join(job.tags)}"] if job.tags else []
    facts += [f"timeout {human(job.timeout)}"] if job.timeout else []
    facts += [f"updated {output.when(updated)}"]
    output.facts(*((fact, "dim") for fact in facts), indent=2)
    if job.reason:
        output.line(_bounded(job.reason), indent=2)
    took = json_records.durations(job, output.now)["cancel_took"]
    if took and job.started_at is not None:
        output.line(f"cancelled {human(took)} after it was asked", indent=2)


def _print_reasons(output: Output, title: str, steps: Sequence[Step]) -> None:
    if steps:
        output.heading(title)
    for step in steps:
        output.paragraph(text=_bounded(local(output, step.text)), indent=3)
        for typed in step.next[:1]:
            output.line((f"→ {typed}", "link"), indent=3)


def _stage(app: Mainstay, job: Job) -> str:
    """Return the current stage, and its number among the stages of the type."""
    declared = [info.policy.get("stages", ()) for info in app.store.types() if info.name == job.type]
    stages = list(declared[0]) if declared else []
    place = f" ({stages.index(job.stage) + 1} of {len(stages)})" if job.stage in stages else ""
    return (job.stage or "") + place


def _section(output: Output, title: str, lines: Sequence[str], more: str = "--json prints all") -> None:
    """Print a title and at most `MANY` lines below it."""
    if lines:
        output.heading(title)
    for line in lines[:MANY]:
        output.line(_bounded(line), indent=3)
    if len(lines) > MANY:
        output.line((f"… {len(lines) - MANY:,} more lines: {more}", "dim"), indent=3)


def _bounded(text: str) -> str:
    """Return the beginning of a long text, and how long the text is. A secret is redacted before it can be cut in two."""
    text = redactor().text(text)
    return text if len(text) <= LONG else f"{text[:LONG]}… ({size(len(text.encode()))}; --json prints all)"


def _timeline(output: Output, events: Sequence[Event]) -> list[list[Cell]]:
    """Return a row for each event, with the time since the one before."""
    since = ["", *(f"+{human(gap)}" for gap in gaps(events))]
    return [
        [(output.moment(event.at), "dim"), gap, _bounded(event.what), (_bounded(event.text), "dim")]
        for event, gap in zip(events, since, strict=True)
    ]


def _arguments(text: str) -> list[str]:
    args = json_records.loaded(text)
    if not isinstance(args, dict):
        return [str(args)]
    width = max(map(len, args), default=0)
    return [f"{name:{width}}  {json.dumps(value, ensure_ascii=False)}" for name, value in args.items()]


def _json(value: Any) -> list[str]:
    if value is None or value == {}:
        return []
    return json.dumps(value, indent=2, ensure_ascii=False).split("\n")


def _error(job: Job, attempts: Iterable[Attempt], full: bool) -> list[str]:
    """Return the last error with its traceback, of that the user's frames unless `full`; earlier ones are in the timeline."""
    failed = [attempt for attempt in attempts if attempt.error]
    if not failed or job.state == "completed":
        return []
    text = failed[-1].traceback or failed[-1].error or ""
    return text.rstrip().split("\n") if full else user_lines(text)


def _print_children(app: Mainstay, output: Output, job: Job) -> None:
    children = app.search(f"parent:{job.id}", CHILDREN, exact=True)
    if children.ids:
        output.heading("children")
        rows: list[list[Cell]] = [
            [state(child.label), child.id, child.type] for child in app.store.get_many(children.ids)
        ]
        output.table(["", "id", ""], rows, indent=3)
    if children.after is not None:
        output.line((f"… more: mainstay ls parent:{job.id}", "dim"), indent=3)


def _print_log(output: Output, job: Job, lines: Sequence[LogLine]) -> None:
    """Print the last lines of the log; `mainstay logs` prints all."""
    shown = [] if len(lines) == CAP else lines[-LINES:]  # of a longer log, these are not the last lines
    if lines:
        output.heading("log")
    if len(lines) > LINES:
        more = f"{len(lines) - len(shown):,}{' or' * (not shown)} more: mainstay logs {job.id}"
        output.line((f"… {more}", "dim"), indent=3)
    for line in shown:
        fields = {name: _bounded(value) if isinstance(value, str) else value for name, value in line.fields.items()}
        output.line(*log_line(output, line._replace(message=_bounded(line.message), fields=fields)), indent=3)


def _action(output: Output, action: Action) -> str:
    return f"{output.when(action.at)}  {action.actor}  {described(action._replace(job=None), '  ')}".rstrip()

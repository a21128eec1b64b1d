"""`show`: prints everything about one job."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from ..core.clock import human, iso
from ..core.states import ENDED
from . import records
from .exits import printable
from .findings import why_waiting
from .jobs import clock_time, log_line
from .options import command, shaped, targeted
from .output import GLYPHS, cut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..app import Mainstay
    from ..core.job import Action, Attempt, Job
    from .output import Output
    from .target import Target

CAP, CHILDREN, LINES = 10_000, 20, 10
OUTCOMES = {"review": "asked for a review", "released": "was released", "snoozed": "was snoozed"}
NEXT = {
    "dead": "mainstay retry {id}",
    "cancelled": "mainstay retry {id}",
    "review": "mainstay approve {id}   or   mainstay reject {id} --note …",
    "running": "mainstay logs {id} --follow   ·   mainstay cancel {id}",
    "retrying": "mainstay retry {id}   (now)   ·   mainstay cancel {id}",
    "scheduled": "mainstay retry {id}   (now)   ·   mainstay cancel {id}",
}


@command("mainstay show 01JQ93\nmainstay show 01JQ93 --json\nmainstay show 01JQ93 --fields state,error,reason --json")
@click.argument("job")
@shaped
@targeted
def show(target: Target, output: Output, job: str) -> None:
    """Show everything about one job.

    The beginning of the id is enough. For a waiting job it says why it waits.
    """
    records.check_fields(output.shape.fields)
    with target.open() as app:
        found = app.get(job)
        output.now = app.clock.now()
        if output.shape.machine:
            output.record(_record(app, found, output.now))
        elif output.shape.quiet:
            output.line(found.id)
        elif output.shape.fields:
            record = records.of_job(found, output.now)
            cells = [records.cell(output, record, found, name) for name in output.shape.fields]
            output.table(output.shape.fields, [cells])
        else:
            _print(app, output, found)


def _record(app: Mainstay, job: Job, now: int) -> dict[str, Any]:
    store = app.store
    return records.of_job(job, now) | {
        "attempts": [records.of_attempt(attempt) for attempt in store.attempts(job.id)],
        "result": records.loaded(store.result(job.id)),
        "checkpoint": records.loaded(store.checkpoint(job.id)),
        "children": _children(app, job),
        "actions": [records.of_action(action) for action in store.actions(job.id, CAP)],
        "waiting": _reasons(app, job, now),
    }


def _children(app: Mainstay, job: Job) -> list[str]:
    return list(app.search(f"parent:{job.id}", CHILDREN, exact=True).ids)


def _reasons(app: Mainstay, job: Job, now: int) -> list[str]:
    if job.state in ENDED or job.state == "running":
        return []
    return why_waiting(job, app.store.counts(CAP), app.store.workers(), now)


# Text -------------------------------------------------------------------------------------------------------------------


def _print(app: Mainstay, output: Output, job: Job) -> None:
    attempts = app.store.attempts(job.id)
    _print_head(output, job)
    if job.state == "running" and (job.done is not None or job.stage):
        output.line(f"  {bar(output, job)} {records.progress(job)} {_stage(app, job)}".rstrip())
    _section(output, "waiting because", _reasons(app, job, output.now))
    _section(output, "timeline", _timeline(output, job, attempts))
    _section(output, "arguments", _arguments(job.payload))
    _section(output, "error", _error(job, attempts))
    _section(output, "result" if job.state != "review" else "proposed result", _json(app.store.result(job.id)))
    _section(output, "checkpoint", _json(app.store.checkpoint(job.id)))
    _section(output, "children", [_child(output, child) for child in app.store.get_many(_children(app, job))])
    _section(output, "log", _log(app, output, job))
    _section(output, "history", [_action(output, action) for action in app.store.actions(job.id, LINES)])
    if job.label in NEXT:
        output.line(f"\n {output.paint('→ ' + NEXT[job.label].format(id=job.id), 'link')}")


def _print_head(output: Output, job: Job) -> None:
    state = output.paint(f"{GLYPHS[job.label]} {job.label}", job.label)
    output.line(f"{state}  {output.paint(job.type, 'bold')}  {job.id}")
    facts = [f"attempt {job.attempt}/{job.max_attempts}", f"queue {job.queue}", f"priority {job.priority}"]
    facts += [f"worker {job.worker}"] if job.worker else []
    facts += [f"{name} {getattr(job, name)}" for name in ("key", "tenant", "ref", "parent") if getattr(job, name)]
    facts += [f"tags {', '.join(job.tags)}"] if job.tags else []
    facts += [f"timeout {human(job.timeout)}"] if job.timeout else []
    output.line("  " + output.paint(printable(" · ".join(facts)), "dim"))
    if job.reason:
        output.line(f"  {printable(job.reason)}")


def _stage(app: Mainstay, job: Job) -> str:
    """Return the current stage, and its number among the stages of the type."""
    declared = [info.policy.get("stages", ()) for info in app.store.types() if info.name == job.type]
    stages = list(declared[0]) if declared else []
    place = f" ({stages.index(job.stage) + 1} of {len(stages)})" if job.stage in stages else ""
    return printable(job.stage or "") + place


def bar(output: Output, job: Job, width: int = 24) -> str:
    """Return the progress of a job as a bar; empty if it is unknown."""
    if job.done is None or not job.total:
        return ""
    full = round(width * min(max(job.done / job.total, 0), 1))
    return output.paint("━" * full, "running") + output.paint("─" * (width - full), "dim")


def _section(output: Output, title: str, lines: Iterable[str]) -> None:
    texts = list(lines)
    if texts:
        output.line(f"\n {output.paint(title, 'bold')}")
        output.lines(f"   {text}" for text in texts)


def _timeline(output: Output, job: Job, attempts: list[Attempt]) -> list[str]:
    """Return a line for each event, with the time since the one before."""
    events = [(job.created_at, "created", "")]
    for attempt in attempts:
        by = f"on {attempt.worker}" if attempt.worker else ""
        events.append((attempt.started_at, f"attempt {attempt.number} started", by))
        if attempt.ended_at is not None:
            how = OUTCOMES.get(attempt.outcome, attempt.outcome)
            events.append((attempt.ended_at, f"attempt {attempt.number} {how}", attempt.error or ""))
    if job.cancel_at is not None and job.state == "running":
        events.append((job.cancel_at, "cancel requested", ""))
    if job.finished_at is not None and not (attempts and attempts[-1].ended_at == job.finished_at):
        events.append((job.finished_at, job.state, ""))
    if job.run_at is not None and job.state == "scheduled":
        events.append((job.run_at, "due", ""))
    return _timed(output, events)


def _timed(output: Output, events: list[tuple[int, str, str]]) -> list[str]:
    events.sort(key=lambda event: event[0])
    gaps = ["", *(f"+{human(later[0] - sooner[0])}" for sooner, later in pairwise(events))]
    width, texts = max(len(gap) for gap in gaps), max(len(text) for _, text, _ in events)
    return [
        _moment(output, at, f"{gap:>{width}}  {text:{texts}}", more)
        for (at, text, more), gap in zip(events, gaps, strict=True)
    ]


def _moment(output: Output, at: int, text: str, more: str) -> str:
    when = _instant(output, at)
    rest = cut(printable(more).replace("\n", " "), max(output.width - len(when) - len(text) - 8, 20))
    return f"{output.paint(when, 'dim')}  {text}  {output.paint(rest, 'dim')}".rstrip()


def _instant(output: Output, at: int) -> str:
    """Return the time of day on a terminal, with the date if it is not today; ISO in a pipe."""
    if not output.tty:
        return iso(at)
    import time

    today = time.strftime("%Y-%m-%d", time.localtime(output.now / 1000))
    day = time.strftime("%Y-%m-%d", time.localtime(at / 1000))
    return clock_time(at) if day == today else f"{day} {clock_time(at)}"


def _arguments(text: str) -> list[str]:
    """Return one line for each argument."""
    args = records.loaded(text)
    if not isinstance(args, dict):
        return [printable(str(args))]
    width = max(map(len, args), default=0)
    return [printable(f"{name:{width}}  {json.dumps(value, ensure_ascii=False)}") for name, value in args.items()]


def _json(text: str | None) -> list[str]:
    if text is None or text == "{}":
        return []
    return printable(json.dumps(records.loaded(text), indent=2, ensure_ascii=False)).split("\n")


def _error(job: Job, attempts: list[Attempt]) -> list[str]:
    """Return the last error with its traceback; earlier ones are in the timeline."""
    last = next((attempt for attempt in reversed(attempts) if attempt.error), None)
    if last is None or job.state == "completed":
        return []
    return printable((last.traceback or last.error or "").rstrip()).split("\n")


def _child(output: Output, child: Job) -> str:
    return f"{output.paint(f'{GLYPHS[child.label]} {child.label:9}', child.label)}  {child.id}  {child.type}"


def _log(app: Mainstay, output: Output, job: Job) -> list[str]:
    """Return the last lines of the log; `mainstay logs` prints all."""
    lines = app.store.logs(job.id, 0, CAP)
    more = [output.paint(f"… {len(lines) - LINES} more: mainstay logs {job.id}", "dim")] if len(lines) > LINES else []
    return more + [log_line(output, line) for line in lines[-LINES:]]


def _action(output: Output, action: Action) -> str:
    detail = " ".join(f"{name}={value}" for name, value in action.detail.items() if value)
    return printable(f"{output.when(action.at)}  {action.actor}  {action.action}  {detail}".rstrip())

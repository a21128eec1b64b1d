"""`why`: the reasons for which a job has not started, the true one first, each with the command that changes it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..control import json_records
from ..control.workers import live
from .jobs import stored
from .options import command, on_store
from .output import state
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import Mainstay
    from ..control.records import Reason, Why
    from ..core.job import Job
    from .options import Target
    from .output import Output

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
AGAIN = {"completed": ("retry", "--copy"), "dead": ("retry",), "cancelled": ("retry",)}
STARTED = ("running", "ended")  # kinds of reasons of a job that needs no explanation


class Step(NamedTuple):
    """A reason as it is printed: its kind, its text, and the commands that change it."""

    kind: str
    text: str
    next: tuple[str, ...]


@command("mainstay why 01JQ93\nmainstay why 01JQ93 --json")
@click.argument("job")
@on_store("Print only the kinds of the reasons, one per line.")
def why(target: Target, output: Output, job: str) -> None:
    """Show why a job has not started, the true reason first.

    Below each reason is the command that changes it. The beginning of the id is enough.
    """
    with target.reading() as app:
        output.now = app.clock.now()
        found = stored(app, job)
        told = app.why(found.id)
        steps = reasons(app, found, told, target)
    output.give(lambda: _record(told, steps), [step.kind for step in steps], lambda: _print(output, told, steps))


def reasons(app: Mainstay, job: Job, told: Why, target: Target) -> list[Step]:
    """Return the reasons with what to type next."""
    return [Step(reason.kind, _text(reason), _next(app, job, reason, target)) for reason in told.reasons]


def _text(reason: Reason) -> str:
    return reason.text + " (no worker is running at all)" * (
        reason.kind == "worker" and reason.details.get("workers") == 0
    )


def _record(told: Why, steps: list[Step]) -> dict[str, Any]:
    details = [json_records.plain(reason.details) for reason in told.reasons]
    listed = [
        {**step._asdict(), "next": list(step.next), "details": more} for step, more in zip(steps, details, strict=True)
    ]
    return {**told._asdict(), "reasons": listed}


def _print(output: Output, told: Why, steps: list[Step]) -> None:
    output.line(state(told.state), "  ", (told.type, "bold"), "  ", told.id)
    output.line(("queue " + told.queue, "dim"), indent=2)
    output.line()
    numbered = len(steps) > 1
    for number, step in enumerate(steps, 1):
        output.paragraph((f"{number}. " if numbered else "", "bold"), text=local(output, step.text), indent=1)
        for each in step.next:
            output.line((f"→ {each}", "link"), indent=4 if numbered else 1)


def local(output: Output, text: str) -> str:
    """Return a text whose instants are local times on a terminal."""
    if not output.tty:
        return text
    return INSTANT.sub(lambda found: output.moment(json_records.instant(datetime.fromisoformat(found[0]))), text)


# What to type next ------------------------------------------------------------------------------------------------------


def _next(app: Mainstay, job: Job, reason: Reason, target: Target) -> tuple[str, ...]:
    find = NEXT.get(reason.kind)
    return (
        tuple(typed(*words, target=target) for words in find(job, reason.details))
        if find
        else _start(app, job, reason, target)
    )


def _start(app: Mainstay, job: Job, reason: Reason, target: Target) -> tuple[str, ...]:
    """Return the command that starts a worker for the job, if it needs one."""
    if reason.kind not in ("worker", "slot"):
        return ()
    able = [worker for worker in live(app.store.workers(), app.clock.now()) if job.type in worker.types]
    if reason.kind == "worker" and able and job.state != "running":
        queues = sorted({queue for worker in able for queue in worker.queues})
        return (f"{target.start()} --queues {','.join((job.queue, *queues))}",)
    return (target.start(),)


def _resume(_: Job, details: Any) -> list[list[str]]:
    return [["resume", "--all"] if details["of"] == "all" else ["resume", f"--{details['of']}", details["name"]]]


def _parents(_: Job, details: Any) -> list[list[str]]:
    return [["why", parent] for parent in list(details["parents"])[:1]]


NEXT: dict[str, Callable[[Job, Any], list[list[str]]]] = {
    "paused": _resume,
    "parents": _parents,
    "limit": lambda _, details: [["limits", "set", details["limit"], "--running", str(details.get("held", 0) + 1)]],
    "rate": lambda _, details: [["limits", "set", details["limit"], "--rate", "N/s"]],
    "breaker": lambda job, _: [["breaker", "close", job.type]],
    "scheduled": lambda job, _: [["retry", job.id]],
    "retrying": lambda job, _: [["retry", job.id]],
    "review": lambda job, _: [["approve", job.id], ["reject", job.id]],
    "key": lambda _, details: [["show", details["job"]]],
    "behind": lambda job, _: [["ls", f"state:{job.state}", f"queue:{job.queue}"]],
    "running": lambda job, _: [["logs", job.id, "--follow"]],
    "ended": lambda job, _: [[AGAIN[job.state][0], job.id, *AGAIN[job.state][1:]]],
}

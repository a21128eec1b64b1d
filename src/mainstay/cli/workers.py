"""`workers`: lists the registered workers, shows what one runs, drains or stops one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..control.workers import find, state_of, stop_worker
from . import exits, records
from .groups import acting, group, subcommand
from .options import on_store
from .output import plural
from .quoting import typed

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..core.job import Declaration, Job, WorkerInfo
    from .groups import By
    from .options import Target
    from .output import Cell, Output

FIELDS = (
    "id", "state", "host", "pid", "queues", "types", "slots", "running", "started_at", "beat_at", "expires_at",
)  # fmt: skip
GLYPHS = {"live": ("● live", "good"), "stopping": ("◐ stopping", "warn"), "dead": ("✕ dead", "bad")}
ENDS = {"drain": "finish what runs, then end", "stop": "release what runs, then end"}
NEXT = {"live": ("drain", "stop"), "stopping": ("stop",), "dead": ()}  # what may be asked of one
HEADERS = ("STATE", "ID", "HOST:PID", "BUSY", "STARTED", "BEAT", "QUEUES")
JOBS = ("id", "type", "started_at", "attempt", "stage", "done", "total", "timeout", "label")


@group(
    """
    mainstay workers
    mainstay workers --json
    mainstay workers show w7k2
    mainstay workers drain w7k2
    mainstay workers stop w7k2
    """
)
@on_store("Print only the ids, one per line.")
def workers(target: Target, output: Output) -> None:
    """List the workers; show what one runs; drain or stop it.

    The list says where each runs and what it serves. BEAT is when it last renewed its lease, BUSY the number of running jobs and of slots. A worker whose lease has run out is dead: others run its jobs again
    and then remove it from this list.
    """
    records.check_fields(output.shape.fields, FIELDS)
    with target.reading() as app:
        now = output.now = app.clock.now()
        found = sorted(app.store.workers(), key=lambda worker: (worker.started_at, worker.id))
        start = target.start()
    output.give(
        lambda: [_record(worker, now) for worker in found],
        [worker.id for worker in found],
        lambda: _print(output, found),
    )
    if not found:
        output.talk(f"there is no worker; to start one: {start}")


def _record(worker: WorkerInfo, now: int) -> dict[str, Any]:
    known = json_records.of(worker) | {"state": state_of(worker, now)}
    return {name: known[name] for name in FIELDS}


def _print(output: Output, found: list[WorkerInfo]) -> None:
    names = output.shape.fields
    if names:
        output.table(names, [[_cell(output, worker, name) for name in names] for worker in found])
    elif found:
        output.table(HEADERS, [_row(output, worker) for worker in found], right=(3,), drop=(4, 2))


def _cell(output: Output, worker: WorkerInfo, name: str) -> Cell:
    if name == "state":
        return GLYPHS[state_of(worker, output.now)]
    return records.cell(output, name, getattr(worker, name))


def _row(output: Output, worker: WorkerInfo) -> list[Cell]:
    busy, place = f"{worker.running}/{worker.slots}", f"{worker.host}:{worker.pid}"
    times: list[Cell] = [(output.since(at), "dim") for at in (worker.started_at, worker.beat_at)]
    return [GLYPHS[state_of(worker, output.now)], worker.id, place, busy, *times, ", ".join(worker.queues)]


# One worker -------------------------------------------------------------------------------------------------------------


@subcommand(workers, "show", "mainstay workers show w7k2\nmainstay workers show w7k2 --json")
@click.argument("worker")
@on_store("Print only the ids of the jobs that it runs.")
def show(target: Target, output: Output, worker: str) -> None:
    """Show one worker: what it runs, and which types it takes in which version. The beginning of the id is enough."""
    with target.open() as app:
        output.now = app.clock.now()
        found = _find(app, worker)
        jobs = app.store.get_many([job.id for job in app.store.claimed_by(found.id)])
        taken = app.store.declarations(output.now, worker=found.id)
    output.give(
        lambda: {**_record(found, output.now), "jobs": _jobs(jobs, output.now), "versions": {each.type: each.version for each in taken}},
        [job.id for job in jobs], lambda: _print_one(output, found, jobs, taken, target),
    )  # fmt: skip


def _find(app: Mainstay, given: str) -> WorkerInfo:
    known = {worker.id: worker for worker in app.store.workers()}
    return known[find(list(known), given)]


def _jobs(jobs: list[Job], now: int) -> list[dict[str, Any]]:
    return [{name: json_records.of_job(job, now)[name] for name in (*JOBS, "took")} for job in jobs]


def _print_one(output: Output, worker: WorkerInfo, jobs: list[Job], taken: list[Declaration], target: Target) -> None:
    output.line(GLYPHS[state_of(worker, output.now)], "  ", (worker.id, "bold"), f"  {worker.host}:{worker.pid}")
    facts = [f"{worker.running} of {plural(worker.slots, 'slot')} busy", f"queues {', '.join(worker.queues)}"]
    facts += [f"started {output.since(worker.started_at)}", f"lease renewed {output.since(worker.beat_at)}"]
    output.facts(*((fact, "dim") for fact in facts), indent=2)
    output.heading("runs")
    rows: list[list[Cell]] = [
        [
            job.id, (job.type, "bold"), output.spent(json_records.durations(job, output.now)["took"]), f"{job.attempt}/{job.max_attempts}",
            " ".join(filter(None, (json_records.progress(job), job.stage, "cancelling" * (job.label == "cancelling")))),
        ]
        for job in jobs
    ]  # fmt: skip
    if rows:
        output.table(["ID", "TYPE", "FOR", "ATTEMPT", "PROGRESS"], rows, right=(2, 3), indent=3)
    else:
        output.line(("nothing", "dim"), indent=3)
    versions = {each.type: each.version for each in taken}
    output.heading("types")
    output.facts(*(f"{name} v{versions[name]}" if name in versions else name for name in worker.types), indent=3)
    steps = NEXT[state_of(worker, output.now)]
    output.lines([""] * bool(steps))
    for verb in steps:
        output.line((f"→ {typed('workers', verb, worker.id, target=target)}   ({ENDS[verb]})", "link"), indent=1)


@subcommand(workers, "drain", "mainstay workers drain w7k2\nmainstay workers drain w7k2 w9h1 --actor ada")
@click.argument("names", nargs=-1, required=True, metavar="WORKER…")
@acting
@on_store("Print only the ids of the workers that were asked.")
def drain(target: Target, output: Output, by: By, names: tuple[str, ...]) -> int:
    """Let workers claim nothing more, finish what they run, however long that takes, and end.

    Their processes exit with code 0; a supervisor starts no others in their place. mainstay workers stop cuts it short.
    """
    return _ask(target, output, by, names, drain=True)


@subcommand(workers, "stop", "mainstay workers stop w7k2\nmainstay workers stop w7k2 --dry-run")
@click.argument("names", nargs=-1, required=True, metavar="WORKER…")
@acting
@on_store("Print only the ids of the workers that were asked.")
def stop(target: Target, output: Output, by: By, names: tuple[str, ...]) -> int:
    """Stop workers as SIGTERM does: running jobs have the grace period to finish or to reach a safe point, then are released.

    Their processes exit with code 0; a supervisor starts no others in their place.
    """
    return _ask(target, output, by, names, drain=False)


def _ask(target: Target, output: Output, by: By, names: tuple[str, ...], drain: bool) -> int:
    verb = "drain" if drain else "stop"
    with target.open() as app:
        found = [_find(app, name) for name in names]  # all, before one of them is asked
        if not by.dry_run:
            for worker in found:
                stop_worker(app, worker.id, drain, by.actor)
    record = {"asked": verb, "workers": [worker.id for worker in found], "dry_run": by.dry_run}
    running = sum(worker.running for worker in found)
    runs = f"; {plural(running, 'job')} run{'s' * (running == 1)} there" if running else ""
    told = (
        f"--dry-run: would ask {plural(len(found), 'worker')} to {verb}{runs}. Nothing changed."
        if by.dry_run
        else f"asked to {verb}{runs}"
    )
    output.give(lambda: record, [worker.id for worker in found], lambda: output.talk(told))
    return exits.OK

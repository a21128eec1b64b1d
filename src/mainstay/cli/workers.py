"""`workers`: lists the registered workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import records
from .options import command, shaped, targeted

if TYPE_CHECKING:
    from ..core.job import WorkerInfo
    from .options import Target
    from .output import Cell, Output

FIELDS = (
    "id", "state", "host", "pid", "queues", "types", "slots", "running", "started_at", "beat_at", "expires_at",
)  # fmt: skip
GLYPHS = {"live": ("● live", "good"), "stopping": ("◐ stopping", "warn"), "dead": ("✕ dead", "bad")}
HEADERS = ("STATE", "ID", "HOST:PID", "BUSY", "STARTED", "BEAT", "QUEUES")


@command("mainstay workers\nmainstay workers --json\nmainstay workers --fields id,host,types")
@shaped("Print only the ids, one per line.")
@targeted
def workers(target: Target, output: Output) -> None:
    """List the workers: where each runs and what it serves.

    BEAT is when it last renewed its lease, BUSY the number of running jobs and of slots. A worker whose lease has run out is dead: others run its jobs again
    and then remove it from this list.
    """
    records.check_fields(output.shape.fields, FIELDS)
    with target.open() as app:
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


def _state(worker: WorkerInfo, now: int) -> str:
    return "dead" if worker.expires_at <= now else "stopping" if worker.stopping else "live"


def _record(worker: WorkerInfo, now: int) -> dict[str, Any]:
    known = records.of(worker) | {"state": _state(worker, now)}
    return {name: known[name] for name in FIELDS}


def _print(output: Output, found: list[WorkerInfo]) -> None:
    names = output.shape.fields
    if names:
        output.table(names, [[_cell(output, worker, name) for name in names] for worker in found])
    elif found:
        output.table(HEADERS, [_row(output, worker) for worker in found], right=(3,), drop=(4, 2))


def _cell(output: Output, worker: WorkerInfo, name: str) -> Cell:
    if name == "state":
        return GLYPHS[_state(worker, output.now)]
    return records.cell(output, name, getattr(worker, name))


def _row(output: Output, worker: WorkerInfo) -> list[Cell]:
    busy, place = f"{worker.running}/{worker.slots}", f"{worker.host}:{worker.pid}"
    times: list[Cell] = [(output.when(at), "dim") for at in (worker.started_at, worker.beat_at)]
    return [GLYPHS[_state(worker, output.now)], worker.id, place, busy, *times, ", ".join(worker.queues)]

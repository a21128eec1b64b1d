"""Jobs, attempts, actions and log lines as records for JSON output, and as short texts for tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..core.clock import iso
from ..core.errors import UsageError
from ..core.suggest import did_you_mean

if TYPE_CHECKING:
    from ..core.job import Action, Attempt, Job, LogLine
    from .output import Cell, Output

FIELDS = (
    "id", "type", "queue", "state", "label", "priority", "args", "attempt", "max_attempts", "crashes", "worker",
    "created_at", "run_at", "started_at", "finished_at", "expires_at", "took", "timeout", "key", "tenant", "ref", "tags",
    "parent", "done", "total", "stage", "error", "reason",
)  # fmt: skip


def of_job(job: Job, now: int) -> dict[str, Any]:
    """Return a job as a record: instants in ISO 8601, durations in seconds, arguments parsed."""
    return {
        "id": job.id, "type": job.type, "queue": job.queue, "state": job.state, "label": job.label,
        "priority": job.priority, "args": loaded(job.payload), "attempt": job.attempt, "max_attempts": job.max_attempts,
        "crashes": job.crashes, "worker": job.worker, "created_at": iso(job.created_at), "run_at": _iso(job.run_at),
        "started_at": _iso(job.started_at), "finished_at": _iso(job.finished_at), "expires_at": _iso(job.expires_at),
        "took": _seconds(took(job, now)), "timeout": _seconds(job.timeout), "key": job.key, "tenant": job.tenant,
        "ref": job.ref, "tags": list(job.tags), "parent": job.parent, "done": job.done, "total": job.total,
        "stage": job.stage, "error": job.error, "reason": job.reason,
    }  # fmt: skip


def of_attempt(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as a record."""
    times = {"started_at": iso(attempt.started_at), "ended_at": _iso(attempt.ended_at)}
    return attempt._asdict() | times


def of_action(action: Action) -> dict[str, Any]:
    """Return an action of an operator as a record."""
    return action._asdict() | {"at": iso(action.at)}


def of_line(line: LogLine) -> dict[str, Any]:
    """Return a log line as a record."""
    return line._asdict() | {"at": iso(line.at)}


def took(job: Job, now: int) -> int | None:
    """Return how long the last attempt took, or the running one has taken so far."""
    if job.started_at is None:
        return None
    if job.state == "running":
        return max(now - job.started_at, 0)
    return None if job.finished_at is None else max(job.finished_at - job.started_at, 0)


def loaded(text: str | None) -> Any:
    """Return parsed JSON, or the text itself if it is not JSON: a damaged payload stays visible."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def short(args: Any) -> str:
    """Return arguments in one line: `path="a.png" width=300`."""
    if not isinstance(args, dict):
        return str(args)
    return " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in args.items())


def about(job: Job) -> str:
    """Return one line about a job: its error or reason, its progress, or else its arguments."""
    if job.label in {"dead", "retrying", "review", "cancelled"} and (job.error or job.reason):
        return job.reason or "" if job.label == "review" else job.error or job.reason or ""
    if job.state == "running" and (job.stage or job.total):
        return f"{progress(job)} {job.stage or ''}".strip()
    return short(loaded(job.payload))


def progress(job: Job) -> str:
    """Return `62%`, `18 done` or an empty text."""
    if job.done is None:
        return ""
    if not job.total:
        return f"{job.done:g} done"
    return f"{100 * job.done / job.total:.0f}%"


def check_fields(fields: tuple[str, ...]) -> None:
    """Raise `UsageError` for fields that do not exist."""
    for name in fields:
        if name not in FIELDS:
            raise UsageError(
                f"--fields: there is no field {name!r}{did_you_mean(name, FIELDS)}; there are: {', '.join(FIELDS)}"
            )


def cell(output: Output, record: dict[str, Any], job: Job, name: str) -> Cell:
    """Return one field of a job as a cell of a table."""
    if name in {"label", "state"}:
        return output.state(job.label)
    if name.endswith("_at"):
        return output.when(getattr(job, name))
    if name in {"took", "timeout"}:
        return output.spent(None if record[name] is None else round(record[name] * 1000))
    value = record[name]
    if name == "args":
        return short(value)
    return ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)


def _iso(at: int | None) -> str | None:
    return None if at is None else iso(at)


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000

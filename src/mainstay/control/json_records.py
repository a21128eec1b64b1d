"""What stores and verbs return, as JSON has it: instants in ISO 8601, durations in seconds, arguments parsed and without secrets.

The command line (`--json`) and the HTTP API print the same records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ..core.clock import iso
from ..core.states import CANCELLED
from ..redacting import redactor

if TYPE_CHECKING:
    from ..core.job import Action, Attempt, Count, Job, LogLine, WorkerInfo

FIELDS = (
    "id", "type", "queue", "state", "label", "priority", "args", "attempt", "max_attempts", "crashes", "worker",
    "created_at", "run_at", "started_at", "cancel_at", "finished_at", "expires_at", "took", "cancel_took", "timeout", "key", "tenant", "ref", "tags",
    "parent", "schedule", "tick", "done", "total", "stage", "details", "error", "code", "reason", "fingerprint",
)  # fmt: skip


def of_job(job: Job, now: int) -> dict[str, Any]:
    """Return a job as a record: instants in ISO 8601, durations in seconds, arguments parsed."""
    seconds = {name: None if ms is None else ms / 1000 for name, ms in durations(job, now).items()}
    known = of(job) | seconds | {"args": loaded(job.payload), "details": loaded(job.details), "label": job.label}
    return {name: known[name] for name in FIELDS}


def of(item: Job | Attempt | Action | LogLine | Count | WorkerInfo) -> dict[str, Any]:
    """Return what a store returned as a record: instants in ISO 8601."""
    return {
        name: iso(value) if is_instant(name) and value is not None else value for name, value in item._asdict().items()
    }


def plain(value: Any) -> Any:
    """Return a record or a struct, with all that is in it, as JSON has it: instants in ISO 8601, durations in seconds."""
    if isinstance(value, datetime):
        return iso(instant(value))
    if isinstance(value, timedelta):
        return value.total_seconds()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__struct_fields__"):  # of msgspec, which the command line does not load
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, tuple | list) else value


def instant(at: datetime) -> int:
    """Return an instant in milliseconds."""
    return round(at.timestamp() * 1000)


def is_instant(name: str) -> bool:
    """Whether a field of this name holds an instant."""
    return name in {"at", "oldest", "tick"} or name.endswith("_at")


def durations(job: Job, now: int) -> dict[str, int | None]:
    """Return the timeout of a job, how long its last attempt took or the running one has taken so far, and how long its cancel took."""
    until = now if job.state == "running" else job.finished_at
    took = None if job.started_at is None or until is None else max(until - job.started_at, 0)
    cancelled = job.state == CANCELLED and job.finished_at is not None and job.cancel_at is not None
    cancel_took = max((job.finished_at or 0) - (job.cancel_at or 0), 0) if cancelled else None
    return {"took": took, "cancel_took": cancel_took, "timeout": job.timeout}


def loaded(text: str | None) -> Any:
    """Return parsed JSON without the secrets in it, or the text itself if it is not JSON: a damaged payload stays visible."""
    try:
        return None if text is None else redactor().value(json.loads(text))
    except ValueError:
        return text


def kept(read: Callable[[str], str | None], job: str) -> Any:
    """Return a result or a checkpoint as `loaded`; if it is there and cannot be decrypted, what is wrong with it."""
    from ..core.keyring import Unreadable

    try:
        return loaded(read(job))
    except Unreadable as error:
        return f"[unreadable: {error}]"


def short(args: Any) -> str:
    """Return arguments in one line: `path="a.png" width=300`."""
    args = redactor().value(args)
    if not isinstance(args, dict):
        return str(args)
    return " ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in args.items())


def about(job: Job) -> str:
    """Return one line about a job: its error or reason, its progress, or else its arguments."""
    if job.label in {"dead", "retrying", "review", "cancelled"} and (job.error or job.reason):
        return job.reason or "" if job.label == "review" else job.error or job.reason or ""
    if job.state == "running" and (job.stage or job.total or job.details):
        return " ".join(filter(None, (progress(job), job.stage, short(loaded(job.details) or {}))))
    return short(loaded(job.payload))


def progress(job: Job) -> str:
    """Return `62%`, `18 done` or an empty text."""
    if job.done is None:
        return ""
    return f"{100 * job.done / job.total:.0f}%" if job.total else f"{job.done:g} done"

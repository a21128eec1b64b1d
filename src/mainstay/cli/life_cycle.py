"""The life of jobs as lines of JSON on stdout: `mainstay worker --events`. One line for each step, for programs that collect logs."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from ..core.clock import iso
from ..core.states import CANCELLED, COMPLETED, DEAD, QUEUED, REVIEW, SCHEDULED
from .output import dumped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..app import Mainstay
    from ..control.records import Discrepancy
    from ..core.decide import Transition
    from ..core.job import Claimed
    from ..stores.results import Orphan

# What is told of an attempt that left its job in a state; others are told by their outcome.
ENDS = {COMPLETED: "completed", DEAD: "dead", CANCELLED: "cancelled", REVIEW: "review"}


class LifeCycle:
    """Writes what happens to the jobs of an application: queued, claimed, started, completed, failed, …, reclaimed."""

    def __init__(self, app: Mainstay) -> None:
        self._app, self._lock = app, threading.Lock()
        for name in ("enqueued", "claimed", "started", "stored", "swept", "discrepancy"):
            app.events.on(name, getattr(self, f"_{name}"))

    def _enqueued(self, ids: Iterable[str]) -> None:
        self._write([{"event": "queued", "job": job} for job in ids])

    def _claimed(self, jobs: Sequence[Claimed]) -> None:
        self._write([{"event": "claimed", **_of(job)} for job in jobs])

    def _started(self, job: Claimed) -> None:
        self._write([{"event": "started", **_of(job)}])

    def _stored(self, transitions: Iterable[Transition]) -> None:
        self._write([line for each in transitions for line in _ended(each)])

    def _swept(self, orphans: Iterable[Orphan]) -> None:
        self._write([{"event": "reclaimed", **_of(each.job), "from": each.worker} for each in orphans])

    def _discrepancy(self, found: Discrepancy) -> None:
        about = {"job": found.id, "type": found.type, "subject": found.subject, "kind": found.kind, "text": found.text}
        self._write([{"event": "discrepancy", **about}])

    def _write(self, lines: list[dict[str, Any]]) -> None:
        at = iso(self._app.clock.now())
        text = "".join(f"{dumped({'at': at, **line})}\n" for line in lines)
        with self._lock:
            sys.stdout.write(text)
            sys.stdout.flush()


def _of(job: Claimed) -> dict[str, Any]:
    return {"job": job.id, "type": job.type, "queue": job.queue, "attempt": job.attempt, "worker": job.worker}


def _ended(each: Transition) -> list[dict[str, Any]]:
    """Return the lines about a stored transition: how its attempt ended, and which jobs it has enqueued."""
    told = {
        "job": each.id, "type": each.type, "attempt": each.number, "worker": each.worker, "ms": max(each.at - each.started_at, 0),
        "error": each.error, "code": each.code, "reason": each.reason,
    }  # fmt: skip
    name = ENDS.get(each.state) or ("failed" if each.error is not None else each.outcome)
    if each.state in (QUEUED, SCHEDULED) and each.run_at is not None:
        told["next"] = iso(each.run_at)
    children = [{"event": "queued", "job": child.id, "type": child.type, "parent": each.id} for child in each.children]
    return [{"event": name, **{field: value for field, value in told.items() if value is not None}}, *children]

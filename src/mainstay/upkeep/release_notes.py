"""What becomes of the jobs of a stopped worker whose handlers nothing could stop: a note in the store, for the sweep.

Such a job stays `running` until its handler or its process ends, so that no other attempt runs beside it. When the process
has ended, the sweep reads here that the worker did not crash.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..core.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..stores.contract import Store

PREFIX = "released by "
MOST = 10_000  # settings that are looked at


def write(store: Store, worker: str, outcomes: Mapping[str, Outcome]) -> None:
    """Store the outcome of each job, by its id, for the case that the worker's process ends before the handler."""
    store.set_setting(_name(worker), json.dumps({job: outcome[:-1] for job, outcome in outcomes.items()}))


def read(store: Store, worker: str) -> dict[str, Outcome]:
    """Return the outcomes by job id; empty for a worker that left no note: its jobs crashed with it."""
    text = store.setting(_name(worker))
    return {job: Outcome(*fields) for job, fields in json.loads(text).items()} if text else {}


def remove(store: Store, worker: str) -> None:
    """Remove the note, after what it says is stored."""
    store.set_setting(_name(worker), None)


def forget(store: Store) -> None:
    """Remove the notes of workers that are gone and hold no job: no sweep reads those."""
    live = {worker.id for worker in store.workers()}
    for name, *_ in store.export_rows("settings", None, MOST).rows:
        worker = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and worker not in live and not store.claimed_by(worker):
            remove(store, worker)


def _name(worker: str) -> str:
    return PREFIX + worker

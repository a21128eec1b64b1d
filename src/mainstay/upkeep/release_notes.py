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


def _name(worker: str) -> str:
    return f"released by {worker}"

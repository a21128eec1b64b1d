"""Notes of stopped workers about the jobs of handlers that nothing could stop."""

from mainstay.core.outcome import RELEASED
from mainstay.upkeep import release_notes


def test_notes_of_workers_that_are_gone_and_hold_no_job_are_removed(desk):
    """Such a worker has ended between its note and the end of its process, and no sweep has anything to free."""
    desk.join("holds")
    job = desk.run(worker="holds")
    for worker in ("holds", "lives", "gone"):
        desk.join(worker) if worker == "lives" else None
        release_notes.write(desk.store, worker, {job.id: RELEASED})
    desk.store.deregister("holds")
    release_notes.forget(desk.store)
    assert [release_notes.read(desk.store, worker) for worker in ("holds", "lives", "gone")] == [
        {job.id: RELEASED}, {job.id: RELEASED}, {},
    ]  # fmt: skip

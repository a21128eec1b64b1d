"""B09: a handler that lets no other thread of its process run for three leases. Never two completions."""

from tests.waiting import eventually
from tests.worker.conftest import ended, terminate

LEASE = 1.0


def completions(jobs, handle):
    """Return the tokens under which the job was completed, as the event `stored` gives them."""
    return handle.result(timeout=30), handle.job().token


def test_alone_it_loses_its_lease_and_its_late_result_is_refused(jobs, start_worker, journal):
    handle = jobs.holds_the_gil.enqueue(3 * LEASE)
    start_worker(lease=LEASE)
    journal.wait("started 1")
    with jobs.app.worker(lease=LEASE):  # idle beside it; takes over when the lease has run out
        assert completions(jobs, handle) == (2, 2)
        journal.wait("ended 1")
        eventually(lambda: len(jobs.app.store.workers()) == 2, "the first worker to rejoin")
        again = jobs.whoami.options(tags=["after"]).enqueue()
        assert again.result(timeout=30)
    assert completions(jobs, handle) == (2, 2)
    assert [(tried.number, tried.outcome) for tried in jobs.app.attempts(handle.id)] == [
        (1, "failed"),  # no crash: its process lives, as its lock tells
        (2, "completed"),
    ]


def test_under_a_supervisor_it_keeps_its_lease(jobs, start_supervisor, journal):
    handle = jobs.holds_the_gil.enqueue(3 * LEASE)
    supervisor = start_supervisor(lease=LEASE)
    journal.wait("started 1")
    (before,) = jobs.app.store.workers()
    with jobs.app.worker(lease=LEASE):
        assert completions(jobs, handle) == (1, 1)
    assert journal.lines("started") == [journal.lines("started 1")[0]]
    assert [worker.id for worker in jobs.app.store.workers()] == [before.id]
    terminate(supervisor)
    assert ended(supervisor) == (0, "")


def test_a_beat_that_was_held_up_does_not_shorten_the_lease_that_the_supervisor_renewed(jobs):
    worker, store = jobs.app.worker(lease=LEASE), jobs.app.store
    worker.registration.register()
    (joined,) = store.workers()
    assert store.renew(worker.id, joined.beat_at + 900, 1_000).alive  # the supervisor's
    assert store.renew(worker.id, joined.beat_at + 100, 1_000).alive  # the worker's own, from before it lost the GIL
    (renewed,) = store.workers()
    assert renewed.expires_at == joined.beat_at + 1_900
    store.deregister(worker.id)

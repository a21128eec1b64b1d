"""A job whose row somebody's open transaction holds: it waits for its outcome, and nothing else waits with it."""

import time

import psycopg
import pytest

from mainstay.core.outcome import COMPLETED
from mainstay.stores import open_store
from mainstay.stores.postgres.connect import parse_url
from tests.contract.building import FAILED, Desk, log, transition

pytestmark = pytest.mark.engines("postgres")
PATIENCE = 2.0  # seconds that a batch waits for a lock, here


@pytest.fixture
def desk(url, clock):
    """A desk that waits less long for locks than is usual."""
    join = "&" if "?" in url else "?"
    with open_store(f"{url}{join}options=-c%20lock_timeout%3D{PATIENCE}s", clock) as store:
        yield Desk(store, clock)


@pytest.fixture
def hold(url, desk):
    """Holds the row of a job as an UPDATE does, in a transaction that does not end until told to."""
    connection = psycopg.connect(**parse_url(url)[0])

    def holding(job):
        connection.execute(
            f'SELECT 1 FROM "{desk.store.db.dialect.schema}".job WHERE seq = %s FOR NO KEY UPDATE', (job.seq,)
        )
        return connection

    with connection:
        yield holding


@pytest.mark.parametrize("outcome", [COMPLETED, COMPLETED._replace(result="1"), FAILED])
def test_what_somebody_holds_waits_and_the_rest_goes_on(desk, hold, outcome):
    held, other = desk.run(), desk.run()
    waiting = [desk.add(), desk.add()]
    blocker = hold(held)
    outcomes = [transition(held, outcome, desk.now), transition(other, outcome, desk.now)]
    claims = desk.claim(1, finishing=outcomes)
    assert (claims.verdicts, [job.id for job in claims.jobs]) == (["busy", "stored"], waiting[:1])

    started = time.monotonic()  # from here on nobody waits for it
    claims = desk.claim(1, finishing=outcomes[:1])
    assert (claims.verdicts, [job.id for job in claims.jobs]) == (["busy"], waiting[1:])
    assert desk.store.finish(outcomes[:1]) == ["busy"]
    assert time.monotonic() - started < PATIENCE

    blocker.rollback()
    assert desk.claim(1, finishing=outcomes[:1]).verdicts == ["stored"]
    assert desk.state(held.id) == desk.state(other.id) != "running"


def test_what_the_holder_gives_to_another_is_no_longer_ours(desk, hold):
    job = desk.run()
    blocker = hold(job)
    assert desk.end(job) == "busy"
    blocker.execute(f'UPDATE "{desk.store.db.dialect.schema}".job SET token = token + 1 WHERE seq = %s', (job.seq,))
    blocker.commit()
    assert desk.end(job) == "lost"


def test_a_note_of_a_job_that_somebody_holds_is_written(desk, hold):
    job = desk.run()
    hold(job)
    assert desk.store.finish([transition(job, COMPLETED, desk.now)], [log(job)]) == ["busy"]
    assert [line.message for line in desk.store.logs(job.id, 0, 9)] == ["hello"]

"""PostgreSQL by way of pgbouncer in transaction mode: where the machine has it, everything works as without."""

import psycopg
import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.outcome import COMPLETED
from mainstay.stores import open_store
from tests.contract import crowd
from tests.contract.building import WORKER, Desk, draft, transition
from tests.contract.invariants import check, every
from tests.servers import pgbouncer, postgres
from tests.servers.engines import postgres_server
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(not pgbouncer.PROGRAM, reason="pgbouncer: this machine has none in its PATH")


@pytest.fixture(scope="module")
def pooler():
    with pgbouncer.PgBouncer(postgres_server("18").port) as pooler:
        yield pooler


@pytest.fixture
def desk(pooler):
    clock = ManualClock()
    with postgres.schema(pooler.url()) as url, open_store(url, clock) as store:
        yield Desk(store, clock)
        check(store, clock.now())


def test_a_job_goes_its_way(desk):
    job = desk.run(tags=("a",), key="k", lock="work:k")
    assert desk.end(job, COMPLETED._replace(result="1")) == "stored"
    assert (desk.state(job.id), desk.store.result(job.id)) == ("completed", "1")


def test_sessions_that_change_hands_lose_nothing(desk):
    """More threads than the pooler has sessions, so that none keeps its own; each statement comes often enough to be prepared."""
    ids = {job for job, _ in desk.store.enqueue([draft() for _ in range(400)], desk.now)}
    answers = crowd.threads(6, crowd.drain, desk.store, desk.now)
    assert sorted(job for answer in answers for job in answer) == sorted(ids)
    assert {job.state for job in every(desk.store, desk.now)} == {"completed"}


def test_a_row_that_somebody_holds_delays_that_job_alone(desk, pooler):
    """The pooler passes no settings on, so the wait for a lock is limited with every round."""
    held, other = desk.run(), desk.run()
    waiting = desk.add()
    outcomes = [transition(job, COMPLETED, desk.now) for job in (held, other)]
    with psycopg.connect(pooler.url()) as blocker:
        blocker.execute(f'SELECT 1 FROM "{desk.store.db.dialect.schema}".job WHERE seq = {held.seq} FOR NO KEY UPDATE')
        claims = desk.claim(1, finishing=outcomes)
        assert (claims.verdicts, [job.id for job in claims.jobs]) == (["busy", "stored"], [waiting])
    assert desk.end(held) == "stored"


def test_a_bell_that_cannot_listen_there_finds_out_by_asking(desk):
    bell = desk.store.notifier(WORKER)
    try:
        while bell.wait(50):
            pass
        desk.add()
        eventually(lambda: bell.wait(200) == "jobs", "the bell rings all the same")
    finally:
        bell.close()

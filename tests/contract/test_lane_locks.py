"""What a claim locks on PostgreSQL, and jobs that arrive in lanes that were read before."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from mainstay.stores.postgres.connect import parse_url
from tests.contract.building import draft
from tests.waiting import eventually

QUEUES, TYPES = ["urgent", "default", "slow"], ["a", "b", "c", "d", "e"]
FEW = dict.fromkeys(QUEUES, TYPES[:3])  # lanes that a claim reads all
MANY = {queue: [*TYPES[:3], *(f"t{n}" for n in range(200))] for queue in QUEUES}  # lanes of which most are empty
UNLIKE = {"urgent": ["a", *MANY["urgent"][3:]], "default": ["b", "c"], "slow": []}
WANTS = {"one": {queue: ["a"] * (queue == "urgent") for queue in QUEUES}, "few": FEW, "many": MANY, "unlike": UNLIKE}


@pytest.fixture(params=WANTS)
def wants(request):
    return WANTS[request.param]


def test_jobs_that_come_while_a_worker_claims_are_found(desk, wants):
    for _ in range(3):
        job_id = desk.add("a", queue="urgent")
        assert [job.id for job in desk.take(3, wants=wants)] == [job_id]
        desk.clock.advance("300ms")


@pytest.mark.engines("postgres")
@pytest.mark.parametrize("wanted", ["one", "few", "many"])
def test_jobs_that_another_claimer_has_locked_are_passed_over(desk, url, wanted):
    """Locked are the jobs that both would take first: the other one does not wait, and gets as many as it asked for."""
    ids = [job_id for job_id, _ in desk.store.enqueue([draft("a", queue="urgent") for _ in range(40)], desk.now)]
    with psycopg.connect(**parse_url(url)[0]) as other:
        schema = desk.store.db.dialect.schema
        other.execute(f'SELECT seq FROM "{schema}".job ORDER BY seq LIMIT 30 FOR NO KEY UPDATE')
        assert [job.id for job in desk.take(5, wants=WANTS[wanted])] == ids[30:35]


@pytest.mark.engines("postgres")
@pytest.mark.parametrize("wanted", ["one", "few", "many"])
def test_a_claim_locks_no_more_jobs_than_it_takes(desk, url, wanted):
    """A job that it locked and left would be passed over by another claimer, which then goes to sleep."""
    desk.store.enqueue([draft(type, queue=queue) for queue in QUEUES for type in TYPES for _ in range(5)], desk.now)
    desk.take(4, wants=WANTS[wanted])
    with psycopg.connect(**parse_url(url)[0]) as other:
        waiting = f'SELECT count(*) FROM "{desk.store.db.dialect.schema}".job WHERE state = $$queued$$'
        assert other.execute(f"{waiting} AND xmax <> $$0$$").fetchone() == (0,)  # that is, no transaction has locked it
        assert other.execute(waiting).fetchone() == (71,)


@pytest.mark.engines("postgres")
def test_lanes_whose_jobs_others_have_locked_do_not_hide_the_rest(desk, url):
    types = [f"t{n:03}" for n in range(90)]
    ids = [job_id for job_id, _ in desk.store.enqueue([draft(type) for type in types], desk.now)]
    with psycopg.connect(**parse_url(url)[0]) as other:
        other.execute(f'SELECT seq FROM "{desk.store.db.dialect.schema}".job ORDER BY seq LIMIT 80 FOR NO KEY UPDATE')
        assert [job.id for job in desk.take(3, wants={"default": types})] == ids[80:83]


@pytest.mark.engines("postgres")
def test_a_deleted_job_leaves_nothing_of_an_update_that_is_being_written(desk, url):
    """The update has locked the job and inserted a line; the delete waits for its end and removes the line too."""
    job = desk.run()
    schema = desk.store.db.dialect.schema
    with psycopg.connect(**parse_url(url)[0]) as other:
        other.execute(f'SELECT seq FROM "{schema}".job WHERE seq = %s FOR KEY SHARE', [job.seq])
        other.execute(f'INSERT INTO "{schema}".log VALUES (%s, 1, 1, 1, $$info$$, NULL, $$late$$, NULL)', [job.seq])
        desk.end(job)
        with ThreadPoolExecutor(1) as pool:
            deleted = pool.submit(desk.store.delete, [job.id], desk.now, "me")
            eventually(lambda: waiting_for_a_lock(url), "the delete waits")
            other.commit()
            assert deleted.result(10) == {job.id: "deleted"}
        assert other.execute(f'SELECT count(*) FROM "{schema}".log').fetchone() == (0,)


def waiting_for_a_lock(url):
    with psycopg.connect(**parse_url(url)[0]) as third:
        text = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = $$Lock$$ AND query LIKE $$DELETE%$$"
        return third.execute(text).fetchone() is not None

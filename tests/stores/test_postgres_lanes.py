"""The cursors of claims: what was claimed is not read again, and no job that goes back to an old place is left behind."""

import psycopg
import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.job import Claimed
from mainstay.core.outcome import COMPLETED, RELEASED
from mainstay.stores import open_store
from mainstay.stores.postgres import lanes
from mainstay.stores.postgres.lanes import FRONT, SLACK, ClaimCursors
from tests.contract.building import WORKER, Desk, draft, transition
from tests.servers import postgres
from tests.servers.engines import postgres_server
from tests.waiting import eventually

NOW = 1_000_000
LANE, OTHER = ("default", "work"), ("default", "other")


def job(seq, ord, lane=LANE):
    """A claimed job, as far as a cursor reads it."""
    return Claimed(*[None] * len(Claimed._fields))._replace(seq=seq, ord=ord, rank=0, queue=lane[0], type=lane[1])


@pytest.fixture
def cursors():
    cursors = ClaimCursors()
    cursors.starts([LANE], NOW)
    return cursors


def test_without_a_cursor_a_lane_is_read_from_the_front():
    assert ClaimCursors().starts([LANE, OTHER], NOW) == [FRONT, FRONT]


def test_the_next_claim_begins_where_the_last_ended(cursors):
    cursors.note([LANE], [job(1, 5), job(2, 7)], True, NOW)
    assert cursors.starts([LANE, OTHER], NOW) == [(0, 7, 2), FRONT]


def test_each_lane_has_a_cursor_of_its_own(cursors):
    cursors.note([LANE, OTHER], [job(1, 5), job(2, 6, OTHER), job(3, 7)], True, NOW)
    assert cursors.starts([LANE, OTHER], NOW) == [(0, 7, 3), (0, 6, 2)]


def test_a_recent_cursor_leaves_room_for_clocks_that_differ(cursors):
    cursors.note([LANE], [job(1, NOW)], True, NOW)
    assert cursors.starts([LANE], NOW) == [(0, NOW - SLACK, 0)]


def test_a_lane_that_a_full_claim_did_not_reach_is_read_from_the_front(cursors):
    cursors.note([LANE, OTHER], [job(1, 5)], True, NOW)
    assert cursors.starts([LANE, OTHER], NOW) == [(0, 5, 1), FRONT]


def test_a_lane_in_which_nothing_was_found_is_read_from_now_on(cursors):
    cursors.note([LANE, OTHER], [job(1, 5)], False, NOW)
    assert cursors.starts([OTHER], NOW + SLACK + 1) == [(0, NOW, 0)]


@pytest.fixture
def server():
    return postgres_server("18")


@pytest.fixture
def url(server):
    with postgres.schema(server.url()) as url:
        yield url


@pytest.fixture
def desk(url):
    clock = ManualClock()
    with open_store(url, clock) as store:
        yield Desk(store, clock)


def test_a_job_that_another_process_releases_is_found_though_the_cursor_is_beyond_it(url, desk):
    first = desk.add()
    desk.clock.advance("10s")
    desk.join()
    old = desk.take_this(first)
    for _ in range(3):
        desk.clock.advance("1s")
        desk.take_this(desk.add())
    with open_store(url, desk.clock) as other:
        other.finish([transition(old, RELEASED, desk.now)])
    assert eventually(lambda: desk.take(9), "the claim from the front")[0].id == first


@pytest.mark.parametrize("claim", ["claim", "claim_lane"])
def test_an_old_transaction_does_not_make_claims_read_what_was_claimed(server, desk, monkeypatch, claim):
    """The index entries of claimed jobs cannot be removed while it is open; a claim must not read them all again."""
    monkeypatch.setattr(lanes, "WHOLE", 600.0)
    with psycopg.connect(server.url(), autocommit=False) as old:
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT 1 FROM pg_class LIMIT 1")
        for _ in range(30):
            desk.store.enqueue([draft() for _ in range(100)], desk.now)
            desk.clock.advance("100ms")
            desk.join()
            desk.store.finish([transition(job, COMPLETED, desk.now) for job in desk.take(100)])
        whole, along = reads(desk, claim, fresh=True), reads(desk, claim, fresh=False)
    assert whole > 100  # what it would be from the front: this test can fail
    assert along < whole / 3


def reads(desk, name, fresh):
    """Return how many pages a claim reads, from the front or from its cursor."""
    cursors = ClaimCursors() if fresh else desk.store.cursors
    (start,) = cursors.starts([LANE], desk.now)
    places = {"priorities": [start.priority], "ords": [start.ord], "seqs": [start.seq]}
    claim = desk.store.dialect.statement(
        name,
        worker=WORKER,
        now=desk.now,
        limit=1,
        places=[0],
        queues=["default"],
        types=["work"],
        ruled=False,
        **places,
    )
    with desk.store.db.checkout() as wire:
        text = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) " + claim.text
        plan = wire.connection.execute(text, claim.values).fetchone()[0][0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.mark.parametrize("claim", ["claim", "claim_lane"])
def test_jobs_of_types_that_a_worker_lacks_are_not_read(desk, claim):
    desk.add()
    few = reads(desk, claim, fresh=True)
    desk.store.enqueue([draft("foreign", priority=9) for _ in range(5_000)], desk.now)
    desk.add()
    assert reads(desk, claim, fresh=True) <= few + 3  # the index has a level more

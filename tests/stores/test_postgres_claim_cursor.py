"""The trail of claims: what was taken is not walked over again, and nothing that goes back to an old place is left behind."""

import psycopg
import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.outcome import COMPLETED, RELEASED
from mainstay.stores import open_store
from mainstay.stores.postgres.claim_cursor import NOWHERE, SLACK, ClaimCursors
from tests.contract.building import Desk, draft, transition
from tests.servers import postgres
from tests.servers.engines import postgres_server
from tests.waiting import eventually

NOW = 1_000_000
TYPES = ["work"]


def row(seq, ord, priority=0, queue="default"):
    """A claimed job, as far as a trail looks at it."""
    return (seq, "", "", queue, *[None] * 11, -priority, ord, None)


def test_without_a_trail_all_is_walked():
    assert ClaimCursors().starts(["a", "b"], TYPES, NOW) == [NOWHERE, NOWHERE]


def test_an_old_end_is_where_the_next_claim_begins():
    trail = ClaimCursors()
    trail.starts(["default"], TYPES, NOW)
    trail.note(["default"], TYPES, [row(1, 5), row(2, 7)], True, NOW)
    assert trail.starts(["default"], TYPES, NOW) == [(0, 7, 2)]
    assert trail.starts(["default"], ["other"], NOW) == [NOWHERE]


def test_a_young_end_leaves_room_for_clocks_that_differ():
    trail = ClaimCursors()
    trail.starts(["default"], TYPES, NOW)
    trail.note(["default"], TYPES, [row(1, NOW)], True, NOW)
    assert trail.starts(["default"], TYPES, NOW) == [(0, NOW - SLACK, 0)]


def test_a_queue_that_a_full_claim_did_not_reach_is_walked_whole():
    trail = ClaimCursors()
    trail.starts(["a", "b"], TYPES, NOW)
    trail.note(["a", "b"], TYPES, [row(1, 5, queue="a")], True, NOW)
    assert trail.starts(["a", "b"], TYPES, NOW) == [(0, 5, 1), NOWHERE]


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


def test_a_job_that_another_process_hands_back_is_found_though_the_trail_is_beyond_it(url, desk):
    first = desk.add()
    desk.clock.advance("10s")
    desk.join()
    old = desk.take_this(first)
    for _ in range(3):
        desk.clock.advance("1s")
        desk.take_this(desk.add())
    with open_store(url, desk.clock) as other:
        other.finish([transition(old, RELEASED, desk.now)])
    assert eventually(lambda: desk.take(9), "the walk from the front")[0].id == first


@pytest.mark.parametrize("jobs", [3_000])
def test_an_old_transaction_does_not_make_claims_walk_over_what_was_taken(server, desk, url, jobs):
    """The entries of taken jobs cannot be removed while it is open; a claim must not read them all, again and again."""
    with psycopg.connect(server.url(), autocommit=False) as old:
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT 1 FROM pg_class LIMIT 1")
        for _ in range(jobs // 100):
            desk.store.enqueue([draft() for _ in range(100)], desk.now)
            desk.clock.advance("100ms")
            desk.join()
            desk.store.finish([transition(job, COMPLETED, desk.now) for job in desk.take(100)])
        whole, along = reads(desk, fresh=True), reads(desk, fresh=False)
    assert whole > 100  # what it would be from the front: this test can fail
    assert along < whole / 3


def reads(desk, fresh):
    """How many pages a claim looks at, from the front or along the trail."""
    trail = ClaimCursors() if fresh else desk.store._cursors
    (start,) = trail.starts(["default"], TYPES, desk.now)
    values = ("w-first", desk.now, ["default"], TYPES, 1, *([number] for number in start))
    text = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) " + desk.store.db.load("claim")
    with desk.store.db.checkout() as wire:
        plan = wire.connection.execute(text, values).fetchone()[0][0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

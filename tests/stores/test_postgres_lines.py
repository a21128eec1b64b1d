"""Slots that are given back while another transaction examines lines: nobody waits for it, and no slot is lost."""

from contextlib import contextmanager

import psycopg
import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.outcome import COMPLETED
from mainstay.stores import open_store
from mainstay.stores.turns import FULL
from tests.contract.building import Desk, draft, transition
from tests.contract.ruled import limited, send, states
from tests.servers import postgres

pytestmark = pytest.mark.engines("postgres")
KEYS = [f"k{n}" for n in range(FULL)]


@pytest.fixture
def desk(engine_url):
    clock = ManualClock()
    with open_store(engine_url, clock) as store:
        yield Desk(store, clock)


@contextmanager
def examining(desk, url):
    """Another transaction that has the lock and has taken what was kept; it ends with the block, and lets nobody in."""
    with psycopg.connect(postgres.place(url)[0], cursor_factory=psycopg.RawCursor) as connection:
        for statement in (desk.store.dialect.statement("admit_lock", now=desk.now),
                          desk.store.dialect.statement("freed_take", limit=9)):  # fmt: skip
            connection.execute(statement.text, statement.values)
        yield


def jobs_in_line(desk, others):
    """Running jobs of some keys, the ids of those in line at their slots, and some that may start."""
    ids = send(desk, *(limited(key) for key in KEYS * 2))
    send(desk, *(draft() for _ in range(others)))
    return desk.take(FULL), ids[FULL:]


def finish(desk, jobs, limit=FULL):
    """A claim that brings the outcomes of jobs."""
    return desk.claim(limit, finishing=[transition(job, COMPLETED, desk.now) for job in jobs])


def test_a_full_claim_does_not_wait_for_another_that_examines(desk, engine_url):
    running, waiting = jobs_in_line(desk, 2 * FULL)
    with examining(desk, engine_url):
        assert len(finish(desk, running).jobs) == FULL
        assert states(desk, *waiting) == "b" * FULL
    assert len(finish(desk, [], 50).jobs) == 2 * FULL
    assert states(desk, *waiting) == "r" * FULL


def test_a_slot_that_is_freed_while_another_examines_keeps_its_own_row(desk, engine_url):
    running, waiting = jobs_in_line(desk, 4 * FULL)
    with examining(desk, engine_url):
        finish(desk, running[:4])
        finish(desk, running[4:])
    desk.store.admit(desk.now, 100)
    assert states(desk, *waiting) == "q" * FULL


def test_lines_are_read_by_one_statement_that_decides_about_single_limits(desk, engine_url):
    """What it leaves goes back to where it was."""
    running, waiting = jobs_in_line(desk, 2 * FULL)
    with examining(desk, engine_url):
        finish(desk, running)
    place, schema = postgres.place(engine_url)
    with psycopg.connect(place, cursor_factory=psycopg.RawCursor) as connection:
        more = """'{"breaker":[0.5,4,1],' || substr(rules, 2)"""
        connection.execute(f"UPDATE {schema}.job SET rules = {more} WHERE waits LIKE '%k0'")
        for name, values in (("admit_try", {}), ("admit_lines", {"limit": 9, "most": 9})):
            statement = desk.store.dialect.statement(name, **values)
            left = connection.execute(statement.text, statement.values).fetchone()
    assert left == (1,)
    assert states(desk, *waiting) == "b" + "q" * (FULL - 1)
    desk.take(50)
    assert states(desk, *waiting) == "r" * FULL

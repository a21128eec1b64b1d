"""Slots that are given back while another transaction examines lines: nobody waits for it, and no slot is lost."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.outcome import COMPLETED
from mainstay.stores import open_store
from mainstay.stores.postgres.wire import Wire
from mainstay.stores.turns import FULL, TURN
from tests.contract.building import WORKER, Desk, draft, transition
from tests.contract.ruled import Operator, held, limited, send, states
from tests.servers import postgres
from tests.waiting import eventually

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
    desk.clock.advance("1s")
    desk.store.admit(desk.now, 100)
    assert states(desk, *waiting) == "q" * FULL


def test_the_chore_leaves_kept_slots_to_claims_and_finds_others(desk, engine_url):
    """Claims take jobs in line directly; the chore would queue them first."""
    running, waiting = jobs_in_line(desk, 4 * FULL)
    with examining(desk, engine_url):
        finish(desk, running)
    desk.store.admit(desk.now, 100)
    assert states(desk, *waiting) == "b" * FULL
    place, schema = postgres.place(engine_url)
    with psycopg.connect(place) as connection:
        connection.execute(f"DELETE FROM {schema}.freed")
    desk.store.admit(desk.now, 100)
    assert states(desk, *waiting) == "q" * FULL


@contextmanager
def waiting_claim(desk, url, jobs):
    """A claim that brings the outcomes of jobs, and that met another at its last turn: it waits for that one until the end of the block."""
    with ThreadPoolExecutor(1) as thread, examining(desk, url):
        more = finish(desk, jobs[:1]).jobs
        desk.clock.move_to(desk.now + TURN)
        yield lambda *ended: thread.submit(finish, desk, [*ended, *more]), more


@pytest.mark.parametrize("pooled", [False, True])
def test_a_claim_that_met_another_at_the_last_turn_stores_outcomes_and_waits_in_one_trip(
    desk, engine_url, monkeypatch, pooled
):
    desk.store.db.pooled = pooled
    running, waiting = jobs_in_line(desk, FULL)
    sent, send = [], Wire.send
    with waiting_claim(desk, engine_url, running) as (claim, _):
        monkeypatch.setattr(Wire, "send", lambda wire, statements: sent.append(statements) or send(wire, statements))
        claims = claim(*running[1:])
        eventually(lambda: desk.state(running[1].id) == "completed", "the outcomes")
    assert order(desk, claims.result().jobs) == waiting
    assert {*claims.result().verdicts} == {"stored"}
    assert len([statements for statements in sent if len(statements) > 1]) == 1


def test_a_claim_that_met_another_stores_outcomes_that_take_several_trips_before_it_waits(desk, engine_url):
    running, waiting = jobs_in_line(desk, FULL)
    with waiting_claim(desk, engine_url, running) as (claim, more):
        claims = claim(*more)  # each is named twice
        eventually(lambda: desk.state(more[0].id) == "completed", "the outcomes")
    assert order(desk, claims.result().jobs) == waiting[:1]


def test_lines_are_read_by_one_statement_that_decides_about_single_limits(desk, engine_url):
    """What it leaves goes back to where it was."""
    running, waiting = jobs_in_line(desk, 2 * FULL)
    with examining(desk, engine_url):
        finish(desk, running)
    place, schema = postgres.place(engine_url)
    with psycopg.connect(place, cursor_factory=psycopg.RawCursor) as connection:
        more = """'{"breaker":[0.5,4,1],' || substr(rules, 2)"""
        connection.execute(f"UPDATE {schema}.job SET rules = {more} WHERE waits LIKE '%k0'")
        for name, values in (
            ("admit_try", {}),
            ("admit_lines", {"lines": 9, "most": 9, "enough": 9, "heads": 9, "row": 9}),
        ):
            statement = desk.store.dialect.statement(name, **values)
            left = connection.execute(statement.text, statement.values).fetchone()
    assert left == (1,)
    assert states(desk, *waiting) == "b" + "q" * (FULL - 1)
    desk.take(50)
    assert states(desk, *waiting) == "r" * FULL


@contextmanager
def moves(url):
    """Which states jobs come from and go to, while the block runs, in the order of the rows' changes."""
    place, schema = postgres.place(url)
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(f"""
            CREATE TABLE {schema}.move (n serial, was text, became text);
            CREATE FUNCTION {schema}.note() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO {schema}.move (was, became) VALUES (OLD.state, NEW.state); RETURN NULL; END';
            CREATE TRIGGER note AFTER UPDATE ON {schema}.job FOR EACH ROW EXECUTE FUNCTION {schema}.note()
        """)
        seen = []
        yield seen
        seen += connection.execute(f"SELECT was, became FROM {schema}.move ORDER BY n").fetchall()


def order(desk, jobs):
    """The ids of claimed jobs, which a claim returns in their order."""
    return [job.id for job in jobs]


def test_a_claim_takes_the_first_jobs_in_line_without_queueing_them(desk, engine_url):
    running, waiting = jobs_in_line(desk, 0)
    with moves(engine_url) as seen:
        assert order(desk, finish(desk, running).jobs) == waiting
    assert set(seen) == {("running", "completed"), ("blocked", "running")}
    assert {job.token for job in desk.store.claimed_by(WORKER)} == {1}
    assert len(held(desk)) == FULL


def test_jobs_in_line_come_among_those_of_the_lanes_by_priority_and_order(desk):
    send(desk, *(limited(key) for key in KEYS))
    running = desk.take(FULL)
    high, low = send(desk, limited(KEYS[0], priority=1), limited(KEYS[1]))
    late = send(desk, draft(priority=2), *(draft() for _ in range(FULL - 3)), draft(priority=-1))
    taken = finish(desk, running)
    assert order(desk, taken.jobs) == [late[0], high, low, *late[1:-1]]
    assert desk.state(late[-1]) == "queued"


def test_jobs_in_line_that_come_after_those_of_the_lanes_stay_there(desk):
    running, waiting = jobs_in_line(desk, 0)
    first = send(desk, *(draft(priority=1) for _ in range(FULL)))
    assert order(desk, finish(desk, running).jobs) == first
    assert states(desk, *waiting) == "b" * FULL
    assert order(desk, desk.take(2 * FULL)) == waiting


def test_a_claim_takes_no_more_lines_than_it_needs(desk, engine_url):
    """The slots of the others stay kept, a hundred a row."""
    keys = [f"k{n}" for n in range(150)]
    ids = send(desk, *(limited(key) for key in keys * 2))
    running = desk.take(len(keys))
    assert order(desk, finish(desk, running).jobs) == ids[150 : 150 + FULL]
    place, schema = postgres.place(engine_url)
    with psycopg.connect(place) as connection:
        rows = connection.execute(f"SELECT cardinality(slots) FROM {schema}.freed").fetchall()
    assert sum(n for (n,) in rows) == 150 - FULL + 1
    assert max(rows) <= (100,)
    assert sorted(order(desk, desk.take(200))) == sorted(ids[150 + FULL :])


def test_slots_that_were_kept_longest_come_first_wherever_their_rows_lie(desk, engine_url):
    """What a claim leaves is kept again, behind all others: so each line is looked at, however many there are."""
    keys = [f"k{n:02}" for n in range(6 * FULL)]
    waiting = send(desk, *(limited(key) for key in keys * 2))[len(keys) :]
    assert len(desk.take(len(keys))) == len(keys)
    place, schema = postgres.place(engine_url)
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(f"DELETE FROM {schema}.hold")
        for at in range(0, len(keys), 2 * FULL):
            slots = [f"mail\n{key}" for key in keys[at : at + 2 * FULL]]
            connection.execute(f"INSERT INTO {schema}.freed VALUES (%s, %s)", [slots, [1] * len(slots)])
        for at in (0, 2 * FULL, 4 * FULL, FULL):
            assert order(desk, desk.take(FULL)) == waiting[at : at + FULL]
            connection.execute(f"VACUUM {schema}.freed")  # the next row takes the first place


def test_a_job_in_line_that_another_worker_has_to_run_is_queued(desk):
    running, _ = jobs_in_line(desk, 0)
    other, mine = send(desk, limited(KEYS[0], type="other", priority=1), limited(KEYS[1], priority=1))
    assert mine in order(desk, finish(desk, running).jobs)
    assert desk.state(other) == "queued"
    assert held(desk)[f"mail\n{KEYS[0]}"] == (1, 1)


def test_a_job_in_line_that_a_transaction_has_locked_is_passed_over(desk, engine_url):
    running, waiting = jobs_in_line(desk, 0)
    (second,) = send(desk, limited(KEYS[0]))
    place, schema = postgres.place(engine_url)
    with psycopg.connect(place) as connection:
        connection.execute(f"SELECT FROM {schema}.job WHERE waits LIKE '%k0' ORDER BY seq LIMIT 1 FOR UPDATE")
        assert order(desk, finish(desk, running).jobs) == [*waiting[1:], second]
    assert states(desk, waiting[0]) == "b"


def test_an_outcome_leaves_lines_to_the_next_claim_if_the_last_was_filled_from_lines(desk):
    keys = [f"k{n}" for n in range(3 * FULL)]
    ids = send(desk, *(limited(key) for key in keys * 2))
    running = desk.take(3 * FULL)
    assert len(finish(desk, running[: 2 * FULL]).jobs) == FULL
    left = running[2 * FULL :]
    desk.store.finish([transition(job, COMPLETED, desk.now) for job in left[1:]])
    assert states(desk, *ids[3 * FULL + FULL :]) == "b" * 2 * FULL
    desk.clock.move_to(desk.now + TURN)
    desk.store.finish([transition(left[0], COMPLETED, desk.now)])
    assert states(desk, *ids[3 * FULL + FULL :]) == "q" * 2 * FULL


@pytest.mark.parametrize("verb", ["enqueue", "admit"])
def test_lines_of_many_keys_take_no_more_trips_than_one(desk, monkeypatch, verb):
    Operator(desk).set("limit", "mail", set={"running": 1})
    sent, send_ = [], Wire.send
    monkeypatch.setattr(Wire, "send", lambda wire, statements: sent.append(statements) or send_(wire, statements))
    counts = []
    for keys in (["one"], KEYS):
        send(desk, *(limited(key) for key in keys))
        sent.clear()
        if verb == "enqueue":
            send(desk, *(limited(key) for key in keys))
        else:
            desk.store.lowered = ("", "")  # from the first limit on
            desk.store.admit(desk.now, 100)
        counts.append(sum(any(".hold" in each.text for each in statements) for statements in sent))
    assert counts[1] <= counts[0]

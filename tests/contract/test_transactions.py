"""Jobs in the caller's own transaction: they come with its commit, vanish with its rollback, and what cannot be is said."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from mainstay.core.errors import DuplicateKey, LeaseLost, StoreBusy, TransactionUnsupported
from mainstay.core.outcome import COMPLETED, RELEASED
from mainstay.stores import open_store, outbox
from tests.contract.building import draft, keyed, transition
from tests.contract.invariants import check

DICTS = lambda cursor, row: {column[0]: value for column, value in zip(cursor.description, row, strict=True)}  # noqa: E731


pytestmark = pytest.mark.engines("sqlite")  # these are the transactions of a sqlite3 connection to the store's file


@pytest.fixture
def path(store, tmp_path):
    """The file of the store."""
    store.types()
    return tmp_path / "jobs.db"


@pytest.fixture
def own(path):
    """The caller's own connection, with a table of its own beside ours."""
    with closing(sqlite3.connect(path, timeout=5)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        yield connection


def orders(own):
    return own.execute("SELECT count(*) FROM orders").fetchone()[0]


# enqueue ----------------------------------------------------------------------------------------------------------
def test_a_commit_shows_the_job_and_not_before(desk, own):
    own.execute("INSERT INTO orders VALUES (1)")
    ((job, created),) = outbox.run(desk.store, own, lambda verbs: verbs.enqueue([draft(tags=("x",))], desk.now))
    assert created
    assert desk.store.get(job) is None
    own.commit()
    assert desk.state(job) == "queued"
    assert desk.take_this(job).payload == "{}"


def test_a_rollback_leaves_nothing(desk, own):
    own.execute("INSERT INTO orders VALUES (1)")
    ((job, _),) = outbox.run(
        desk.store, own, lambda verbs: verbs.enqueue([draft(tags=("x",), key="k", lock="work:k")], desk.now)
    )
    own.rollback()
    assert desk.store.get(job) is None
    assert orders(own) == 0
    assert desk.store.enqueue([keyed("k")], desk.now)[0][1] is True


def test_many_jobs_in_one_transaction(desk, own):
    answers = outbox.run(desk.store, own, lambda verbs: verbs.enqueue([draft() for _ in range(500)], desk.now))
    own.commit()
    assert {job.id for job in desk.take(999)} == {job for job, _ in answers}


@pytest.mark.parametrize("given", [{}, {"isolation_level": "IMMEDIATE"}, {"isolation_level": "EXCLUSIVE"}])
def test_a_connection_that_opens_its_transactions_itself(desk, path, given):
    """Nothing was written yet: the enqueue opens the transaction, and the caller's commit ends it."""
    with closing(sqlite3.connect(path, **given)) as own:
        ((job, _),) = outbox.run(desk.store, own, lambda verbs: verbs.enqueue([draft()], desk.now))
        assert own.in_transaction
        assert desk.store.get(job) is None
        own.commit()
    assert desk.state(job) == "queued"


def test_a_transaction_that_the_caller_opened_by_hand(desk, path):
    with closing(sqlite3.connect(path, isolation_level=None)) as own:
        own.execute("BEGIN IMMEDIATE")
        ((job, _),) = outbox.run(desk.store, own, lambda verbs: verbs.enqueue([draft()], desk.now))
        own.execute("COMMIT")
    assert desk.state(job) == "queued"


def test_as_a_context_manager(desk, own):
    lost, kept = draft(), draft()

    def both():
        with own:
            outbox.run(desk.store, own, lambda verbs: verbs.enqueue([lost], desk.now))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        both()
    with own:
        outbox.run(desk.store, own, lambda verbs: verbs.enqueue([kept], desk.now))
    assert (desk.store.get(lost.id), desk.state(kept.id)) == (None, "queued")


@pytest.mark.parametrize("rows", [sqlite3.Row, DICTS])
@pytest.mark.parametrize("texts", [str, bytes])
def test_the_callers_way_to_read_rows_is_neither_used_nor_changed(desk, own, rows, texts):
    first = desk.send(keyed("k"))
    own.row_factory, own.text_factory = rows, texts
    assert outbox.run(desk.store, own, lambda verbs: verbs.enqueue([keyed("k")], desk.now)) == [(first, False)]
    assert (own.row_factory, own.text_factory) == (rows, texts)


def test_a_refused_batch_leaves_nothing_of_it_in_the_transaction(desk, own):
    desk.send(keyed("taken"))
    own.execute("INSERT INTO orders VALUES (1)")
    drafts = [draft(), keyed("taken", on_conflict="raise")]
    with pytest.raises(DuplicateKey):
        outbox.run(desk.store, own, lambda verbs: verbs.enqueue(drafts, desk.now))
    own.commit()
    assert (desk.store.get(drafts[0].id), orders(own)) == (None, 1)


def test_the_numbers_of_the_callers_rows_are_not_taken_for_ours(desk, own):
    """A batch of which the first is there already: the last number that the connection gave is the caller's."""
    drafts = [draft() for _ in range(20)]
    desk.store.enqueue(drafts[:1], desk.now)
    own.execute("INSERT INTO orders VALUES (?)", (2**63 - 5,))
    assert outbox.run(desk.store, own, lambda verbs: verbs.enqueue(drafts, desk.now)) == [
        (each.id, True) for each in drafts
    ]
    own.commit()
    desk.send(draft())
    assert len(numbers := {job.seq for job in desk.take(99)}) == 21
    assert max(numbers) < 1_000


def test_a_refusal_leaves_no_transaction_open_that_was_not(desk, own):
    desk.send(keyed("taken"))
    with pytest.raises(DuplicateKey):
        outbox.run(desk.store, own, lambda verbs: verbs.enqueue([keyed("taken", on_conflict="raise")], desk.now))
    assert not own.in_transaction


def test_the_first_job_ever_in_a_file_whose_write_lock_the_caller_holds(tmp_path, clock):
    """The user's file, new to mainstay: its tables come with the same commit, or go with the same rollback."""
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as own, open_store(f"sqlite:///{path}", clock) as store:
        own.execute("CREATE TABLE orders (id INTEGER)")
        own.execute("INSERT INTO orders VALUES (1)")
        outbox.run(store, own, lambda verbs: verbs.enqueue([draft()], clock.now()))
        own.rollback()
        own.execute("INSERT INTO orders VALUES (1)")
        ((job, _),) = outbox.run(store, own, lambda verbs: verbs.enqueue([draft()], clock.now()))
        own.commit()
        assert store.get(job).state == "queued"
        assert store.diagnostics()["journal"] == "wal"
        check(store, clock.now())


def test_another_that_holds_the_write_lock_is_named_as_such(desk, path):
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        closing(sqlite3.connect(path, timeout=0)) as own,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            outbox.run(desk.store, own, lambda verbs: verbs.enqueue([draft()], desk.now))
        other.execute("ROLLBACK")


# complete ---------------------------------------------------------------------------------------------------------
def test_a_job_completes_with_the_callers_commit(desk, own):
    job = desk.run()
    child = draft("child")
    own.execute("INSERT INTO orders VALUES (1)")
    outcome = COMPLETED._replace(result='"done"', children=(child,))
    outbox.finish(desk.store, own, transition(job, outcome, desk.now))
    assert desk.state(job.id) == "running"
    own.commit()
    assert (desk.state(job.id), desk.store.result(job.id), orders(own)) == ("completed", '"done"', 1)
    assert desk.state(child.id) == "queued"


def test_a_rollback_leaves_the_job_running(desk, own):
    job = desk.run()
    own.execute("INSERT INTO orders VALUES (1)")
    outbox.finish(desk.store, own, transition(job, COMPLETED._replace(result='"done"'), desk.now))
    own.rollback()
    assert (desk.state(job.id), desk.store.result(job.id), orders(own)) == ("running", None, 0)


def test_b02_an_attempt_that_lost_its_job_cannot_commit_its_effects(desk, own):
    old = desk.run()
    desk.end(old, RELEASED)
    desk.take_this(old.id)

    def both():
        with own:
            own.execute("INSERT INTO orders VALUES (1)")
            outbox.finish(desk.store, own, transition(old, COMPLETED, desk.now))

    with pytest.raises(LeaseLost, match=old.id):
        both()
    assert (desk.state(old.id), orders(own)) == ("running", 0)


def test_a_completed_job_is_not_completed_again(desk, own):
    job = desk.run()
    outbox.finish(desk.store, own, transition(job, COMPLETED, desk.now))
    with pytest.raises(LeaseLost):
        outbox.finish(desk.store, own, transition(job, COMPLETED, desk.now))
    own.commit()
    with pytest.raises(LeaseLost):
        outbox.finish(desk.store, own, transition(job, COMPLETED, desk.now))


# what cannot be ---------------------------------------------------------------------------------------------------
def refused(desk, tx, words):
    """Both verbs refuse this connection, in words that say why."""
    job = desk.run()
    with pytest.raises(TransactionUnsupported, match=words):
        outbox.run(desk.store, tx, lambda verbs: verbs.enqueue([draft()], desk.now))
    with pytest.raises(TransactionUnsupported, match=words):
        outbox.finish(desk.store, tx, transition(job, COMPLETED, desk.now))
    assert desk.state(job.id) == "running"


def test_a_connection_to_another_file(desk, path, tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as own:
        refused(desk, own, "another database")
    with closing(sqlite3.connect(":memory:")) as own:
        refused(desk, own, "another database")


def test_a_connection_without_a_transaction(desk, path):
    with closing(sqlite3.connect(path, isolation_level=None)) as own:
        refused(desk, own, "BEGIN IMMEDIATE")


@pytest.mark.skipif(not hasattr(sqlite3, "LEGACY_TRANSACTION_CONTROL"), reason="autocommit= came with Python 3.12")
def test_a_connection_that_commits_every_statement(desk, path):
    with closing(sqlite3.connect(path, autocommit=True)) as own:
        refused(desk, own, "BEGIN IMMEDIATE")
        own.execute("BEGIN")
        outbox.run(desk.store, own, lambda verbs: verbs.enqueue([draft()], desk.now))
        own.execute("ROLLBACK")
    with closing(sqlite3.connect(path, autocommit=False)) as own:
        outbox.run(desk.store, own, lambda verbs: verbs.enqueue([draft()], desk.now))
        own.commit()


def test_a_closed_connection(desk, own):
    own.close()
    refused(desk, own, "closed")


@pytest.mark.parametrize("tx", ["sqlite:///jobs.db", 7, object()])
def test_what_is_not_a_connection(desk, path, tx):
    refused(desk, tx, f"tx={type(tx).__name__}.*sqlite3.Connection")


def test_a_connection_of_another_thread(desk, path):
    with ThreadPoolExecutor(1) as thread:
        own = thread.submit(sqlite3.connect, path).result()
        refused(desk, own, "thread")
        thread.submit(own.close).result()


@pytest.mark.engines("memory")
def test_a_store_in_memory(desk):
    with closing(sqlite3.connect(":memory:")) as own:
        refused(desk, own, "memory")

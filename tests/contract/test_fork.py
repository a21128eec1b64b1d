"""Forks: a child opens its own connections, keeps no lock of its parent's, and harms nothing when it ends."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.contract.building import draft

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# Forking is done in a fresh interpreter: the test runner's own threads have no business in it.
BEFORE = """
import os, sys, threading
from mainstay.core.errors import StoreUnavailable
from mainstay.core.clock import ManualClock
from mainstay.stores import open_store
from mainstay.stores.sqlite import connect
from tests.contract.building import draft, worker, transition
from tests.contract.invariants import check

url, now = sys.argv[1], int(sys.argv[2])
store = open_store(url, ManualClock(now))

def forked(work):
    '''Run `work` in a child that ends as Python programs end, with all their objects; answers its exit code.'''
    pid = os.fork()
    if pid == 0:
        work()
        sys.exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def writing(rows):
    '''Have another thread in the middle of a write, with much of it in the log already; answers how to end it.'''
    inside, go = threading.Event(), threading.Event()
    def write(connection):
        connection.execute("PRAGMA cache_size = 10")
        line = "INSERT INTO mainstay_action (at, actor, action, detail) VALUES (1, 'a', 'a', ?)"
        connection.executemany(line, [('"' + "x" * 500 + '"',)] * rows)
        inside.set()
        go.wait(30)
    connect.FORK_WAIT = 0.01  # as if the write took longer than a fork waits for it
    writer = threading.Thread(target=store.db.write, args=[write])
    writer.start()
    assert inside.wait(30)
    return lambda: (go.set(), writer.join(), setattr(connect, 'FORK_WAIT', 10.0))
"""


@pytest.fixture
def program(shared, clock):
    """Run a program on the store in an interpreter of its own; fails with what it said."""

    def run(body):
        code = BEFORE + textwrap.dedent(body)
        command = [sys.executable, "-W", "ignore::ResourceWarning", "-c", code, shared, str(clock.now())]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def test_b67_a_child_opens_its_own_connections(store, program):
    """The same store object before and after the fork, in both; every job of everyone is there."""
    ids = program("""
        mine = store.enqueue([draft()], now)[0][0]
        store.find("", 1)
        def child():
            print(store.enqueue([draft()], now)[0][0], flush=True)
            assert store.get(mine) is not None
        assert forked(child) == 0
        print(mine, store.enqueue([draft()], now)[0][0])
        check(store, now)
    """)
    assert sorted(job.id for job in store.get_many(ids)) == sorted(ids)
    assert len(ids) == 3


@pytest.mark.engines("sqlite")
def test_b67_a_child_has_a_connection_to_the_file_that_its_parent_has_not(program):
    program("""
        store.enqueue([draft()], now)
        before = id(store.db._writer)
        def child():
            store.enqueue([draft()], now)
            assert id(store.db._writer) != before
        assert forked(child) == 0
    """)


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_b67_a_fork_while_other_threads_use_the_store(program):
    """Whatever connection, lock or import those threads hold at that moment, the child gets its own and waits for none."""
    program("""
        import signal
        over = threading.Event()
        def produce():
            while not over.is_set():
                store.enqueue([draft()], now)
                store.find("", 1)
        crowd = [threading.Thread(target=produce) for _ in range(3)]
        for thread in crowd: thread.start()
        def child():
            signal.alarm(20)
            assert len(store.enqueue([draft(), draft()], now)) == 2
            store.find("", 1)
        codes = [forked(child) for _ in range(6)]
        over.set()
        for thread in crowd: thread.join()
        assert codes == [0] * 6, codes
        check(store, now)
    """)


@pytest.mark.engines("sqlite")
def test_b67_a_fork_waits_for_reads(program):
    """SQLite has locks for all connections of a process, which a read takes again and again: the child would wait for ever."""
    program("""
        store.enqueue([draft()], now)
        inside, go, ended = threading.Event(), threading.Event(), []
        def read(connection):
            inside.set()
            go.wait(30)
            count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) FROM n"
            ended.append(connection.execute(count).fetchone())
        reader = threading.Thread(target=store.db.read, args=[read])
        reader.start()
        assert inside.wait(30)
        os.register_at_fork(before=go.set)  # the last hook is called first
        def child():
            assert ended == [(300_000,)], ended
            store.find("", 1)
        assert forked(child) == 0
        reader.join()
        store.find("", 1)
    """)


# A module whose import goes on until a test lets it end; a child does not wait.
IMPORTING = """
    store.enqueue([draft()], now)
    os.mkdir(folder := url.removeprefix("sqlite:///") + "-modules")
    with open(folder + "/slow.py", "w") as file:
        file.write("import slow_part, __main__ as main; main.inside.set(); main.go.wait(main.patience)")
        file.write("; sum(1 for _ in range(10**6)); done = True")  # others come in between
    open(folder + "/slow_part.py", "w").close()
    sys.path.insert(0, folder)
    inside, go, patience = threading.Event(), threading.Event(), 30
    importer = threading.Thread(target=__import__, args=["slow"])
    importer.start()
    assert inside.wait(30)
"""


@pytest.mark.engines("sqlite")  # it is the same code for all engines
def test_b67_a_fork_waits_for_imports(program):
    program(
        IMPORTING
        + """
    os.register_at_fork(before=go.set)
    def child():
        before = sys.modules["slow"]
        import slow
        assert slow is before and slow.done
    assert forked(child) == 0
    importer.join()
    """
    )


@pytest.mark.engines("sqlite")
def test_b67_a_child_begins_anew_an_import_that_took_longer_than_the_fork_waits(program):
    program(
        IMPORTING
        + """
    from mainstay.stores import fork
    fork.IMPORT_WAIT = 0.01
    def child():
        import signal
        global patience
        patience = 0
        signal.alarm(20)
        import slow, slow_part
        assert slow.done
        store.find("", 1)
    assert forked(child) == 0
    go.set()
    importer.join()
    assert sys.modules["slow"].done
    """
    )


@pytest.mark.engines("sqlite")
def test_b67_a_child_that_ends_takes_no_lock_of_its_parent_with_it(program):
    """The parent is in the middle of a large write while children come and go: nobody else may write meanwhile."""
    program("""
        import sqlite3
        store.enqueue([draft()], now)
        store.find("", 1)
        stop = writing(5_000)
        for _ in range(3):
            assert forked(lambda: store.find("", 1)) == 0
            assert forked(lambda: None) == 0
        def intruder():
            other = sqlite3.connect(store.db.path, timeout=0)
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                assert "locked" in str(error)
            else:
                raise AssertionError("the parent's write lock is gone")
        assert forked(intruder) == 0
        stop()
        assert len(store.actions(None, 10_000)) == 5_000
        check(store, now)
    """)


def test_b67_grandchildren_are_children_too(program):
    program("""
        store.enqueue([draft()], now)
        def child():
            store.enqueue([draft()], now)
            def grandchild():
                store.enqueue([draft()], now)
                assert len(store.find("", 9)) == 3
            assert forked(grandchild) == 0
            store.enqueue([draft()], now)
        assert forked(child) == 0
        store.enqueue([draft()], now)
        assert len(store.find("", 9)) == 5
        check(store, now)
    """)


@pytest.mark.engines("sqlite")
def test_b67_a_fork_in_the_middle_of_another_threads_write(program):
    """The lock was held by a thread that the child does not have: the child must not wait for it."""
    program("""
        store.enqueue([draft()], now)
        stop = writing(1)
        assert forked(lambda: store.find("", 1)) == 0
        def refused():
            try:
                store.enqueue([draft()], now)
            except StoreUnavailable as error:
                assert "forked" in str(error)
            else:
                raise AssertionError("SQLite's own lock of the parent is gone")
        assert forked(refused) == 0
        stop()
        assert forked(lambda: store.enqueue([draft()], now)) == 0
        assert len(store.find("", 9)) == 2
    """)


@pytest.mark.engines("sqlite")  # elsewhere a worker's death is told by its lease alone
def test_a_worker_is_not_kept_alive_by_its_children(store, program, clock):
    """A child that outlives the worker must not hold the life sign: the worker's death is seen at once."""
    program("""
        store.register(worker("parent", now, 10**9))
        store.enqueue([draft()], now)
        (job,) = store.claim("parent", {"default": ["work"]}, 1, now).jobs
        pid = os.fork()
        if pid == 0:
            os.close(0); os.close(1); os.close(2)  # nobody waits for us
            import signal, select
            signal.alarm(30)
            select.select([], [], [], 30)
        os._exit(0)  # as if killed: nothing is released
    """)
    assert len(store.orphans(clock.now(), 60_000, 9)) == 1


def test_ids_of_parent_and_child_differ(program):
    ids = program("""
        for _ in range(5): draft()
        store.enqueue([draft()], now)
        def child():
            print(*[job for job, _ in store.enqueue([draft() for _ in range(50)], now)], flush=True)
        assert forked(child) == 0
        print(*[job for job, _ in store.enqueue([draft() for _ in range(50)], now)])
    """)
    assert len(set(ids)) == 100


def test_the_parent_goes_on_after_a_child_was_forked(desk, shared):
    """Here, in the test's own process: whatever the children of the tests above did, this store is as it was."""
    job = desk.send(draft())
    assert desk.take_this(job)

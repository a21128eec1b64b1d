"""Signals: an exception that a signal handler raises, at whatever moment, leaves the store usable by everybody.

Python runs a handler at the beginning of a Python function and after a call of a C function. A profile function that raises
there does the same, at each of these places in turn.
"""

import sys
import threading
from itertools import count

import pytest

from mainstay.core.errors import StoreError
from tests.contract.building import WORKER, draft


@pytest.fixture(autouse=True)
def closed_late(monkeypatch):
    """What is cut off between opening something and entering its block is closed by the garbage collector, which says so."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)


class Interrupted(BaseException):
    """As KeyboardInterrupt, but nobody else's."""


def interrupted(call, place):
    """Make a call, interrupted at the given place; return False if it ended before."""
    left = place

    def strike(frame, event, _function):
        nonlocal left
        if event in ("call", "c_return") and frame.f_code is not interrupted.__code__:
            left -= 1
            if left == 0:
                raise Interrupted

    sys.setprofile(strike)
    try:
        call()
    except Interrupted:
        pass
    finally:
        sys.setprofile(None)
    return left <= 0


def usable(store, another, now):
    """Both a thread of this process and another program write at once; return the id of the thread's job."""
    done = []
    thread = threading.Thread(target=lambda: done.append(store.enqueue([draft()], now)), daemon=True)
    thread.start()
    thread.join(30)
    assert done, "another thread waits for a lock that nobody holds"
    another.set_setting("usable", "yes")
    return done[0][0][0]


def survives(call, store, another, now):
    """Interrupt a call at each of its places in turn; of a long one, at some of the later. No id is given twice."""
    accepted = set()
    for place in (*range(1, 60), *range(60, 10_000, 9)):
        if not interrupted(call, place):
            return place
        job = usable(store, another, now)
        assert job not in accepted
        accepted.add(job)
    raise AssertionError


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_an_interrupted_enqueue_holds_no_lock_and_no_transaction(store, another, clock):
    store.enqueue([draft()], clock.now())
    later = count(clock.now())  # each millisecond begins a new sequence of ids
    assert survives(lambda: store.enqueue([draft()], next(later)), store, another, clock.now()) > 10


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_an_interrupted_claim_holds_no_lock_and_no_transaction(desk, another):
    desk.run()  # an interrupted import is begun again each time, and pytest's rewriting of a module has 10,000 places and more
    now = desk.now

    def claim():
        desk.store.claim(WORKER, {"default": ["work"]}, 2, now)

    assert survives(claim, desk.store, another, now) > 10


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_an_interrupted_read_holds_no_lock(store, another, clock):
    (job, _), *_ = store.enqueue([draft()], clock.now())
    assert survives(lambda: store.get(job), store, another, clock.now()) > 10


@pytest.mark.engines("sqlite")
def test_an_interrupted_first_use_leaves_a_file_that_opens(tmp_path, clock, another):
    from mainstay.stores import open_store

    for place in count(1, 17):
        with open_store(f"sqlite:///{tmp_path}/{place}.db", clock) as fresh:
            if not interrupted(lambda: fresh.enqueue([draft()], clock.now()), place):
                return
            usable(fresh, another, clock.now())


@pytest.mark.engines("sqlite")
def test_a_signal_handler_that_writes_ends_no_transaction_of_the_code_that_it_interrupted(store, clock):
    def work(connection):
        connection.execute("INSERT INTO mainstay_setting (name, value) VALUES ('outer', '1')")
        with pytest.raises(StoreError, match="signal handler"):
            store.set_setting("inner", "1")

    store.db.write(work)
    assert (store.setting("outer"), store.setting("inner")) == ("1", None)

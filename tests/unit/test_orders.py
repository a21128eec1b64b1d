"""Orders to a worker that has its process to itself."""

import threading
from queue import SimpleQueue

import pytest

from mainstay import Mainstay
from mainstay.worker.pipes import Writer
from mainstay.worker.shutdown import DRAIN, LONGEST_REPLACE, NOW, REPLACE, STOP, stop_on_order
from mainstay.worker.worker_process import serve


class Stopping:
    """A worker whose handlers end when it is told to stop now."""

    grace = 10

    def __init__(self):
        self.limits, self.now, self.told = [], threading.Event(), threading.Event()
        self.slots, self.asked = self, False

    def ask_to_stop(self):
        self.asked = True

    def stop(self, grace, drain):
        self.limits.append("drain" if drain else grace)
        self.told.set()
        self.now.wait(20)

    def stop_now(self):
        self.now.set()


@pytest.mark.parametrize(("first", "limit"), [(STOP, None), (NOW, 0), (REPLACE, LONGEST_REPLACE), (DRAIN, "drain")])
def test_handlers_have_the_time_that_the_order_gives_them(first, limit):
    """A handler that is stuck has its process replaced; the others must not lose their work for it."""
    worker, orders = Stopping(), SimpleQueue()
    orders.put(first)
    worker.now.set()
    stop_on_order(worker, orders)
    assert worker.limits == [limit]


@pytest.mark.parametrize("first", [DRAIN, REPLACE])
@pytest.mark.parametrize("next_order", [STOP, NOW])
def test_an_order_to_stop_cuts_a_drain_short(first, next_order):
    worker, orders = Stopping(), SimpleQueue()
    orders.put(first)
    thread = threading.Thread(target=stop_on_order, args=(worker, orders))
    thread.start()
    assert worker.told.wait(20)
    orders.put(next_order)
    thread.join(20)
    assert worker.now.is_set()
    assert worker.asked == (next_order == STOP)


def test_a_worker_that_is_told_to_stop_while_it_loads_claims_nothing(tmp_path):
    orders = SimpleQueue()
    orders.put(STOP)
    app = Mainstay(f"sqlite:///{tmp_path}/jobs.db")
    started = []
    app.job(name="work")(lambda: started.append(1))
    handle = app.enqueue("work")
    serve(app.worker(), Writer(-1), orders)
    assert (handle.state, handle.job().token, started, app.store.workers()) == ("queued", 0, [], [])
    app.close()

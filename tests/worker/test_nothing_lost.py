"""No job stays running while its worker lives, wherever an exception comes between a claim and the storing of an outcome."""

import os
import signal
import threading
from contextlib import closing, suppress

import pytest

from mainstay import Mainstay
from mainstay.context import current
from mainstay.core.outcome import COMPLETED
from mainstay.worker import outcome_buffer, worker as worker_module
from mainstay.worker.in_flight import Execution
from mainstay.worker.listener import SlotOffers
from tests.unit.test_decide import claimed
from tests.waiting import eventually


@pytest.fixture
def app(tmp_path):
    with closing(Mainstay(f"sqlite:///{tmp_path}/jobs.db")) as app:

        @app.job
        def work(n: int) -> None:
            pass

        yield app


def once(error):
    """Returns a function that raises the error when it is called first."""
    errors = [error]

    def act():
        if errors:
            raise errors.pop()

    return act


def run_all(app, worker, count=5):
    """Run so many jobs to their ends."""
    handles = [app.enqueue("work", {"n": n}) for n in range(count)]
    with worker:
        for each in handles:
            each.result(timeout="20s")


def test_jobs_start_that_were_claimed_with_outcomes_that_meet_a_bug(app, capsys):
    worker, fail = app.worker(concurrency=1, poll="50ms"), once(ValueError("a bug"))
    apply = worker.outcomes.apply_verdicts

    def broken(batch, verdicts):
        lost = apply(batch, verdicts)
        if batch:
            fail()
        return lost

    worker.outcomes.apply_verdicts = broken
    run_all(app, worker)
    assert "a bug" in capsys.readouterr().err


def test_jobs_start_whose_claim_met_a_bug_behind_its_commit(app, capsys):
    worker, fail = app.worker(poll="50ms"), once(ValueError("a bug"))
    claim = app.store.claim

    def broken(*given):
        found = claim(*given)
        if found.jobs:
            fail()
        return found

    app.store.claim = broken
    run_all(app, worker)
    assert "a bug" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["_excess", "start"])
def test_jobs_run_though_their_start_met_a_bug(app, part, capsys):
    worker, fail = app.worker(poll="50ms"), once(ValueError("a bug"))
    owner = worker.claimer if part == "_excess" else worker.slots
    whole = getattr(owner, part)

    def broken(*given):
        fail()
        return whole(*given)

    setattr(owner, part, broken)
    run_all(app, worker)
    assert "a bug" in capsys.readouterr().err


def test_an_outcome_stays_when_the_room_cannot_be_counted(app):
    worker, fail = app.worker(concurrency=1, poll="50ms"), once(ValueError("a bug"))
    room = worker.claimer._room

    def broken(now):
        if worker.in_flight.unstored and not worker.outcomes.pending:  # they were taken a moment ago
            fail()
        return room(now)

    worker.claimer._room = broken
    run_all(app, worker)


def test_an_attempt_has_not_ended_if_its_outcome_cannot_be_decided(monkeypatch):
    from tests.unit.test_outcome_buffer import empty, started

    in_flight = worker_module.InFlight()
    buffer = empty(in_flight)
    (execution,) = started(in_flight, "job")
    decide, fail = outcome_buffer.decide, once(ValueError("a bug"))
    monkeypatch.setattr(outcome_buffer, "decide", lambda *given: fail() or decide(*given))
    with pytest.raises(ValueError, match="a bug"):
        buffer.add(execution, worker_module.RELEASED)
    assert buffer.add(execution, worker_module.RELEASED)


def test_a_reply_that_is_missing_is_remembered_while_an_offer_is_closed():
    class Meanwhile(SlotOffers):
        """The claimer finds that a reply is missing, just after the listener has looked."""

        missing, looked = False, False

        @property
        def uncertain(self):
            before = self.missing
            if not self.looked:
                self.looked = self.missing = True
            return before

        @uncertain.setter
        def uncertain(self, value):
            self.missing = value

    offers = Meanwhile({}, bool, int)
    offers.close(replied=True)
    assert offers.missing


def test_a_mark_is_given_back_once_though_two_threads_end_the_job(app):
    """A second time would give one place to two jobs, and the end of one would hide that the other has started."""
    slots = app.worker().slots
    execution = Execution(claimed(), None, 0)
    execution.mark = 5
    slots._in_flight.add([execution])
    ended = []

    class Meanwhile:
        def end(self, mark):
            ended.append(mark)
            if len(ended) == 1:  # as the other thread does in this moment
                slots.end(execution, COMPLETED)

    slots._registration.started_jobs = Meanwhile()
    slots.end(execution, COMPLETED)
    assert ended == [5]


# stopping ----------------------------------------------------------------------------------------------------------------
def test_ctrl_c_during_a_stop_cuts_it_short_and_loses_nothing(app):
    begun = threading.Event()

    @app.job
    def waits() -> None:
        begun.set()
        eventually(lambda: worker._in_a_hurry, "the second Ctrl-C", 20)

    handle = waits.enqueue()
    worker = app.worker(grace="60s")
    app.events.on("worker_stopping", lambda worker: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), worker:
        assert begun.wait(10)
    eventually(lambda: not worker.services, "the end of the worker", 20)
    assert app.get(handle).state == "completed"
    assert not app.store.workers()


def test_of_two_that_stop_a_worker_at_once_one_does(app):
    worker, stopped = app.worker().start(), []
    app.events.on("worker_stopped", lambda worker: stopped.append(worker.id))
    both = threading.Barrier(2)

    class Both:
        """Lets two threads find that the worker was not stopped yet, where nothing keeps them apart."""

        def __bool__(self):
            with suppress(threading.BrokenBarrierError):
                both.wait(0.5)
            return False

    worker._stopped = Both()
    threads = [threading.Thread(target=worker.stop) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(20)
    assert stopped == [worker.id]


def test_a_worker_whose_start_is_interrupted_stops(app, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(worker_module, "reconcile_once", interrupted)
    worker = app.worker()
    with pytest.raises(KeyboardInterrupt), worker:
        pass
    assert not worker.services
    assert not app.store.workers()


def test_what_threads_of_a_handler_save_at_once_is_all_kept(app):
    @app.job
    def save() -> dict[str, int]:
        context, reading = current.get(), threading.Barrier(2)
        checkpoint = type(context).checkpoint

        def read(self):
            found = checkpoint.fget(self)
            with suppress(threading.BrokenBarrierError):
                reading.wait(0.5)  # both read before one saves, where nothing keeps them apart
            return found

        context.__class__ = type("Meanwhile", (type(context),), {"checkpoint": property(read)})
        threads = [threading.Thread(target=context.save, kwargs={name: 1}) for name in ("a", "b")]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return checkpoint.fget(context)

    with app.worker():
        assert save.enqueue().result(timeout="20s") == {"a": 1, "b": 1}

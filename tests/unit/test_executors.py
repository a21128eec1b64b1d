"""Executors go on, and every job ends, when a start or an end meets a bug, and when the system has no thread left."""

import asyncio
import threading
from queue import SimpleQueue

import pytest

from mainstay.core.outcome import COMPLETED, RELEASED, Outcome
from mainstay.worker import batch_runner, executors, runner
from mainstay.worker.batches import BatchExecution
from mainstay.worker.executors import Loop, Threads
from mainstay.worker.in_flight import Execution
from mainstay.worker.processes import ProcessSlots
from mainstay.worker.service import Service
from tests.unit.test_decide import claimed


class Type:
    """What a runner needs of a job type."""

    batch, version, name = None, 1, "t"

    def __init__(self, handler):
        self.handler = handler

    def arguments(self, payload, version):
        return {}


class Attempt:
    """What a runner needs of a context."""

    lines = cancelled_because = completed_in = None
    stopping, children = False, ()


class HangingTransaction:
    """An open transaction whose rollback lasts until it is interrupted."""

    in_transaction = True

    def __init__(self):
        self.begun = asyncio.Event()

    async def rollback(self):
        self.begun.set()
        await asyncio.Event().wait()


async def nothing():
    pass


class Ends:
    """Takes the outcomes; the first of each job meets a bug if it is told so."""

    def __init__(self, broken=()):
        self.outcomes, self._broken = SimpleQueue(), [*broken]

    def __call__(self, execution, outcome):
        if self._broken:
            raise self._broken.pop()
        self.outcomes.put((execution, outcome))
        return True

    def next(self):
        return self.outcomes.get(timeout=10)


def execution(handler=nothing):
    return Execution(claimed(), Type(handler), 0)


def begin(_):
    return Attempt()


@pytest.fixture(params=["threads", "loop"])
def executor(request):
    """Makes an executor with one slot."""
    made = []

    def make(begin, end):
        run = {"run": lambda execution, context: COMPLETED} if request.param == "threads" else {}
        made.append({"threads": Threads, "loop": Loop}[request.param](1, begin, end, **run))
        return made[0]

    yield make
    made[0].stop()


@pytest.mark.parametrize("error", [ValueError("a bug"), SystemExit(1), MemoryError()])
def test_a_job_ends_and_the_next_one_runs_when_a_start_meets_a_bug(executor, error, capsys):
    first, second, end = execution(), execution(), Ends()

    def begin(each):
        if each is first:
            raise error
        return Attempt()

    executor(begin, end).start([first, second])
    ended, outcome = end.next()
    assert (ended, outcome.kind, outcome.error.partition(":")[0]) == (first, "failed", type(error).__name__)
    assert end.next() == (second, COMPLETED)
    assert "the start or the end of a handler failed" in capsys.readouterr().err


def test_a_job_ends_and_the_next_one_runs_when_an_end_meets_a_bug(executor, capsys):
    first, second, end = execution(), execution(), Ends([ValueError("a bug")])
    executor(begin, end).start([first, second])
    ended, outcome = end.next()
    assert (ended, outcome.kind, outcome.error) == (first, "failed", "ValueError: a bug")
    assert end.next() == (second, COMPLETED)
    assert "a bug" in capsys.readouterr().err


def test_each_job_of_a_batch_ends_when_its_start_meets_a_bug(capsys):
    end = Ends()
    batch = BatchExecution(Type(nothing), 0, end)
    batch.members = [execution(), execution()]

    def begin(_):
        raise ValueError("a bug")

    Threads(1, begin, end).start([batch])
    assert [end.next()[0] for _ in batch.members] == batch.members
    assert "a bug" in capsys.readouterr().err


# no thread is left -------------------------------------------------------------------------------------------------------
@pytest.fixture
def exhausted(monkeypatch):
    """Lets no thread start until it is called."""

    def refuse(self):
        raise RuntimeError("can't start new thread")

    starts = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", refuse)
    return lambda: monkeypatch.setattr(threading.Thread, "start", starts)


def test_jobs_wait_for_the_next_try_to_start_a_thread(exhausted, capsys):
    end = Ends()
    threads = Threads(2, begin, end, lambda execution, context: COMPLETED)
    first, second = execution(), execution()
    threads.start([first])
    assert threads.lacking
    exhausted()
    threads.start([second])
    assert {end.next()[0], end.next()[0]} == {first, second}
    assert not threads.lacking
    threads.stop()
    assert "can't start new thread" in capsys.readouterr().err


def test_async_jobs_are_withdrawn_until_the_loop_can_be_started(exhausted, monkeypatch, capsys):
    monkeypatch.setattr(executors, "BLOCKED", -1.0)
    end = Ends()
    loop, waiting = Loop(1, begin, end), execution()
    loop.start([waiting])
    assert loop.blocked
    assert loop.withdraw() == [waiting]
    assert not loop.blocked
    exhausted()
    loop.start([waiting])
    assert end.next() == (waiting, COMPLETED)
    loop.stop()
    assert "can't start new thread" in capsys.readouterr().err


def test_a_process_slot_without_a_thread_takes_no_room(exhausted):
    slots = ProcessSlots(2, begin, Ends(), None)
    with pytest.raises(RuntimeError):
        slots.start([execution()])
    assert (slots.room, slots.threads, list(slots.jobs)) == (2, [], [])


# interrupted while the transaction is rolled back ------------------------------------------------------------------------
async def interrupted(arun, context):
    """The outcomes of a handler that is interrupted while its transaction is rolled back."""
    ended = []
    task = asyncio.create_task(arun(lambda execution, outcome: ended.append(outcome)))
    await asyncio.wait_for(context.completed_in.begun.wait(), 10)
    task.cancel()
    await asyncio.wait([task], timeout=10)
    return ended


def test_an_async_job_ends_though_it_is_interrupted_while_its_transaction_is_rolled_back():
    async def check():
        context = Attempt()
        context.completed_in = HangingTransaction()
        return await interrupted(lambda end: runner.arun(execution(), context, end), context)

    assert asyncio.run(check()) == [Outcome("completed in transaction")]


def test_an_async_batch_ends_though_it_is_interrupted_while_a_transaction_is_rolled_back():
    async def check():
        one, whole, ends = Attempt(), Attempt(), []
        one.completed_in = whole.completed_in = HangingTransaction()
        batch = BatchExecution(Type(nothing), 0, lambda execution, outcome: ends.append(outcome))
        batch.type.batch = type("B", (), {"parameter": "items"})
        whole.batch = (one,)
        outcomes = [RELEASED]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batch_runner, "_arguments", lambda batch, context: {})
            patch.setattr(batch_runner, "_outcomes", lambda *_: outcomes)
            batch.members = [execution()]
            told = await interrupted(lambda end: batch_runner.arun(batch, whole, end), whole)
        return ends, told

    assert asyncio.run(check()) == ([RELEASED], [COMPLETED])


# services ----------------------------------------------------------------------------------------------------------------
def test_a_service_goes_on_after_an_exit(monkeypatch):
    monkeypatch.setattr("mainstay.worker.service.AFTER_A_BUG", 0)
    calls, again, crashes = [], threading.Event(), []

    def step(now):
        calls.append(now)
        if len(calls) == 1:
            raise SystemExit(1)
        again.set()
        return 1_000

    service = Service("test", step, type("Clock", (), {"now": lambda self: 0})(), crashes.append)
    service.start()
    assert again.wait(10)
    service.stop()
    assert [type(each) for each in crashes] == [SystemExit]

"""The buffer keeps outcomes until the store has taken them, and acts on its verdicts."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from mainstay.core.clock import ManualClock, SystemClock
from mainstay.core.events import Events
from mainstay.core.log_lines import unpack
from mainstay.core.outcome import COMPLETED
from mainstay.core.updates import Checkpoint, Line, Log, LogLimits, Progress
from mainstay.core.verdict import ALREADY, BUSY, CANCELLING, LOST, STORED
from mainstay.job_log import JobLog
from mainstay.worker import outcome_buffer, update_buffer
from mainstay.worker.in_flight import Execution, InFlight
from mainstay.worker.outcome_buffer import OutcomeBuffer
from mainstay.worker.update_buffer import UpdateBuffer
from tests.unit.test_decide import claimed


@pytest.fixture
def in_flight():
    found = InFlight()
    found.add([Execution(claimed(id=name), None, 0) for name in ("first", "second")])
    return found


@pytest.fixture
def told():
    """The jobs that the event `stored` has named."""
    return []


@pytest.fixture
def buffer(in_flight, told):
    events = Events()
    events.on("stored", lambda transitions: told.extend(each.id for each in transitions))
    buffer = OutcomeBuffer(in_flight, ManualClock(), lambda: 0.0, events)
    for execution in in_flight:
        assert buffer.add(execution, COMPLETED)
    return buffer


def test_an_outcome_of_a_locked_job_is_kept_and_sent_again(buffer, in_flight, told):
    batch, _ = buffer.take()
    buffer.apply_verdicts(batch, [BUSY, STORED])
    assert (told, [execution.job.id for execution in in_flight]) == (["second"], ["first"])
    again, _ = buffer.take()
    assert again == batch[:1]
    buffer.apply_verdicts(again, [STORED])
    assert (told, len(in_flight), buffer.pending) == (["second", "first"], 0, 0)


@pytest.mark.parametrize("verdict", [ALREADY, STORED, LOST])
def test_what_is_stored_or_lost_is_forgotten(buffer, in_flight, told, verdict):
    batch, _ = buffer.take()
    buffer.apply_verdicts(batch, [verdict] * 2)
    assert (len(in_flight), buffer.pending, bool(told)) == (0, 0, verdict != LOST)


def test_what_was_cancelled_meanwhile_is_decided_again(buffer, in_flight, told):
    batch, _ = buffer.take()
    buffer.apply_verdicts(batch, [CANCELLING, STORED])
    ((execution, transition),), _ = buffer.take()
    assert (execution.job.id, transition.state, told) == ("first", "cancelled", ["second"])


def test_a_lost_lease_drops_an_older_attempt_at_the_same_job_too(in_flight):
    in_flight.add([Execution(claimed(id="first", token=9), None, 0)])
    assert sorted(execution.job.token for execution in in_flight.drop_all()) == [4, 4, 9]
    assert (in_flight.active, len(in_flight)) == (0, 0)


def test_a_late_reply_about_an_older_attempt_hides_no_newer_one(in_flight):
    """Else a later look at what the store counts as ours would start the newer one again."""
    newer, older = (Execution(claimed(id="again", token=token), None, 0) for token in (2, 1))
    in_flight.add([newer])
    in_flight.add([older])
    in_flight.remove([older])
    assert in_flight.find([("again", 2), ("again", 1)]) == {("again", 2): newer}


def test_an_attempt_ends_once(buffer, in_flight):
    execution = next(iter(in_flight))
    assert not buffer.add(execution, COMPLETED)
    assert (in_flight.active, in_flight.ended, buffer.pending) == (0, 2, 2)


# bounds --------------------------------------------------------------------------------------------------------------
def line(n, seq=1, message="line"):
    return Log(seq, 4, n, 7, "info", None, message, None)


def started(in_flight, *names):
    """Executions of jobs with these ids; their numbers are 1, 2, …"""
    found = [Execution(claimed(id=name, seq=seq), None, 0) for seq, name in enumerate(names, 1)]
    in_flight.add(found)
    return found


def empty(in_flight, pause=1.0):
    return OutcomeBuffer(in_flight, ManualClock(), lambda: 0.0, Events(), UpdateBuffer(pause))


def test_a_round_writes_a_bounded_number_of_outcomes_and_characters():
    in_flight = InFlight()
    buffer = empty(in_flight)
    for execution in started(in_flight, *map(str, range(30))):
        assert buffer.add(execution, COMPLETED._replace(result="x" * (1 << 20)))
    batch, _ = buffer.take()
    assert (len(batch), buffer.more, buffer.pending) == (8, True, 22)
    buffer.put_back(batch, [])
    assert len(buffer.take(1)[0]) == 4  # after a failure: half of it
    assert len(buffer.take(10)[0]) == 1


def test_outcomes_that_are_large_keep_the_worker_from_claiming():
    in_flight = InFlight()
    buffer = empty(in_flight)
    for execution in started(in_flight, *map(str, range(8))):
        assert buffer.add(execution, COMPLETED._replace(result="x" * (9 << 20)))
    assert buffer.full
    while buffer.pending:
        buffer.take()
    assert not buffer.full


def test_an_outcome_waits_until_all_updates_of_its_attempt_are_written():
    in_flight = InFlight()
    buffer = empty(in_flight, pause=0)
    chatty, quiet = started(in_flight, "chatty", "quiet")
    for n in range(2 * update_buffer.ROUND + 1):
        buffer.add_update(line(n))
    assert buffer.add(chatty, COMPLETED)
    assert buffer.add(quiet, COMPLETED)
    rounds = [buffer.take() for _ in range(3)]
    assert [[each.job.id for each, _ in batch] for batch, _ in rounds] == [["quiet"], [], ["chatty"]]
    assert [len(updates) for _, updates in rounds] == [update_buffer.ROUND, update_buffer.ROUND, 1]
    assert (buffer.more, buffer.pending) == (False, 0)


def test_long_lines_are_fewer_a_round():
    buffer = UpdateBuffer()
    for n in range(5):
        buffer.add(line(n, message="x" * (3 << 20 if n else 5 << 20)))
    assert [len(buffer.take()[0]) for _ in range(5)] == [1, 1, 1, 1, 1]


def test_who_reports_too_much_waits_for_the_store(monkeypatch):
    monkeypatch.setattr(update_buffer, "MANY", 10)
    buffer = UpdateBuffer(pause=60)
    with ThreadPoolExecutor(1) as thread:
        reports = thread.submit(lambda: [buffer.add(line(n)) for n in range(100)])
        found = []
        while len(found) < 100:
            assert len(buffer) <= 10
            found += buffer.take()[0]
        reports.result()
    assert [each.n for each in found] == list(range(100))


def test_on_an_event_loop_ten_times_as_much_is_taken_before_a_report_waits(monkeypatch):
    monkeypatch.setattr(update_buffer, "MANY", 10)
    buffer, waits = UpdateBuffer(), []
    monkeypatch.setattr(buffer._change, "wait", lambda seconds: bool(waits.append(seconds)))

    async def reports():
        for n in range(101):
            buffer.add(line(n))

    asyncio.run(reports())
    assert len(buffer) == 101
    assert waits
    assert max(waits) <= update_buffer.LOOP_PAUSE


def test_a_report_that_replaces_another_never_waits(monkeypatch):
    monkeypatch.setattr(update_buffer, "MANY", 10)
    buffer = UpdateBuffer()
    monkeypatch.setattr(buffer._change, "wait", lambda seconds: pytest.fail("it waits"))
    buffer.add(Progress(1, 4, 7, 1.0, None, None))
    for n in range(9):
        buffer.add(line(n))
    buffer.add(Progress(1, 4, 8, 2.0, None, None))
    assert (buffer.is_full(), len(buffer)) == (True, 10)


def test_of_progress_and_checkpoints_the_newest_is_kept():
    buffer = UpdateBuffer()
    old = [Progress(1, 4, 7, 1.0, None, None), Checkpoint(1, 4, 7, "1"), line(1)]
    for each in old:
        buffer.add(each)
    taken, _ = buffer.take()
    new = Progress(1, 4, 8, 2.0, None, None)
    buffer.add(new)
    buffer.put_back(taken)
    assert set(buffer.take()[0]) == {new, *old[1:]}


def test_threads_report_while_the_store_is_slow():
    """More than a batch waits; each report of progress goes through what waits."""
    buffer = empty(InFlight(), pause=0)
    for n in range(2 * outcome_buffer.BATCH):
        buffer.add_update(line(n))

    def report(seq):
        for n in range(300):
            buffer.add_update(Progress(seq, 4, n, float(n), None, None))
            buffer.add_update(line(n, seq))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(report, range(2, 10)))
    assert buffer.pending == 2 * outcome_buffer.BATCH + 8 * 301


# lines of attempts: handlers add while the claimer takes ---------------------------------------------------------------
class Announced:
    """What a log needs of its reporter."""

    def __init__(self, buffer):
        self.announced, self.announce, self.hold, self.close = buffer.announced, buffer.open, buffer.hold, buffer.pack
        self.now, self.limits = SystemClock().now, LogLimits()


def lines_of(seq, buffer, reporter=None):
    return JobLog(reporter or Announced(buffer), SimpleNamespace(seq=seq, token=4))


@pytest.fixture
def switching():
    """Threads interrupt one another nearly everywhere."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_no_line_is_lost_while_many_attempts_begin_to_log(switching):
    buffer = UpdateBuffer(pause=0)

    def handlers(first):
        for seq in range(first, first + 2_000):
            lines_of(seq, buffer).put((1, 7, "info", None, "line", None))

    handlers(0)
    found = []
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(handlers, first) for first in (10_000, 20_000)]
        while not all(run.done() for run in runs):
            found += buffer.take(20)[0]  # few: others are left
        for run in runs:
            run.result()
    while len(buffer):
        found += buffer.take()[0]
    assert sorted(each.seq for each in found) == [*range(2_000), *range(10_000, 12_000), *range(20_000, 22_000)]


def test_no_line_is_lost_or_out_of_order_while_handlers_end_and_their_threads_go_on_to_log(switching):
    buffer = UpdateBuffer(pause=0)

    def handlers(first):
        for seq in range(first, first + 500):
            log = lines_of(seq, buffer)
            late = threads.submit(add, log, "late")
            add(log, "own")
            log.end()
            late.result()

    def add(log, text):
        for n in range(4):
            log.add("info", None, f"{text} {n}", {"n": n})

    found = []
    with ThreadPoolExecutor(5) as threads:
        runs = [threads.submit(handlers, first) for first in (10_000, 20_000)]
        while not all(run.done() for run in runs):
            found += buffer.take(20)[0]
        for run in runs:
            run.result()
    while len(buffer):
        found += buffer.take()[0]
    by_seq = {}
    for each in sorted(found):  # as a store returns them
        by_seq.setdefault(each.seq, []).extend(unpack(Line._make(each[2:8]), each.lines))
    assert len(by_seq) == 1_000
    for lines in by_seq.values():
        assert sorted(line.n for line in lines) == list(range(1, 9))
        for text in ("own", "late"):
            assert [line.message for line in lines if text in line.message] == [f"{text} {n}" for n in range(4)]


def test_outcomes_stay_when_the_updates_cannot_be_taken():
    in_flight = InFlight()
    buffer = empty(in_flight)
    (execution,) = started(in_flight, "job")
    lines_of(9, buffer.updates).put((1, 7, "info", None, b"no text", None))  # as a bug would
    buffer.add(execution, COMPLETED)
    with pytest.raises(TypeError):
        buffer.take()
    assert [each.job.id for each, _ in buffer.take()[0]] == ["job"]

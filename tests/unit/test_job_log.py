"""Log lines on their way to the store: handlers add them on any thread, without a lock, while the claimer takes them."""

import gc
import threading

import pytest

from mainstay.core.updates import Progress
from mainstay.worker import update_buffer
from mainstay.worker.update_buffer import UpdateBuffer
from tests.unit.test_outcome_buffer import Announced, lines_of


def line(number=1, text="line"):
    return (number, 7, "info", None, text, None)


@pytest.mark.parametrize("characters", [30, update_buffer.ROUND_CHARACTERS])
def test_a_line_may_be_taken_before_its_thread_has_counted_it(characters):
    buffer = UpdateBuffer(pause=0)
    log = lines_of(1, buffer)
    log.put(line())
    assert len(buffer.take()[0]) == 1
    log.characters += 60_000  # as the thread does that was interrupted behind `append`
    buffer.open(log)
    assert buffer.take(characters=characters)[0] == []


def test_a_line_that_cannot_be_packed_takes_no_other_with_it():
    buffer = UpdateBuffer(pause=0)
    buffer.add(Progress(1, 4, 7, 0.5, 1.0, None, None))
    lines_of(2, buffer).put(line())
    wrong = lines_of(3, buffer)
    for number, text in enumerate(["before", b"no text", "behind"], 1):
        wrong.put(line(number, text))
    with pytest.raises(TypeError):
        buffer.take()
    taken, left = buffer.take()
    assert [(each.seq, getattr(each, "message", None)) for each in taken] == [
        (1, None),
        (2, "line"),
        (3, "before"),
        (3, "behind"),
    ]
    assert not left


def test_lines_are_there_before_the_outcome_though_another_thread_is_late_to_announce_the_log():
    buffer = UpdateBuffer(pause=0)
    came, go_on = threading.Event(), threading.Event()

    class Late(Announced):
        def __init__(self):
            super().__init__(buffer)
            self.announce = self.wait

        def wait(self, log):
            if threading.current_thread() is not threading.main_thread():
                came.set()
                go_on.wait(10)
            buffer.open(log)

    log = lines_of(1, buffer, Late())
    late = threading.Thread(target=log.put, args=(line(1, "late"),))
    late.start()
    assert came.wait(10)
    log.put(line(2, "own"))  # and its handler ends
    found = buffer.take()[0]
    go_on.set()
    late.join()
    assert "own" in found[0].message


def test_of_two_logs_that_are_announced_at_once_one_calls_the_claimer():
    buffer = UpdateBuffer(pause=0)
    first, second = lines_of(1, buffer), lines_of(2, buffer)
    called = []

    class Meanwhile(dict):
        """Announces the second log while the first is being announced."""

        def __setitem__(self, log, value):
            super().__setitem__(log, value)
            if log is first:
                called.append(buffer.open(second))

    buffer.announced = Meanwhile()
    called.append(buffer.open(first))
    assert any(called)
    buffer.take()
    assert buffer.open(second)  # the first of the next round


def test_a_report_that_waited_until_all_others_were_taken_calls_the_claimer(monkeypatch):
    monkeypatch.setattr(update_buffer, "MANY", 1)
    buffer = UpdateBuffer()
    buffer.add(Progress(1, 4, 7, 0.5, 1.0, None, None))
    monkeypatch.setattr(buffer, "_wait", buffer._newest.clear)  # as if the claimer had taken them
    assert buffer.add(Progress(2, 4, 7, 0.5, 1.0, None, None))


def test_logs_may_be_announced_while_garbage_is_collected():
    class Announces:
        """As a thread does that comes while a finalizer of other code runs."""

        def __init__(self, buffer, seq):
            self.itself, self.buffer, self.seq = self, buffer, seq

        def __del__(self):
            lines_of(self.seq, self.buffer).put(line())

    before = gc.get_threshold()
    try:
        for allocations in range(20):  # until the next collection, so that one begins at each place
            buffer = UpdateBuffer(pause=0)
            for seq in range(30):
                lines_of(seq, buffer).put(line())
            gc.collect()
            Announces(buffer, 99)
            gc.set_threshold(gc.get_count()[0] + allocations)
            assert len(buffer) in (30, 31)
            gc.set_threshold(*before)
    finally:
        gc.set_threshold(*before)

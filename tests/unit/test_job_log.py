"""Log lines on their way to the store: handlers add them on any thread, without a lock, while the claimer takes them."""

import gc
import json
import threading
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from mainstay import job_log
from mainstay.core.updates import Progress
from mainstay.log_values import encoded
from mainstay.redacting import redactor
from mainstay.worker import packed_lines, update_buffer
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


def test_a_line_that_cannot_be_cleaned_takes_no_other_with_it(monkeypatch):
    def broken(text):
        if "boom" in text:
            raise ZeroDivisionError
        return False

    monkeypatch.setattr(packed_lines, "odd", broken)
    buffer = UpdateBuffer(pause=0)
    buffer.add(Progress(1, 4, 7, 0.5, 1.0, None, None))
    lines_of(2, buffer).put(line())
    wrong = lines_of(3, buffer)
    for number, text in enumerate(["before", "boom", "behind"], 1):
        wrong.put(line(number, text))
    with pytest.raises(ZeroDivisionError):
        buffer.take()
    taken, left = buffer.take()
    assert [(each.seq, getattr(each, "message", None)) for each in taken] == [
        (1, None),
        (2, "line"),
        (3, "before"),
        (3, "behind"),
    ]
    assert not left


def test_a_handler_packs_what_is_left_of_its_log_when_it_ends():
    buffer = UpdateBuffer(pause=0)
    log = lines_of(1, buffer)
    for n in range(3):
        log.add("info", "read", "page", {"n": n})
    log.end()
    assert (log.waiting, buffer.announced, len(buffer), log.pending) == ([], {}, 3, 0)
    taken, left = buffer.take()
    assert [(each.seq, each.token, each.n, each.level, each.lines) for each in taken] == [(1, 4, 1, "info", 3)]
    assert [line[3:] for line in json.loads(taken[0].message)] == [["read", "page", f'{{"n":{n}}}'] for n in range(3)]
    assert (left, len(buffer)) == (set(), 0)


def test_lines_that_another_thread_begins_to_take_are_left_to_it_at_the_end_of_their_handler():
    buffer = UpdateBuffer(pause=0)
    log = lines_of(1, buffer)
    log.add("info", None, "line", {})
    with job_log._taking:
        log.end()
        assert (buffer.take()[0], list(buffer.announced)) == ([], [log])
    assert [each.message for each in buffer.take()[0]] == ["line"]


def test_packed_lines_of_handlers_that_ended_fill_a_round_as_others_do():
    buffer = UpdateBuffer(pause=0)
    for seq in range(5):
        log = lines_of(seq, buffer)
        for n in range(4):
            log.add("info", None, "x" * 10, {"n": n})
        log.end()
    taken, left = buffer.take(most=6)
    assert ([each.seq for each in taken], left) == ([0, 1], {(2, 4), (3, 4), (4, 4)})
    taken, left = buffer.take(characters=1)
    assert ([each.seq for each in taken], left) == ([2], {(3, 4), (4, 4)})
    buffer.put_back(taken)
    assert [each.seq for each in buffer.take()[0]] == [2, 3, 4]


def test_a_handler_waits_while_too_many_packed_lines_wait(monkeypatch):
    monkeypatch.setattr(update_buffer, "MANY", 4)
    buffer = UpdateBuffer(pause=0)
    log = lines_of(1, buffer)
    for _ in range(4):
        log.add("info", None, "line", {})
    assert buffer.is_full()
    log.end()
    assert buffer.is_full()
    buffer.take()
    assert not buffer.is_full()


def test_secrets_are_found_however_often_the_same_texts_come():
    clean, secret = ("a page", {"n": 1}), ("password=hunter2", {"password": "hunter2", "n": 1})
    for _ in range(2):
        buffer = UpdateBuffer(pause=0)
        for seq, lines in enumerate([[clean] * 2, [clean, secret], [secret]]):
            log = lines_of(seq, buffer)
            for message, fields in lines:
                log.add("info", None, message, fields)
            log.end()
        first, second, third = buffer.take()[0]
        assert "hunter2" not in str((first, second, third))
        assert json.loads(second.message)[1][4:] == ["password=[redacted:password]", third.fields]
        assert [line[4] for line in json.loads(first.message)] == ["a page"] * 2
        assert json.loads(third.fields) == {"password": "[redacted:password]", "n": 1}


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
@pytest.mark.parametrize("count", [1, 2])
def test_what_no_store_can_hold_is_replaced(text, count):
    buffer = UpdateBuffer(pause=0)
    log = lines_of(1, buffer)
    for _ in range(count):
        log.add("info", None, text, {})
    log.end()
    (found,) = buffer.take()[0]
    lines = [found.message] if count == 1 else [line[4] for line in json.loads(found.message)]
    assert lines == ["a\ufffdb"] * count


def test_few_texts_are_remembered(monkeypatch):
    monkeypatch.setattr(packed_lines, "KNOWN", 10)
    known = redactor().known
    known.clear()
    for n in range(50):
        packed_lines.cleaned(packed_lines.pack((1, 4), [line(1, f"line {n}"), line(2, "x" * 1_000)], 9))
        assert f"line {n}" in known
        assert len(known) <= 10
        assert "x" * 1_000 not in known


@pytest.mark.parametrize(
    "value",
    [
        1, -1, 1.5, True, None, "a", "é", "\0", 2**63 - 1, 2**63, -(2**63) - 1, 10**30, float("nan"), float("inf"), {"a": [1, {}]},
        "x" * 300, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=-3))),
        datetime(2026, 1, 2, tzinfo=timezone(timedelta(minutes=7, seconds=9))), time(1, 2, tzinfo=timezone(-timedelta(seconds=59))),
        {1, 2}, b"x", object, UUID(int=7), Decimal("1.5"), "2026-01-02T03:04:05+01:00", "\ud800", "\\u0000", "\n", 12345678901234567890123,
    ],
)  # fmt: skip
def test_fields_are_written_fast_as_they_are_written_carefully(value):
    log = lines_of(1, UpdateBuffer(pause=0))
    log.add("info", None, "line", {"value": value})
    log.add("info", None, "line", {"v": value, "text": "x" * 30})
    assert [line[5] for line in log.waiting] == [encoded({"value": value}), encoded({"v": value, "text": "x" * 30})]


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

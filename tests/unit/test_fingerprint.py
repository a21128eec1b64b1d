"""Fingerprints: the same for errors that differ in what varies only, others for other errors."""

import re
import time

import pytest
from hypothesis import given, strategies as st

from mainstay.core.dead import short_names
from mainstay.core.fingerprint import KEPT, fingerprint, normalised, of_reason
from mainstay.core.frames import frames, top_frame

TRACE = """Traceback (most recent call last):
  File "{root}/shop/jobs.py", line {line}, in {function}
    charge(order)
  File "{root}/.venv/lib/python3.13/site-packages/httpx/_client.py", line 12, in send
    raise
  File "/usr/lib/python3.13/socket.py", line 99, in connect
    raise
ValueError: no
"""
NAMES = st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=8)
NUMBERS = st.integers(-(10**9), 10**12) | st.floats(allow_nan=False, allow_infinity=False)


def trace(function="pay", root="/srv/app", line=3):
    return TRACE.format(function=function, root=root, line=line)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("api.example after 30s", "api.example after <n>s"),
        ("GET https://u:p@api.example.com:8080/v1/users/42?x=1: 503", "GET https://api.example.com/<path> <n>"),
        ("no row for user_42 (01JQ93ABCDEFGHJKMNPQRSTVWX)", "no row for <id> (<id>)"),
        ("can't open '/var/lib/a b/x.txt'", "can't open <text>"),
        ("can't open /var/lib/ab/x9.txt: No such file", "can't open <path>: No such file"),
        ("mail to a.b+c@example.org at 2026-01-31T09:30:00Z bounced", "mail to <mail> at <time> bounced"),
        ("<Order object at 0x7f3a9c> in [1, 2, 3]", "<Order object at <hex>> in [<n>]"),
        ("connect to 10.0.0.1:5432 took 1.5ms, 99% of 1e-3", "connect to <n> took <n>ms, <n>% of <n>"),
        (r"C:\Users\ada\y.txt is missing", "<path> is missing"),
        ("job 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is gone", "job <uuid> is gone"),
        ("two\n  lines", "two lines"),
    ],
)
def test_what_varies_is_replaced(message, expected):
    assert normalised(message) == expected


@given(st.lists(NAMES, min_size=2, max_size=5), st.data())
def test_other_numbers_leave_the_fingerprint(words, data):
    def error():
        return "ValueError: " + " ".join(f"{word} {data.draw(NUMBERS)}" for word in words)

    assert fingerprint("t", error(), trace(line=1), None) == fingerprint("t", error(), trace(line=2), None)


@given(NAMES, NAMES, NAMES, NAMES)
def test_another_class_frame_or_type_has_another_fingerprint(kind, other, function, elsewhere):
    def of(type, kind, function):
        return fingerprint(type, f"{kind}: no", trace(function), None)

    same = of("t", kind, function) == of("t", other, elsewhere)
    assert same == ((kind, function) == (other, elsewhere))
    assert (of(kind, "E", "f") == of(other, "E", "f")) == (kind == other)


@given(st.text(), st.text())
def test_any_text_has_a_fingerprint(message, traceback):
    assert re.fullmatch("[0-9a-f]{12}", fingerprint("t", f"E: {message}", traceback, None))
    assert len(normalised(message)) <= KEPT


@pytest.mark.parametrize(
    "text", ["'\\" * 5_000, "/a" * 50_000, "9" * 100_000, "a1" * 100_000, "\x1b[31m'" * 9_999, '"' * 10**7]
)
def test_no_message_takes_long(text):
    began = time.process_time()
    normalised(text)
    assert time.process_time() - began < 0.2


def test_a_job_without_an_error_is_known_by_the_reason_of_its_end():
    parents = [
        of_reason("t", f"its parent {id} is dead")
        for id in ("01JQ93ABCDEFGHJKMNPQRSTVWX", "01JQ94BBBBBBBBBBBBBBBBBBBB")
    ]
    assert parents[0] == parents[1] == fingerprint("t", None, None, "its parent 01JQ95 is dead")
    assert parents[0] != of_reason("t", "its parent 01JQ95 is cancelled")


def test_the_top_frame_is_the_nearest_one_of_the_users_code():
    frame = top_frame(trace())
    assert (frame.place, frame.line) == ("shop/jobs.py:pay", 3)
    assert [each.user for each in frames(trace())] == [True, False, False]
    assert top_frame(trace(root="C:\\srv")).place == "shop/jobs.py:pay"
    assert top_frame(None) is None


def test_the_place_is_the_same_wherever_the_program_is_installed():
    assert top_frame(trace(root="/home/ada/src", line=9)).place == top_frame(trace()).place


def test_mainstays_own_frames_are_no_frames_of_the_user():
    from mainstay.worker import runner

    assert top_frame(f'  File "{runner.__file__}", line 3, in run\n') is None


@given(st.sets(st.text("0123456789abcdef", min_size=12, max_size=12)))
def test_short_names_are_the_shortest_that_tell_apart(names):
    found = short_names(names, 4)
    assert len(set(found.values())) == len(names)
    for name, short in found.items():
        assert name.startswith(short)
        assert len(short) >= 4
        assert [other for other in names if other.startswith(short)] == [name]

"""Durations and clocks: every spelling means one thing, and what means nothing is refused (B72)."""

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from mainstay.core.clock import DAY, HOUR, ManualClock, SystemClock, human, iso, milliseconds


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (0, 0),
        (0.2, 200),
        (1, 1_000),
        (1.0004, 1_000),
        (timedelta(0), 0),
        (timedelta(milliseconds=250), 250),
        (timedelta(days=2), 2 * DAY),
        ("0s", 0),
        ("250ms", 250),
        ("0.2s", 200),
        ("90s", 90_000),
        ("5m", 300_000),
        ("5 m", 300_000),
        (" 2h ", 2 * HOUR),
        ("1.5h", 90 * 60_000),
        ("1h30m", 90 * 60_000),
        ("1h 30m 5s", 90 * 60_000 + 5_000),
        ("3d", 3 * DAY),
        ("2w", 14 * DAY),
    ],
)
def test_a_duration_is_whole_milliseconds(duration, expected):
    found = milliseconds(duration)
    assert found == expected
    assert type(found) is int


@pytest.mark.parametrize(
    "duration",
    [
        -1, -0.001, timedelta(seconds=-1), float("inf"), float("-inf"), float("nan"), 1e11, 10**400,
        "", " ", "5", "5x", "m", "-5s", "5m3", "1..5s", ".s", "5M", "1e3s", "５s", "5s\0", "inf", "nan s",
        True, False, None, [], b"5s", object(),
    ],
)  # fmt: skip
def test_what_is_no_duration_is_refused_with_an_example(duration):
    with pytest.raises(ValueError, match='"90s"'):
        milliseconds(duration)


def test_the_error_repeats_what_was_given():
    with pytest.raises(ValueError, match="'5x' is not a duration"):
        milliseconds("5x")


@given(st.integers(min_value=0, max_value=10**12))
def test_milliseconds_survive_their_own_spelling(ms):
    assert milliseconds(f"{ms}ms") == ms


def test_the_system_clock_tells_milliseconds_since_the_epoch():
    assert SystemClock().now() > 1_700_000_000_000


def test_a_manual_clock_moves_only_when_told():
    clock = ManualClock(1_000)
    assert (clock.now(), clock.now()) == (1_000, 1_000)
    assert clock.advance("1m") == 61_000
    clock.move_to(5)
    assert clock.now() == 5


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0ms"), (999, "999ms"), (1_000, "1s"), (1_100, "1.1s"), (9_949, "9.9s"), (12_900, "12s"), (60_000, "1m 00s"),
        (3_599_999, "59m 59s"), (HOUR + 5 * 60_000, "1h 05m"), (DAY + HOUR, "1d 01h"), (-1_500, "-1.5s"),
    ],
)  # fmt: skip
def test_durations_for_people(ms, text):
    assert human(ms) == text


def test_instants_are_utc_to_the_millisecond():
    assert iso(0) == "1970-01-01T00:00:00.000Z"
    assert iso(1_750_000_000_007) == "2025-06-15T15:06:40.007Z"

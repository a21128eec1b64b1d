"""Cron expressions: what they may be, and when they fire, in every zone and over every change of the clock.

The lists of changes are written by hand, from the public tables of each zone.
"""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from time import perf_counter

import pytest
from hypothesis import given, strategies as st

from mainstay.core.cron import cron, zone
from mainstay.core.errors import UsageError


def fires(text, tz, start, end):
    """The instants at which an expression fires between two instants, as a clock there shows them."""
    place = zone(tz)
    first, last = (round(datetime.fromisoformat(each).timestamp() * 1000) for each in (start, end))
    found = []
    for tick in cron(text).after(first, place):
        if tick > last:
            return found
        found.append(datetime.fromtimestamp(tick / 1000, place).strftime("%m-%d %H:%M:%S%z"))
    return found


def local(text, day, tz):
    """When an expression fires on one day there, as a clock shows it."""
    midnight = datetime.fromisoformat(day)
    start, end = (each.replace(tzinfo=zone(tz)).astimezone(UTC) for each in (midnight, midnight + timedelta(days=1)))
    moment = timedelta(milliseconds=1)
    return [each[6:] for each in fires(text, tz, (start - moment).isoformat(), (end - moment).isoformat())]


# The zone, the day, a fixed time that the change leaves out, and when that runs instead.
GAPS = [
    ("America/New_York", "2026-03-08", "30 2 * * *", ["03:00:00-0400"]), ("America/New_York", "2027-03-14", "30 2 * * *", ["03:00:00-0400"]),
    ("Europe/Berlin", "2026-03-29", "30 2 * * *", ["03:00:00+0200"]), ("Europe/Berlin", "2027-03-28", "15 2 * * *", ["03:00:00+0200"]),
    ("Australia/Lord_Howe", "2026-10-04", "15 2 * * *", ["02:30:00+1100"]), ("Australia/Lord_Howe", "2027-10-03", "0 2 * * *", ["02:30:00+1100"]),
    ("Africa/Cairo", "2026-04-24", "0 0 * * *", ["01:00:00+0300"]), ("Africa/Cairo", "2027-04-30", "30 0 * * *", ["01:00:00+0300"]),
    ("America/Santiago", "2026-09-06", "0 0 * * *", ["01:00:00-0300"]), ("America/Santiago", "2027-09-05", "30 0 * * *", ["01:00:00-0300"]),
    ("Asia/Beirut", "2026-03-29", "0 0 * * *", ["01:00:00+0300"]), ("Asia/Beirut", "2027-03-28", "45 0 * * *", ["01:00:00+0300"]),
]  # fmt: skip
# The zone, the day, a fixed time that comes twice, and the one time at which it runs.
REPEATS = [
    ("America/New_York", "2026-11-01", "30 1 * * *", ["01:30:00-0400"]), ("America/New_York", "2027-11-07", "30 1 * * *", ["01:30:00-0400"]),
    ("Europe/Berlin", "2026-10-25", "30 2 * * *", ["02:30:00+0200"]), ("Europe/Berlin", "2027-10-31", "0 2 * * *", ["02:00:00+0200"]),
    ("Australia/Lord_Howe", "2026-04-05", "45 1 * * *", ["01:45:00+1100"]), ("Australia/Lord_Howe", "2027-04-04", "30 1 * * *", ["01:30:00+1100"]),
    ("Africa/Cairo", "2026-10-29", "30 23 * * *", ["23:30:00+0300"]), ("Africa/Cairo", "2027-10-28", "0 23 * * *", ["23:00:00+0300"]),
    ("America/Santiago", "2026-04-04", "30 23 * * *", ["23:30:00-0300"]), ("America/Santiago", "2027-04-03", "0 23 * * *", ["23:00:00-0300"]),
    ("Asia/Beirut", "2026-10-24", "30 23 * * *", ["23:30:00+0300"]), ("Asia/Beirut", "2027-10-30", "30 23 * * *", ["23:30:00+0300"]),
]  # fmt: skip
# The zone, the day, and how many half hours it has.
LENGTHS = [
    *((tz, day, 46) for tz, day, *_ in GAPS if tz != "Australia/Lord_Howe"), *((tz, day, 47) for tz, day, *_ in GAPS if tz == "Australia/Lord_Howe"),
    *((tz, day, 50) for tz, day, *_ in REPEATS if tz != "Australia/Lord_Howe"), *((tz, day, 49) for tz, day, *_ in REPEATS if tz == "Australia/Lord_Howe"),
]  # fmt: skip


@pytest.mark.parametrize(("tz", "day", "text", "expected"), GAPS + REPEATS)
def test_a_fixed_time_runs_once_on_the_day_of_a_change(tz, day, text, expected):
    assert local(text, day, tz) == expected
    assert local(f"0 {text}", day, tz) == expected  # with seconds
    seconds = [moment.replace(":00-", ":20-").replace(":00+", ":20+") for moment in expected]
    assert local(f"20 {text}", day, tz) == seconds


@pytest.mark.parametrize(("tz", "day", "text", "expected"), GAPS + REPEATS)
def test_a_fixed_time_runs_on_the_days_around_a_change_too(tz, day, text, expected):
    minute, hour = map(int, text.split()[:2])
    for away in (-1, 1):
        other = (datetime.fromisoformat(day) + timedelta(days=away)).date().isoformat()
        assert [moment[:8] for moment in local(text, other, tz)] == [f"{hour:02}:{minute:02}:00"]


@pytest.mark.parametrize(("tz", "day", "count"), LENGTHS)
def test_an_interval_runs_in_real_time(tz, day, count):
    found = local("*/30 * * * *", day, tz)
    assert len(found) == count == len(set(found))
    assert len(local("0 */30 * * * *", day, tz)) == count


def test_all_changes_of_two_years_are_in_the_lists():
    for tz in {tz for tz, *_ in GAPS}:
        noons = [datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=day) for day in range(731)]
        offsets = [noon.replace(tzinfo=zone(tz)).utcoffset() for noon in noons]
        changed = [noons[n] for n in range(1, 731) if offsets[n] != offsets[n - 1]]
        listed = {datetime.fromisoformat(day).date() for place, day, *_ in GAPS + REPEATS if place == tz}
        # A change at midnight repeats the last hour of the day before.
        assert len(changed) == 4
        assert {day.date() for day in changed} <= listed | {day + timedelta(days=1) for day in listed}


def test_an_hour_pattern_of_every_second_hour_stays_on_the_clock():
    assert local("0 */2 * * *", "2026-03-08", "America/New_York")[:3] == [
        "00:00:00-0500",
        "04:00:00-0400",
        "06:00:00-0400",
    ]


def test_a_start_inside_the_second_hour_of_two_is_never_answered_with_the_past():
    second = datetime(2026, 11, 1, 6, 45, tzinfo=UTC)  # 01:45 for the second time
    first = next(cron("50 1 * * *").after(round(second.timestamp() * 1000), zone("America/New_York")))
    assert datetime.fromtimestamp(first / 1000, UTC) == datetime(2026, 11, 2, 6, 50, tzinfo=UTC)


@given(
    st.sampled_from(["30 2 * * *", "15,45 1,2 * * *", "20 30 2 * * *", "*/20 * * * *", "*/10 30 1 * * *", "0 0 * * *"]),
    st.sampled_from(sorted({tz for tz, *_ in GAPS})),
    st.integers(0, 730 * 1440),
)
def test_ticks_do_not_depend_on_where_one_starts(text, tz, minute):
    start = 1_767_225_600_000 + minute * 60_000
    ticks = list(islice(cron(text).after(start, zone(tz)), 4))
    assert ticks == sorted(set(ticks))
    for before, tick in pairwise(ticks):
        assert next(cron(text).after(before, zone(tz))) == tick
        assert next(cron(text).after(tick - 1, zone(tz))) == tick


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@hourly", "06-01 01:00:00+0000"), ("@daily", "06-02 00:00:00+0000"), ("@weekly", "06-07 00:00:00+0000"),
        ("@monthly", "07-01 00:00:00+0000"), ("@yearly", "01-01 00:00:00+0000"), ("0 0 L * *", "06-30 00:00:00+0000"),
        ("0 9 * * MON#2", "06-08 09:00:00+0000"), ("0 9 * JUL-AUG FRI", "07-03 09:00:00+0000"), ("*/7 * * * *", "06-01 00:07:00+0000"),
        ("5,10 * * * * *", "06-01 00:00:05+0000"), ("0 0 29 2 *", "02-29 00:00:00+0000"),
    ],
)  # fmt: skip
def test_expressions(text, expected):
    tick = next(cron(text).after(1_780_272_000_000, UTC))  # the first of June 2026
    assert datetime.fromtimestamp(tick / 1000, UTC).strftime("%m-%d %H:%M:%S%z") == expected


@pytest.mark.parametrize(
    "text",
    [
        "61 * * * *", "0-1000000000 * * * *", "*/1000000000 * * * *", "1000000000/1 * * * *", "* " * 5_000, "9" * 100 + " * * * *", "a b c d e",
        "* * *", "* * * * * * *", "@dayly", "0 0 30 2 *", "*/90 * * * *", "0 0 * * 8", "\x1b[0m * * * *", "5/0 * * * *", "", "-1 * * * *",
        "0 0 0 * *", "1-* * * * *", "* * * * *\0", "٣ * * * *", "* *\n* * *", "0 25 * * *", "5-1 * * * *", "0 0 * 13 *",
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused_at_once(text):
    begun = perf_counter()
    with pytest.raises(UsageError, match="cron="):
        cron(text)
    assert perf_counter() - begun < 0.5  # an expansion would take seconds


@pytest.mark.parametrize("value", [None, 7, ["0", "4"], b"0 4 * * *"])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(UsageError, match="five fields"):
        cron(value)


@pytest.mark.parametrize(
    "name", ["Europe/Berln", "", "../etc/passwd", "x" * 5_000, None, "Europe/Berlin\0", "CET+1", 7]
)
def test_unknown_zones_are_refused(name):
    with pytest.raises(UsageError, match="tz="):
        zone(name)
    if name == "Europe/Berln":
        with pytest.raises(UsageError, match='did you mean "Europe/Berlin"'):
            zone(name)


def test_expressions_in_words():
    assert cron("0 4 * * *").words == "At 04:00 every day"
    assert cron("*/10 * * * * *").words == "Every 10th second of every minute"

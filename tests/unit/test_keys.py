"""What a key locks: one job alive, until it starts, or one a period."""

import pytest
from hypothesis import given, strategies as st

from mainstay.core.clock import HOUR
from mainstay.core.errors import UsageError
from mainstay.core.keys import FOREVER, MAX_KEY, lock

NOW = 1_750_000_000_000
texts = st.text(st.characters(), min_size=1, max_size=MAX_KEY).filter(str.isprintable)


def test_a_key_holds_while_the_job_is_alive_or_until_it_starts():
    assert lock("mail", "doc-7", "alive", None, NOW) == ("mail:doc-7", None)
    assert lock("mail", "doc-7", "start", None, NOW) == ("mail:doc-7", 0)
    assert lock("mail", "doc-7", "forever", None, NOW) == ("mail:doc-7", FOREVER)


def test_types_do_not_share_keys():
    assert lock("mail", "7", "alive", None, NOW) != lock("fax", "7", "alive", None, NOW)


@given(texts, texts)
def test_different_keys_are_different_locks(one, other):
    assert (lock("t", one, "alive", None, NOW) == lock("t", other, "alive", None, NOW)) == (one == other)


@given(st.integers(min_value=0, max_value=10**13), st.integers(min_value=1, max_value=10**9))
def test_a_period_ends_after_now_and_no_later_than_one_period(now, length):
    _, until = lock("t", "k", "alive", length / 1000, now)
    assert now < until <= now + length
    assert until % length == 0


def test_the_same_period_is_one_lock_and_the_next_another():
    start = NOW - NOW % HOUR
    first, until = lock("t", "k", "alive", "1h", start)
    assert lock("t", "k", "alive", "1h", start + HOUR - 1) == (first, until)
    assert lock("t", "k", "alive", "1h", until)[0] != first


def test_periods_of_different_length_do_not_meet():
    assert lock("t", "k", "alive", "1h", 0)[0] != lock("t", "k", "alive", "2h", 0)[0]


@pytest.mark.parametrize("key", ["", "x" * (MAX_KEY + 1), "a\0b", "a\nb", "\ud800"])
def test_a_key_that_no_store_can_hold_is_refused(key):
    with pytest.raises(UsageError, match="1 to 500 printable characters"):
        lock("t", key, "alive", None, NOW)


def test_no_plain_key_can_pass_for_that_of_a_period():
    inside, _ = lock("t", "k", "alive", "1h", NOW)
    with pytest.raises(UsageError):
        lock("t", inside.removeprefix("t:"), "alive", None, NOW)


def test_the_longest_key_is_allowed():
    assert lock("t", "x" * MAX_KEY, "alive", None, NOW)[0] == "t:" + "x" * MAX_KEY


@pytest.mark.parametrize("period", [0, "0s", 0.0001])
def test_a_period_is_above_zero(period):
    with pytest.raises(UsageError, match="above zero"):
        lock("t", "k", "alive", period, NOW)


@pytest.mark.parametrize("unique", ["", "for ever", "Alive", None])
def test_unique_is_one_of_three_words(unique):
    with pytest.raises(UsageError, match=r"'alive'.*'start'.*'forever'"):
        lock("t", "k", unique, None, NOW)

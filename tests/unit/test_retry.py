"""Waits between attempts: never early, never unbounded, never all at once (B70)."""

import random

import pytest
from hypothesis import given, strategies as st

from mainstay.core.clock import HOUR, SECOND
from mainstay.core.errors import UsageError
from mainstay.core.retry import Retry, Undecided, wait
from mainstay.options import Options


def none():
    return 0.0


def most():
    return 1.0 - 2**-53


def test_the_usual_policy_travels_as_nothing():
    assert Retry().pack() is None
    assert Retry(attempts=10, on=(OSError,)).pack() is None


def test_without_jitter_the_wait_doubles_up_to_the_cap():
    packed = Retry(base="2s", cap="10s", jitter=False).pack()
    assert [wait(packed, attempt, most) for attempt in range(1, 6)] == [2_000, 4_000, 8_000, 10_000, 10_000]


def test_the_usual_waits():
    assert [wait(None, attempt, none) for attempt in (1, 2, 3)] == [SECOND, 2 * SECOND, 4 * SECOND]
    assert wait(None, 1_000_000, none) == HOUR


def test_a_fixed_policy_waits_equally_long():
    packed = Retry.fixed(5, every="30s", jitter=False).pack()
    assert {wait(packed, attempt, none) for attempt in range(1, 50)} == {30_000}


def test_a_base_above_the_usual_cap_is_meant():
    assert wait(Retry(base="2h").pack(), 1, none) == 2 * HOUR


policies = st.builds(
    Retry,
    base=st.floats(min_value=0, max_value=86_400),
    cap=st.floats(min_value=0, max_value=864_000),
    factor=st.floats(min_value=1, max_value=100),
    jitter=st.booleans(),
)


@given(policies, st.integers(min_value=1, max_value=1_000_000), st.floats(min_value=0, max_value=1, exclude_max=True))
def test_never_earlier_than_the_base_nor_later_than_the_cap_and_its_jitter(retry, attempt, chance):
    found = wait(retry.pack(), attempt, lambda: chance)
    assert retry.base <= found <= round(retry.cap * 1.5)


@given(policies)
def test_waits_never_shrink(retry):
    waits = [wait(retry.pack(), attempt, none) for attempt in range(1, 80)]
    assert waits == sorted(waits)


def test_a_thousand_failures_at_once_do_not_come_back_at_once():
    """The jitter is a quarter of the wait, so this holds for waits of minutes; short waits spread over less."""
    packed, rng = Retry(base="5m").pack(), random.Random(7)
    waits = [wait(packed, 1, rng.random) for _ in range(1_000)]
    busiest = max(sum(start <= each < start + SECOND for each in waits) for start in waits)
    assert min(waits) >= 300_000
    assert busiest <= 50


def test_without_jitter_they_would():
    packed = Retry(base="5m", jitter=False).pack()
    assert {wait(packed, 1, random.random) for _ in range(1_000)} == {300_000}


def test_on_names_the_only_errors_worth_a_retry():
    retry = Retry(on=(OSError,))
    assert retry.retryable(TimeoutError())  # an OSError
    assert not retry.retryable(ValueError())


def test_never_wins_over_on():
    retry = Retry(on=(Exception,), never=ValueError)
    assert retry.retryable(KeyError())
    assert not retry.retryable(UnicodeDecodeError("utf-8", b"", 0, 1, ""))  # a ValueError


def test_without_on_and_never_everything_deserves_a_retry():
    assert Retry().retryable(RuntimeError())


@pytest.mark.parametrize("attempts", [0, -1, 1.5, True, "3", None, 1_000_001])
def test_attempts_are_a_whole_number_above_zero(attempts):
    with pytest.raises(ValueError, match="at least 1 attempt"):
        Retry(attempts=attempts)


@pytest.mark.parametrize("factor", [0, 0.99, -2, 101, float("nan"), float("inf")])
def test_a_factor_that_would_shrink_or_explode_the_wait_is_refused(factor):
    with pytest.raises(ValueError, match="factor"):
        Retry(factor=factor)


@pytest.mark.parametrize("given", ["ValueError", ("ValueError",), (ValueError(),), [ValueError], (int,), 5])
@pytest.mark.parametrize("name", ["on", "never"])
def test_on_and_never_take_exception_classes(name, given):
    with pytest.raises(TypeError, match="exception classes"):
        Retry(**{name: given})


@pytest.mark.parametrize("name", ["base", "cap"])
@pytest.mark.parametrize("duration", [-1, "soon", float("inf"), True])
def test_waits_are_durations(name, duration):
    with pytest.raises(ValueError, match="not a duration"):
        Retry(**{name: duration})


def is_odd(error):
    return error.args[0] % 2 == 1


def test_when_decides_by_the_exception():
    retry = Retry(when=is_odd)
    assert retry.retryable(ValueError(1))
    assert not retry.retryable(ValueError(2))


def test_beside_on_when_decides_about_the_others():
    retry = Retry(on=KeyError, never=OSError, when=is_odd)
    assert retry.retryable(KeyError(2))
    assert retry.retryable(ValueError(1))
    assert not retry.retryable(ValueError(2))
    assert not retry.retryable(OSError(1))


@pytest.mark.parametrize("found", [None, 1, 0, "yes", []])
def test_when_must_return_true_or_false(found):
    with pytest.raises(Undecided, match=r"when=.*ValueError: it returned .*; return True or False"):
        Retry(when=lambda _: found).retryable(ValueError())


def test_a_when_that_raises_is_named_with_its_error():
    with pytest.raises(Undecided, match=r"Retry\(when=is_odd\) cannot decide about ValueError: it raised IndexError"):
        Retry(when=is_odd).retryable(ValueError())


async def awaited(error):
    return True


@pytest.mark.parametrize("when", [ValueError, True, "transient", (ValueError,), awaited])
def test_when_is_a_plain_function(when):
    with pytest.raises(TypeError, match="plain function of the exception"):
        Retry(when=when)


def test_when_stays_in_the_code():
    assert Retry(when=is_odd).pack() is None
    with pytest.raises(UsageError, match="belongs to the type"):
        Options({"retry": Retry(when=is_odd)})

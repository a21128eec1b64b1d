"""Errors of a Redis server as errors of ours, each with what to do next."""

import pytest
from redis import exceptions as theirs

from mainstay.core import errors
from mainstay.stores.redis.errors import mapped

INSIDE = "Error running script (call to f_1): @user_script:3: @user_script: 3: -{} and so on"
WORDS = {
    "OOM": errors.StoreFull, "READONLY": errors.StoreReadOnly, "MISCONF": errors.StoreFull, "BUSY": errors.StoreBusy,
    "LOADING": errors.StoreUnavailable, "NOAUTH": errors.StoreUnavailable, "NOPERM": errors.StoreReadOnly,
    "CLUSTERDOWN": errors.StoreUnavailable, "NOREPLICAS": errors.StoreUnavailable, "MASTERDOWN": errors.StoreUnavailable,
}  # fmt: skip


@pytest.mark.parametrize("text", ["{} and so on", INSIDE])
@pytest.mark.parametrize("word", WORDS)
def test_the_servers_words_are_understood_wherever_they_stand(word, text):
    fault = mapped(theirs.ResponseError(text.format(word)), "redis://host")
    assert type(fault) is WORDS[word]
    assert str(fault).startswith("redis://host: ")
    assert str(fault).count(". ") >= 1  # what was said, and what to do


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (theirs.ConnectionError("refused"), errors.StoreUnavailable),
        (theirs.TimeoutError("slow"), errors.StoreUnavailable),
        (theirs.ConnectionError("max number of clients reached"), errors.StoreUnavailable),
        (theirs.BusyLoadingError("Redis is loading the dataset in memory"), errors.StoreUnavailable),
        (theirs.AuthenticationError("invalid username-password pair"), errors.StoreUnavailable),
        (theirs.ReadOnlyError("You can't write against a read only replica."), errors.StoreReadOnly),
        (theirs.OutOfMemoryError("command not allowed"), errors.StoreFull),
        (theirs.AskError("1 a:1"), errors.StoreUnavailable),
        (theirs.MovedError("1 a:1"), errors.StoreUnavailable),
        (theirs.ResponseError("ACL failure in script: User bob has no permissions"), errors.StoreReadOnly),
        (theirs.ResponseError("WRONGTYPE Operation"), errors.StoreError),
        (theirs.DataError("Invalid input"), errors.UsageError),
        (OverflowError("too large"), errors.UsageError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_the_drivers_errors_are_ours(error, kind):
    assert type(mapped(error, "redis://host")) is kind


def test_what_is_not_the_drivers_stays_what_it_is():
    error = KeyError("x")
    assert mapped(error, "redis://host") is error

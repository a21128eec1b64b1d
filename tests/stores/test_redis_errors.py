"""Errors of a Redis server as errors of ours, each with what to do next."""

import pytest

from mainstay.core import errors
from mainstay.stores.redis.errors import mapped
from mainstay.stores.redis.wire import Lost, Refused

INSIDE = "Error running script (call to f_1): @user_script:3: @user_script: 3: -{} and so on"
WORDS = {
    "OOM": errors.StoreFull, "READONLY": errors.StoreReadOnly, "MISCONF": errors.StoreFull, "BUSY": errors.StoreBusy,
    "LOADING": errors.StoreUnavailable, "NOAUTH": errors.StoreUnavailable, "NOPERM": errors.StoreReadOnly,
    "CLUSTERDOWN": errors.StoreUnavailable, "NOREPLICAS": errors.StoreUnavailable, "MASTERDOWN": errors.StoreUnavailable,
}  # fmt: skip


@pytest.mark.parametrize("text", ["{} and so on", INSIDE])
@pytest.mark.parametrize("word", WORDS)
def test_the_servers_words_are_understood_wherever_they_stand(word, text):
    fault = mapped(Refused(text.format(word)), "redis://host")
    assert type(fault) is WORDS[word]
    assert str(fault).startswith("redis://host: ")
    assert str(fault).count(". ") >= 1  # what was said, and what to do


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionRefusedError("refused"), errors.StoreUnavailable),
        (TimeoutError("timed out"), errors.StoreUnavailable),
        (Lost("the server has closed the connection"), errors.StoreUnavailable),
        (Refused("ERR max number of clients reached"), errors.StoreUnavailable),
        (Refused("LOADING Redis is loading the dataset in memory"), errors.StoreUnavailable),
        (Refused("WRONGPASS invalid username-password pair or user is disabled."), errors.StoreUnavailable),
        (Refused("READONLY You can't write against a read only replica."), errors.StoreReadOnly),
        (Refused("OOM command not allowed when used memory > 'maxmemory'."), errors.StoreFull),
        (Refused("ASK 1 a:1"), errors.StoreUnavailable),
        (Refused("MOVED 1 a:1"), errors.StoreUnavailable),
        (Refused("ACL failure in script: User bob has no permissions"), errors.StoreReadOnly),
        (Refused("WRONGTYPE Operation"), errors.StoreError),
        (OverflowError("too large"), errors.UsageError),
    ],
    ids=lambda value: str(value).partition(" ")[0] if isinstance(value, Exception) else "",
)
def test_errors_of_servers_and_connections_are_ours(error, kind):
    assert type(mapped(error, "redis://host")) is kind


def test_any_other_error_stays_what_it_is():
    error = KeyError("x")
    assert mapped(error, "redis://host") is error

"""Options of a call: what is wrong with them is said where they are given, in words that name the option."""

from datetime import UTC, datetime

import pytest

from mainstay import Mainstay, Retry, UsageError


@pytest.fixture
def app():
    with Mainstay("sqlite:///:memory:").store as store:
        yield Mainstay(store=store)


@pytest.fixture
def work(app):
    @app.job(retry=Retry(4, on=ValueError))
    def work(n: int = 0) -> int:
        return n

    return work


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"retry": "3"}, "retry='3'"),
        ({"retry": True}, "retry=True"),
        ({"at": "soon"}, "at='soon' is not an instant"),
        ({"at": "2030-01-31T09:30"}, "has no time zone"),
        ({"at": 1_900_000_000_000}, "seconds since the epoch"),
        ({"at": True}, "seconds since the epoch"),
        ({"delay": "1s", "at": "2030-01-31T09:30Z"}, "not both"),
        ({"period": "1h"}, "needs key="),
    ],
)
def test_what_is_wrong_is_said(work, options, words):
    with pytest.raises(UsageError, match=words):
        work.options(**options)
    with pytest.raises(UsageError, match=words):
        work.app.enqueue("work", {}, **options)


@pytest.mark.parametrize("at", [1_900_000_000, 1_900_000_000.0, datetime.fromtimestamp(1_900_000_000, UTC)])
def test_an_instant_may_be_a_number_of_seconds(work, at):
    assert work.options(at=at).prepare().run_at == 1_900_000_000_000


@pytest.mark.parametrize("retry", [Retry(2, on=ValueError), Retry(2, never=(ValueError,))])
def test_which_exceptions_count_cannot_be_set_by_a_call_because_it_would_not_travel(work, retry):
    with pytest.raises(UsageError, match="belongs to the type"):
        work.options(retry=retry)
    with pytest.raises(UsageError, match="belongs to the type"):
        work.app.enqueue("work", {}, retry=retry)


def test_attempts_and_waits_can(work):
    draft = work.options(retry=Retry(2, base="5s", jitter=False)).prepare()
    assert draft.max_attempts == 2
    assert draft.backoff.startswith("5000 ")
    assert work.prepare().max_attempts == 4


@pytest.mark.parametrize("enqueue", [lambda app, job: app.enqueue(job), lambda app, job: app.enqueue_many([job])])
def test_only_what_was_prepared_can_be_enqueued(app, work, enqueue):
    for job in (work, work.enqueue()):
        with pytest.raises(UsageError, match="is not a prepared job"):
            enqueue(app, job)

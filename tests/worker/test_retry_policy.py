"""Whether an attempt is retried, by a function of its exception; and the code of its error, from each kind of slot."""

import pytest

from mainstay import Cancel, Mainstay, Permanent, Retry, Review, Snooze
from mainstay.worker.in_flight import Execution
from mainstay.worker.slots import timed_out
from tests.worker.conftest import everywhere, settled


@everywhere
@pytest.mark.parametrize("name", ["limited", "limited_async", "limited_separately"])
def test_what_passes_is_retried_and_what_lasts_is_final(jobs, name):
    with jobs.app.worker(concurrency=2):
        job = getattr(jobs, name).enqueue(404)
        found = settled(jobs.app, job, "dead")
    assert [attempt.code for attempt in jobs.app.attempts(job.id)] == ["429", "404"]
    assert (found.code, found.attempt) == ("404", 2)
    assert found.reason.endswith(f"Refused is final for {name}")
    assert [each.id for each in jobs.app.list("code:429")] == [job.id]


@pytest.fixture
def drained():
    """A function that runs a handler which raises this, under this policy; returns the job and its attempts."""
    app = Mainstay("sqlite:///:memory:")

    def drained(error, **policy):
        def work() -> None:
            raise error

        type = app.job(name=f"work-{len(app.registry)}", retry=Retry(2, base="1ms", **policy))(work)
        with app.testing() as kit:
            job = type.enqueue()
            kit.drain(raises=False)
            return app.get(job.id), app.attempts(job.id)

    return drained


def broken(error):
    raise KeyError("config")


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (broken, "ValueError: boom (Retry(when=broken) cannot decide about ValueError: it raised KeyError: 'config')"),
        (lambda error: "yes", "it returned 'yes'; return True or False)"),
    ],
)
def test_a_when_that_does_not_decide_is_named_and_ends_no_job(drained, when, words):
    job, attempts = drained(ValueError("boom"), when=when)
    assert (job.state, job.reason, len(attempts)) == ("dead", "attempts used up", 2), "it was retried"
    assert words in attempts[0].error
    assert "ValueError: boom" in attempts[0].traceback, "the handler's own traceback"
    assert "cannot decide" in attempts[0].traceback


class Timed:
    timeout = 1_000


def test_a_timeout_is_judged_too():
    asked = []

    def when(error):
        asked.append(error)
        return broken(error) if len(asked) > 1 else False

    app = Mainstay("sqlite:///:memory:")
    type = app.job(name="slow", retry=Retry(when=when))(lambda: None)
    execution = Execution(Timed, type, 0)
    assert timed_out(execution).retry is False
    assert isinstance(asked[0], TimeoutError)
    outcome = timed_out(execution)
    assert outcome.retry
    assert "cannot decide" in outcome.error


@pytest.mark.parametrize(
    ("error", "state", "outcome"),
    [
        (Permanent("no such page", code="no-page"), "dead", "failed"),
        (Review("unsure", code="no-page"), "review", "review"),
        (Cancel(code="no-page"), "cancelled", "cancelled"),
    ],
)
def test_a_handler_names_the_code(drained, error, state, outcome):
    job, attempts = drained(error)
    assert (job.state, job.code) == (state, "no-page")
    assert [(attempt.outcome, attempt.code) for attempt in attempts] == [(outcome, "no-page")]


def test_a_snooze_names_the_code():
    app = Mainstay("sqlite:///:memory:")

    @app.job
    def work() -> None:
        raise Snooze("1h", code=429)

    with app.testing() as kit:
        job = work.enqueue()
        kit.drain(retries=False)
        assert [(attempt.outcome, attempt.code) for attempt in app.attempts(job.id)] == [("snoozed", "429")]

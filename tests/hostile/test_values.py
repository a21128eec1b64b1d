"""Values that no store can hold: refused where they come in, mended where a job has to end (B61, B63)."""

import math
import sys

import pytest

from mainstay import Cancel, InvalidPayload, MainstayError, Permanent, Review, Snooze, ctx
from mainstay.core.draft import Draft
from mainstay.core.errors import UsageError
from tests.hostile.conftest import at_work, ended
from tests.waiting import eventually

NUL, LONE = "a\0b", "a\ud800b"
LONG_NUMBER = 10**1_000_000
BAD = {
    "NUL": NUL, "lone surrogate": LONE, "NaN": math.nan, "infinity": math.inf, "a million digits": LONG_NUMBER,
    "10 MB": "x" * 10_000_000, "bytes": b"x", "object": object(), "itself": [], "deep": [],
}  # fmt: skip
BAD["itself"].append(BAD["itself"])
for _ in range(5_000):
    BAD["deep"] = [BAD["deep"]]


@pytest.fixture
def work(app):
    """A type that takes anything; what it does is put into `work.act`."""
    kinds = {}

    @app.job(retry=1)
    def plain(value=None):
        return work.act()

    @app.job(retry=1)
    async def asynchronous(value=None):
        return work.act()

    work = plain
    work.kinds = {"plain": plain, "asynchronous": asynchronous, **kinds}
    work.act = lambda: None
    return work


def stored(app):
    return app.store.find("", 99)


# coming in --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("what", BAD)
def test_b61_a_payload_that_cannot_be_stored_is_refused_with_its_place(app, work, what):
    for enqueue in (lambda: work.enqueue(BAD[what]), lambda: app.enqueue("plain", {"value": BAD[what]})):
        with pytest.raises(InvalidPayload) as refused:
            enqueue()
        assert len(str(refused.value)) < 1_000
    assert stored(app) == []


@pytest.mark.parametrize("what", BAD)
def test_b61_so_is_one_from_a_producer_without_the_code(app, what):
    with pytest.raises(InvalidPayload):
        app.enqueue("unheard.of", {"value": {"inside": [BAD[what]]}})
    with pytest.raises(InvalidPayload):
        app.enqueue("unheard.of", {NUL: 1})
    assert stored(app) == []


@pytest.mark.parametrize("value", [NUL, LONE, "x" * 10_000])
@pytest.mark.parametrize("option", ["key", "tenant", "ref", "queue", "tags"])
def test_b61_options_that_cannot_be_stored_are_refused(app, work, option, value):
    with pytest.raises(MainstayError):
        work.options(**{option: [value] if option == "tags" else value}).enqueue()
    assert stored(app) == []


@pytest.mark.parametrize("name", [NUL, LONE, "", "x" * 10_000])
def test_b61_names_that_cannot_be_stored_are_refused(app, name):
    with pytest.raises(MainstayError):
        app.enqueue(name, {})
    with pytest.raises(MainstayError):
        app.get(name)
    with pytest.raises(MainstayError):
        app.cancel(name)


@pytest.mark.parametrize(
    "given", [{"payload": LONE}, {"priority": 10**30}, {"tenant": LONE}, {"timeout": -(10**30)}, {"id": LONE}]
)
def test_a_draft_made_by_hand_is_refused_by_the_store_itself(app, given):
    with pytest.raises(UsageError):
        app.enqueue_many([Draft("work", **{"payload": "{}"} | given)])
    assert stored(app) == []


def test_ten_megabytes_that_are_already_in_the_store_are_run(app, work):
    """The limit is the producer's: a job that is there is run, whatever its size."""
    text = "x" * 10_000_000
    (handle,) = app.enqueue_many([Draft("plain", f'{{"value":"{text}"}}', max_attempts=1)])
    work.act = lambda: len(text)
    with at_work(app):
        assert handle.result(timeout=30) == 10_000_000


@pytest.mark.parametrize(
    "payload", ["", "{", "[]", "null", '{"value":NaN}', '{"value":1e999}', '{"valu":1}', '"x"', "\0"]
)
def test_a_payload_that_others_wrote_wrongly_is_dead_at_once(app, work, payload):
    (handle,) = app.enqueue_many([Draft("plain", payload)])
    with at_work(app):
        job = ended(app, handle)
    assert (job.state, job.reason, job.attempt) == ("dead", "invalid payload", 1)


# going out --------------------------------------------------------------------------------------------------------
RESULTS = {
    "NUL": (NUL, "a\ufffdb"), "lone surrogate": ({LONE: [LONE]}, {"a\ufffdb": ["a\ufffdb"]}), "NaN": ([math.nan], [None]),
    "infinity": (-math.inf, None), "beyond 64 bits": (1 << 70, str(1 << 70)), "5 MB": ("x" * 5_000_000, "x" * 5_000_000),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
@pytest.mark.parametrize("what", RESULTS)
def test_b61_a_result_is_mended_and_the_job_completes(app, work, what, kind):
    work.act = lambda: RESULTS[what][0]
    with at_work(app):
        assert work.kinds[kind].enqueue().result(timeout=20) == RESULTS[what][1]


@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
@pytest.mark.parametrize("what", ["a million digits", "object", "itself", "deep", "20 MB"])
def test_b61_a_result_that_is_no_data_ends_the_job(app, work, what, kind):
    work.act = lambda: BAD.get(what, "x" * 20_000_000)
    with at_work(app):
        job = ended(app, work.kinds[kind].enqueue())
    assert (job.state, job.attempt) == ("dead", 1)
    assert "result" in job.error
    assert len(job.error) < 5_000


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("I cannot say")


class Wrong(Exception):
    __str__ = __repr__ = lambda self: 7


class Endless(Exception):
    def __str__(self):
        return str(self)


ERRORS = {
    "NUL": lambda: ValueError(NUL), "lone surrogate": lambda: ValueError(LONE), "5 MB": lambda: ValueError("x" * 5_000_000),
    "no text": Mute, "wrong text": Wrong, "endless text": Endless, "bytes": lambda: ValueError(b"\xff"),
    "odd name": type("Odd", (Exception,), {"__qualname__": "N\udc80me"}), "group": lambda: ExceptionGroup(NUL, [ValueError(LONE), Mute()]),
    "no module": type("Nameless", (Exception,), {"__module__": None}),
}  # fmt: skip


def raiser(make):
    def act():
        raise make()

    return act


@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
@pytest.mark.parametrize("what", ERRORS)
def test_b61_b63_an_error_is_mended_and_the_job_ends(app, work, what, kind):
    work.act = raiser(ERRORS[what])
    with at_work(app):
        job = ended(app, work.kinds[kind].enqueue())
        work.act = lambda: "next"
        assert work.kinds[kind].enqueue().result(timeout=20) == "next"
    assert (job.state, job.reason) == ("dead", "attempts used up")
    (attempt,) = app.attempts(job.id)
    assert job.error == attempt.error
    assert 0 < len(job.error) <= 2_000
    assert "\0" not in job.error
    assert 0 < len(attempt.traceback) <= 60_000


def test_b63_a_long_traceback_says_how_much_of_it_is_missing(app, work):
    work.act = raiser(ERRORS["5 MB"])
    with at_work(app):
        job = ended(app, work.enqueue())
    assert "characters left out" in job.error
    assert "characters left out" in app.attempts(job.id)[0].traceback


SIGNALS = {
    "snooze": (lambda: Snooze("1h", LONE), "scheduled"), "review": (lambda: Review(NUL, {"x": LONE}), "review"),
    "review of nothing": (lambda: Review("look", object()), "dead"), "cancel": (lambda: Cancel(LONE), "cancelled"),
    "permanent": (lambda: Permanent(LONE), "dead"), "review without text": (lambda: Review(None), "review"),
    "snooze without text": (lambda: Snooze("1h", 7), "scheduled"), "cancel without text": (lambda: Cancel(b"x"), "cancelled"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
@pytest.mark.parametrize("what", SIGNALS)
def test_b61_what_a_handler_says_last_is_mended_and_stored(app, work, what, kind):
    make, state = SIGNALS[what]
    work.act = raiser(make)
    with at_work(app):
        handle = work.kinds[kind].enqueue()
        eventually(lambda: handle.state == state, f"the job to be {state}")


# in between -------------------------------------------------------------------------------------------------------
def noise():
    ctx.log(NUL + LONE, **{"x": LONE, LONE: math.nan})
    ctx.log("x" * 5_000_000)
    ctx.progress(math.nan, math.inf)
    ctx.progress(1, 2)
    ctx.save(page=LONE, big=1 << 70)
    with ctx.stage(LONE + NUL):
        ctx.log("inside")
        ctx.progress(2, 2)
    with ctx.stage("x" * 100_000):
        pass
    return "through"


@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
def test_b61_notes_are_mended_and_stored(app, work, kind):
    work.act = noise
    with at_work(app):
        handle = work.kinds[kind].enqueue()
        assert handle.result(timeout=20) == "through"
    lines = app.logs(handle.id)
    assert len(lines) == 5
    assert max(len(line.message) for line in lines) <= 10_000
    assert max(len(line.stage or "") for line in lines) <= 200
    assert not any("\0" in line.message + (line.stage or "") for line in lines)


def test_a_log_message_that_cannot_be_text_fails_nothing(app, work):
    work.act = lambda: ctx.log(Mute())
    with at_work(app):
        job = ended(app, work.enqueue())
    assert job.state == "completed"
    assert [line.message for line in app.logs(job.id)] == ["(its __str__ raised RuntimeError)"]


def test_children_that_cannot_be_stored_fail_the_attempt_and_no_more(app, work):
    """Made by hand, past every check: the outcome of this job cannot be stored, those of the others must be."""
    work.act = lambda: ctx.enqueue(Draft("plain", "{}", priority=10**30))
    with at_work(app):
        bad, good = work.enqueue(), [work.kinds["asynchronous"].enqueue() for _ in range(20)]
        job = ended(app, bad)
        work.act = lambda: "fine"
        assert {ended(app, handle).state for handle in good} <= {"completed", "dead"}
        assert work.enqueue().result(timeout=20) == "fine"
    assert job.state == "dead"
    assert "stored" in job.reason


def test_digits_beyond_pythons_own_limit_are_what_is_meant():
    assert len(str(10**4_000)) == 4_001
    assert 0 < sys.get_int_max_str_digits() < 1_000_000

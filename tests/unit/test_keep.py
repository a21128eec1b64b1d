"""Retention as types declare it and operators set it; jobs as lines of JSON, which refuse what no store may get."""

import json
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from mainstay import Keep, Mainstay, UsageError
from mainstay.core import jsonl
from mainstay.core.clock import DAY, HOUR
from mainstay.core.export import ActionRecord, AttemptRecord, JobHistory, JobRecord, LogRecord
from mainstay.core.retention import FOREVER, expiry

ID = "01JXT21Q046KX9TAQJB400001M"
COLUMNS = ("keep", "keep_cancelled", "keep_dead", "keep_last")


@pytest.fixture
def app():
    with Mainstay("sqlite:///:memory:").store as store:
        yield Mainstay(store=store)


def columns(job):
    return tuple(getattr(job, name) for name in COLUMNS)


# Keep -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("keep", "wanted"),
    [
        (Keep(), (7 * DAY, None, None, None)),
        (Keep("1h", cancelled="2h", dead="1d", last=10), (HOUR, 2 * HOUR, DAY, 10)),
        (Keep(None), (None, None, None, None)),
        (Keep("1h", cancelled=None), (HOUR, FOREVER, None, None)),
        (Keep(0, cancelled=0, dead=0), (0, 0, 0, None)),
        (timedelta(hours=1), (HOUR, None, None, None)),
        (None, (None, None, None, None)),
    ],
)
def test_a_type_says_how_long_and_how_many(app, keep, wanted):
    @app.job(keep=keep)
    def work() -> None: ...

    job = app.store.get(work.enqueue().id)
    assert columns(job) == wanted


def test_a_call_may_say_otherwise(app):
    @app.job(keep=Keep("1h", dead="1d", last=10))
    def work() -> None: ...

    assert columns(app.store.get(work.options(keep="5h").enqueue().id)) == (5 * HOUR, None, DAY, 10)
    assert columns(app.store.get(work.options(keep=Keep("5h")).enqueue().id)) == (5 * HOUR, None, None, None)


@pytest.mark.parametrize("given", [{"completed": "soon"}, {"dead": -1}, {"last": 0}, {"last": "9"}, {"last": True}])
def test_what_is_no_retention_is_refused_by_name(given):
    with pytest.raises(UsageError, match=next(iter(given))):
        Keep(**given)


def test_a_keep_is_no_timeout(app):
    with pytest.raises(UsageError, match="timeout"):
        app.job(name="work", timeout=Keep())(lambda: None)


def test_a_job_read_by_an_application_has_durations(app):
    @app.job(keep=Keep("1h", cancelled=None, dead="1d", last=10))
    def work() -> None: ...

    job = app.get(work.enqueue().id)
    assert columns(job) == (timedelta(hours=1), None, timedelta(days=1), 10)


def test_a_copy_of_a_job_is_kept_like_it(app):
    @app.job(keep=Keep("1h", dead="1d", last=10))
    def work() -> None: ...

    first = work.enqueue()
    app.store.cancel([first.id], app.clock.now(), "me")
    assert columns(app.store.get(app.copy(first.id).id)) == (HOUR, None, DAY, 10)


def test_operators_override_each_value(app):
    @app.job(keep=Keep("1h", dead="1d"))
    def work() -> None: ...

    work.enqueue()
    app.store.register_types([work.info(app.clock.now())])
    app.set_type("work", keep_dead=None, keep_last=5, keep_cancelled="2h", actor="ada")
    assert columns(app.store.get(work.enqueue().id)) == (HOUR, 2 * HOUR, None, 5)
    assert columns(app.store.get(work.options(keep=Keep("1h", dead="9h")).enqueue().id))[2] == 9 * HOUR
    (record,) = app.types()
    assert record.drift == ("keep_cancelled", "keep_dead", "keep_last")
    assert (record.effective["keep_cancelled"], record.effective["keep_last"]) == (timedelta(hours=2), 5)
    app.reset_type("work", "keep_dead", actor="ada")
    assert columns(app.store.get(work.enqueue().id)) == (HOUR, 2 * HOUR, DAY, 5)
    with pytest.raises(UsageError, match="last=0"):
        app.set_type("work", keep_last=0, actor="ada")


def test_the_state_says_when_a_job_expires():
    ages = {"keep": 1, "keep_cancelled": None, "keep_dead": None}
    assert [expiry(state, 10, ages) for state in ("completed", "cancelled", "dead")] == [11, 11, None]
    ages = {"keep": None, "keep_cancelled": 2, "keep_dead": 3}
    assert [expiry(state, 10, ages) for state in ("completed", "cancelled", "dead")] == [None, 12, 13]


# lines ----------------------------------------------------------------------------------------------------------------
def history(**given):
    """A dead job with one of everything."""
    columns = dict.fromkeys(JobRecord._fields) | {
        "id": ID, "type": "work", "queue": "default", "state": "dead", "priority": 0, "ord": 1, "attempt": 1, "max_attempts": 3,
        "crashes": 0, "token": 1, "created_at": 1, "started_at": 2, "finished_at": 3, "payload": "{}", "version": 1,
        "reason": "permanent", "tags": '["a"]',
    }  # fmt: skip
    return JobHistory(
        JobRecord(**columns | given),
        [AttemptRecord(ID, 1, 1, "w", 2, 3, "failed", "E: no", "Traceback", "503")],
        [LogRecord(ID, 1, 1, 2, "info", None, "hello", '{"a":1}')],
        [ActionRecord(4, "ada", "retry", ID, "{}", None), ActionRecord(5, "bob", "cancel", None, '{"jobs":2}', "BULK")],
    )


def changed(part="job", **given):
    """The line of that job, with something else in it."""
    found = json.loads(jsonl.line(history()))
    (found[part] if part == "job" else found[part][0]).update(given)
    return json.dumps(found)


def test_a_line_is_the_job():
    assert jsonl.parse(jsonl.line(history())) == history()
    assert "\n" not in jsonl.line(history(payload='{"text":"a\\nb\u2028"}'))


def test_a_header_is_none_and_a_newer_one_is_refused():
    assert jsonl.parse(jsonl.header(0, "state:dead")) is None
    with pytest.raises(UsageError, match=r"format 2.*upgrade"):
        jsonl.parse('{"mainstay":"jobs","format":2}')


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON"), ("{", "no JSON"), ("[" * 100_000, "no JSON"), ("[]", "no object"), ("{}", "no job"), ('{"job":1}', "no job"),
        ('{"mainstay":"jobs"}', "header"), ('{"mainstay":7,"format":1}', "header"), ('{"job":{},"more":1}', "more"),
        (changed(id="x"), "no id"), (changed(id=None), "job.id"), (changed(state="done"), "no state"), (changed(type=""), "job.type"),
        (changed(type="a\0b"), "NUL"), (changed(queue="\x1b[2J"), "job.queue"), (changed(finished_at=None), "does not fit"),
        (changed(token=0), "job.token"), (changed(attempt=-1), "job.attempt"), (changed(attempt=9), "job.token"),
        (changed(priority=10**6), "priority"), (changed(priority=10**30), "priority"), (changed(priority=True), "priority"),
        (changed(payload="{"), "payload"), (changed(payload=None), "payload"), (changed(tags='{"a":1}'), "tags"),
        (changed(tags="[1]"), "tags"), (changed(rules="[]"), "rules"), (changed(rules='{"limits":5}'), "rules"),
        (changed(rules='{"limits":[["a","b",true]]}'), "rules"), (changed(rules='{"unknown":1}'), "rules"),
        (changed(backoff="often"), "backoff"), (changed(backoff="nan 1 1 1"), "backoff"), (changed(timeout=0), "timeout"),
        (changed(keep_last=0), "keep_last"), (changed(keep=-1), "keep"), (changed(reason=None), "reason"),
        (changed(colour="blue"), "no column 'colour'"), (changed("attempts", token="1"), "attempts.token"),
        (changed("logs", fields="no"), "logs.fields"), (changed("logs", message=None), "logs.message"),
        (changed("actions", detail="no"), "actions.detail"), (changed(key="a" * 501), "key"), (changed(reason="\ud800"), "reason"),
        ('{"job":{},"attempts":{}}', "job.id"), (changed(done="1"), "job.done"), (changed(schedule=""), "schedule"), (changed(review="{}"), "review"), (changed(review="[]"), "review"),
        (changed(review='{"question":"?","token":1,"at":"x"}'), "review"), (changed(review='{"question":"?","token":1,"at":1,"colour":2}'), "review"),
    ],
)  # fmt: skip
def test_what_no_store_may_get_is_refused(text, says):
    with pytest.raises(UsageError, match=says):
        jsonl.parse(text)


def test_two_attempts_with_one_token_are_refused():
    found = json.loads(jsonl.line(history()))
    found["attempts"] *= 2
    with pytest.raises(UsageError, match="attempts: two"):
        jsonl.parse(json.dumps(found))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))  # fmt: skip
def test_no_json_brings_another_error(value):
    for text in (
        json.dumps(value),
        json.dumps({"job": value}),
        changed(rules=json.dumps(value)),
        changed(tags=json.dumps(value)),
    ):
        with suppress(UsageError):
            jsonl.parse(text)


def test_an_imported_job_holds_nothing_and_is_kept_from_now_on():
    rules = '{"after":"cancel","limits":[["l","",1]],"parents":[]}'
    given = history(
        lock="work:k", lock_until=99, key="k", rules=rules, keep_dead=10, expires_at=1, bulks="A", worker=None
    )
    job = jsonl.as_history(given, 1_000, "B").job
    assert (job.lock, job.lock_until, job.key, job.expires_at, job.bulks) == (None, None, "k", 1_010, "A B")
    assert job.rules == '{"limits":[["l","",1]]}'


def test_a_job_that_had_not_ended_becomes_a_draft_of_the_same_job():
    rules = f'{{"after":"run","parents":["{ID}"],"start_by":5}}'
    job = history(state="blocked", finished_at=None, key="k", rules=rules, start_by=5, run_at=77, keep_last=3).job
    draft = jsonl.as_draft(job)
    assert (draft.id, draft.key, draft.lock, draft.run_at, draft.tags) == (ID, "k", "work:k", 77, ("a",))
    assert (draft.after, draft.start_by, draft.keep_last) == ((ID,), None, 3)

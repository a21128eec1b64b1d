"""`enqueue`: words become arguments, mistakes become hints, and `--wait` becomes an exit code."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from mainstay import Mainstay
from mainstay.cli import enqueue_args, exits
from mainstay.core.job import TypeInfo

SIGNATURE = (
    'resize(path: str, width: int = 800, note: str | None = None, size: tuple[int, int] = (1, 2), mode: str = "a,b")'
)


@pytest.fixture
def known(app):
    app.store.register_types(
        [TypeInfo("resize", "default", SIGNATURE, {}, 1), TypeInfo("any.thing", "default", "f(**more)", {}, 1)]
    )
    return app


def payload(result, app):
    return json.loads(app.get(result.out.strip()).payload)


def test_values_that_read_as_json_are_that(run, app):
    result = run("enqueue", "t", "a=1", "b=1.5", "c=true", "d=null", "e=[1,2]", 'f={"x": 1}', 'g="7"', "--json")
    stored = json.loads(app.get(json.loads(result.out)["id"]).payload)
    assert stored == {"a": 1, "b": 1.5, "c": True, "d": None, "e": [1, 2], "f": {"x": 1}, "g": "7"}


def test_other_values_are_text(run, app):
    result = run(
        "enqueue", "t", "a=x", "b=", "c=007", "d=NaN", "e=a=b", "f=[1,", "--on-conflict", "existing", "--key", "k"
    )
    assert payload(result, app) == {"a": "x", "b": "", "c": "007", "d": "NaN", "e": "a=b", "f": "[1,"}


def test_what_the_type_declares_as_text_stays_text(run, known):
    assert payload(run("enqueue", "resize", "path=123", "width=5", "note=null"), known) == {
        "path": "123", "width": 5, "note": None,
    }  # fmt: skip
    assert payload(run("enqueue", "any.thing", "path=123"), known) == {"path": 123}


def test_a_signature_is_read_with_its_brackets_and_quotes():
    assert enqueue_args.parameters(SIGNATURE) == {
        "path": ("str", True), "width": ("int", False), "note": ("str | None", False),
        "size": ("tuple[int, int]", False), "mode": ("str", False),
    }  # fmt: skip
    assert enqueue_args.parameters("f()") == enqueue_args.parameters("f(**more)") == {}


@pytest.mark.parametrize(
    ("words", "says", "attempt"),
    [
        (
            ["resize", "path=a", "widht=3"],
            'resize has no argument "widht" (did you mean "width"?)',
            "resize path=a width=3",
        ),
        (["resize", "path=a", "qqq=3"], 'resize has no argument "qqq"\n', "resize path=a\n"),
        (["resize"], "resize needs path", "resize path=…"),
        (["resiz", "path=a"], '"resiz" (did you mean "resize"?)', "resize path=a"),
        (["resize", "word"], "arguments are written name=value", "resize path=word"),
    ],
)
def test_mistakes_are_found_before_the_job_exists(run, known, words, says, attempt):
    result = run("enqueue", *words)
    assert result.code == exits.USAGE
    assert says in result.err
    assert attempt in result.err
    assert known.list() == []


def test_the_signature_is_shown_with_the_mistake(run, known):
    assert SIGNATURE in run("enqueue", "resize", "x=1").err


def test_an_unknown_type_may_be_enqueued(run, known):
    assert run("enqueue", "quite_another", "x=1").code == 0
    assert run("enqueue", "resiz", "path=a", "--force").code == 0
    assert len(known.list()) == 2


def test_arguments_from_stdin_and_from_a_file(shell, app, tmp_path):
    (tmp_path / "rows.json").write_text('{"rows": [1]}', encoding="utf-8")
    assert payload(shell("enqueue", "t", "@rows.json"), app) == {"rows": [1]}
    assert payload(shell("enqueue", "t", "-", stdin='{"a": 1}'), app) == {"a": 1}
    for words, stdin in ((["-"], "[1]"), (["-"], "{"), (["@nope.json"], "")):
        result = shell("enqueue", "t", *words, stdin=stdin)
        assert (result.code, result.out) == (exits.USAGE, "")


def test_options(run, app):
    words = [
        "--in",
        "5m",
        "--key",
        "k",
        "--tenant",
        "acme",
        "--ref",
        "a/1",
        "--attempts",
        "9",
        "--tag",
        "x",
        "--tag",
        "y",
    ]
    job = app.get(run("enqueue", "t", *words).out.strip())
    assert (job.key, job.tenant, job.ref, job.max_attempts, job.tags) == ("k", "acme", "a/1", 9, ("x", "y"))
    assert timedelta(seconds=290) < job.run_at - job.created_at <= timedelta(seconds=300)
    later = app.get(run("enqueue", "t", "--at", "2126-01-31T09:30Z").out.strip())
    assert later.run_at == datetime(2126, 1, 31, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "words",
    [
        ["--in", "soon"], ["--at", "noon"], ["--priority", "high"], ["--priority", "9999"], ["--in", "1s", "--at", "2126-01-31"],
        ["--on-conflict", "replace"], ["--attempts", "0"], ["--timeout", "5s"], ["--tag", ""],
    ],
)  # fmt: skip
def test_bad_options_are_usage_errors(run, app, words):
    result = run("enqueue", "t", *words)
    assert result.code == exits.USAGE
    assert result.err.startswith("error: ")


def test_a_taken_key_can_be_a_conflict(run, app):
    first = run("enqueue", "t", "--key", "k")
    again = run("enqueue", "t", "--key", "k", "--on-conflict", "raise")
    assert (again.code, again.out) == (exits.CONFLICT, "")
    assert first.out.strip() in again.err
    assert json.loads(run("enqueue", "t", "--key", "k", "--json").out) == {"id": first.out.strip(), "created": False}


@pytest.fixture
def working(url, app):
    """A worker in this process, so that --wait has something to wait for."""
    shop = Mainstay(url)

    @shop.job
    def double(n: int) -> int:
        return 2 * n

    @shop.job(retry=1)
    def fail() -> None:
        raise ValueError("no")

    with shop.worker(concurrency=2):
        yield
    shop.close()


def test_wait_prints_the_result(run, working):
    job, result = run("enqueue", "double", "n=21", "--wait").out.split()
    assert (len(job), result) == (26, "42")


def test_wait_fails_with_the_job(run, working):
    result = run("enqueue", "fail", "--wait")
    assert result.code == exits.JOB_FAILED
    assert "ValueError: no" in result.err


def test_wait_has_an_end(run, app):
    result = run("enqueue", "nobody_serves_this", "--wait", "--timeout", "10ms")
    assert result.code == exits.TIMEOUT
    assert "it is not cancelled" in result.err


def test_through_the_application_its_own_types_are_checked(run, tmp_path, url, monkeypatch):
    source = (
        f"from mainstay import Mainstay\napp = Mainstay({url!r})\n@app.job(priority=7)\ndef thumb(path: str): ...\n"
    )
    (tmp_path / "shop_of_enqueue.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert run("enqueue", "thumb", "pat=1", "--app", "shop_of_enqueue:app").code == exits.USAGE
    result = run("enqueue", "thumb", "path=1", "--app", "shop_of_enqueue")
    assert result.code == 0
    app = Mainstay(url)
    assert app.get(result.out.strip()).priority == 7
    app.close()

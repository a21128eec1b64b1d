"""`mainstay keys`, and keys on the command line: listed, freed with a name on record, and refused with a reason."""

import json

import pytest

from mainstay import by
from mainstay.cli import exits
from mainstay.core.job import TypeInfo


@pytest.fixture
def taken(app):
    """Keys that were taken for ever; the job of the first is gone."""
    handles = [app.enqueue("mail", {}, key=key, unique="forever") for key in ("a-1", "a-2", "b-1")]
    app.cancel(handles[0])
    app.delete(handles[0])
    return [handle.id for handle in handles]


def declare(app, **rule):
    policy = {"key_rule": {"on_conflict": "existing"} | rule}
    app.store.register_types([TypeInfo("invoice", "default", "invoice(id: int)", policy, app.clock.now())])


def test_keys_are_listed(run, taken):
    out = run("keys", "ls").out.splitlines()
    assert out[0].split() == ["KEY", "TYPE", "ID", "SINCE", "JOB"]
    assert [line.split()[:3] for line in out[1:]] == [
        [key, "mail", job] for key, job in zip(("a-1", "a-2", "b-1"), taken, strict=True)
    ]
    assert [line.split()[-1] for line in out[1:]] == ["gone", "there", "there"]
    assert run("keys").out == run("keys", "ls").out


def test_keys_are_listed_for_programs(run, taken):
    records = json.loads(run("keys", "ls", "--prefix", "a-", "--json").out)
    assert [(each["key"], each["type"], each["job"], each["there"]) for each in records] == [
        ("a-1", "mail", taken[0], False), ("a-2", "mail", taken[1], True)
    ]  # fmt: skip
    assert records[0]["since"].endswith("Z")
    assert run("keys", "ls", "-q").out.split() == ["a-1", "a-2", "b-1"]


def test_the_list_is_bounded_and_says_so(run, taken):
    result = run("keys", "ls", "-n", "2", "--prefix", "")
    assert len(result.out.splitlines()) == 3
    assert "there are more: mainstay keys ls -n 20" in result.err


def test_an_empty_list_says_so(run, app):
    app.enqueue("mail", {}, key="k")
    assert run("keys", "ls").err == "no key is taken for ever\n"
    assert "no key that starts with 'x' is taken for ever" in run("keys", "ls", "--prefix", "x").err


def test_a_key_is_forgotten_by_somebody(run, app, taken, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    dry = run("keys", "forget", "mail", "a-1", "--dry-run")
    assert (dry.code, dry.out) == (0, "")
    assert f"job {taken[0]} has the key 'a-1' of type mail. Nothing changed." in dry.err
    assert app.enqueue("mail", {}, key="a-1").id == taken[0]
    done = run("keys", "forget", "mail", "a-1")
    assert (done.code, done.err) == (0, f"forgotten: job {taken[0]} had it\n")
    assert (app.actions()[0].actor, app.actions()[0].action) == ("ada", "forget_key")
    assert app.enqueue("mail", {}, key="a-1").created
    assert json.loads(run("keys", "forget", "mail", "a-2", "--json").out) == {
        "key": "a-2", "type": "mail", "job": taken[1], "forgotten": True
    }  # fmt: skip


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_key_that_nobody_has_taken(run, taken, more):
    result = run("keys", "forget", "mail", "none", *more)
    assert result.code == exits.MISSING
    assert "the key 'none' of type mail is not taken for ever" in result.err
    assert "try: mainstay keys ls" in result.err


@pytest.mark.parametrize(
    "words", [("forget",), ("forget", "mail"), ("ls", "mail"), ("forget", "a", "b", "c"), ("drop",)]
)
def test_wrong_words(run, app, words):
    assert run("keys", *words).code == exits.USAGE


def test_a_refused_retry_names_the_job_that_has_the_key(run, app):
    old = app.enqueue("mail", {}, key="k")
    app.cancel(old)
    new = app.enqueue("mail", {}, key="k")
    result = run("retry", old.id)
    assert result.code == exits.CONFLICT
    assert f"job {old.id} was not changed: job {new.id} holds the key 'k'" in result.err


# enqueue: the fast path and the full command ------------------------------------------------------------------------
@pytest.mark.parametrize("more", [(), ("--attempts", "3")], ids=["fast", "full"])
def test_the_key_that_a_type_declares_is_followed(shell, app, more):
    declare(app, by=["id"], unique="forever")
    first, again = (shell("enqueue", "invoice", "id=7", *more) for _ in range(2))
    assert (again.code, again.out) == (0, first.out)
    assert again.err == "nothing new: this job has its key already\n"
    assert app.get(first.out.strip()).key == "7"
    assert [each.key for each in app.store.keys("", 9)] == ["7"]


@pytest.mark.parametrize("more", [(), ("--attempts", "3")], ids=["fast", "full"])
def test_a_field_that_is_missing_is_named(shell, app, more):
    declare(app, by=["customer.id"])
    result = shell("enqueue", "invoice", "id=7", *more)
    assert result.code == exits.USAGE
    assert result.err.startswith(
        "error: by('customer.id'): the field 'customer.id' in the payload of invoice is missing: send it"
    )
    assert app.list() == []


@pytest.mark.parametrize("more", [(), ("--attempts", "3")], ids=["fast", "full"])
def test_how_long_a_key_is_taken(shell, app, more):
    job = shell("enqueue", "mail", "--key", "k", "--unique", "forever", *more).out.strip()
    app.cancel(job)
    app.delete(job)
    assert shell("enqueue", "mail", "--key", "k", *more).out.strip() == job
    hourly = shell("enqueue", "mail", "--key", "k", "--period", "1h", *more).out.strip()
    assert hourly != job
    wrong = shell("enqueue", "mail", "--key", "k", "--unique", "ever", *more)
    assert (wrong.code, "'alive'" in wrong.err) == (exits.USAGE, True)
    both = shell("enqueue", "mail", "--key", "k", "--unique=forever", "--period=1h", *more)
    assert (both.code, "not both" in both.err) == (exits.USAGE, True)
    assert shell("enqueue", "mail", "--key", "k", "--period", "soon", *more).code == exits.USAGE
    assert shell("enqueue", "mail", "--unique", "forever", *more).code == exits.USAGE


def test_a_key_by_fields_of_a_call(app):
    first = app.enqueue("mail", {"to": "ada", "n": 1}, key=by("to"))
    assert app.enqueue("mail", {"to": "ada", "n": 2}, key=by("to")).id == first.id

"""Schedules from the command line: on each engine, for people and programs."""

import json

import pytest

from mainstay.cli import exits
from mainstay.core.rules import SCHEDULE
from mainstay.upkeep.schedule import Schedules
from tests.servers.engines import ENGINES

NAMES = [name for name in ("sqlite", "postgres18", "postgres", "valkey", "redis") if name in ENGINES]


@pytest.fixture(params=NAMES)
def url(request, tmp_path):
    with ENGINES[request.param](tmp_path) as url:
        yield url


@pytest.fixture
def known(app):
    """A store that knows the type `mail`, and has a schedule that code declares."""

    @app.job
    def mail(to: str, urgent: bool = False) -> None: ...

    app.store.register_types([mail.info(app.clock.now())])
    app.schedule("nightly", mail.prepare("ada"), cron="0 4 * * *", tz="Europe/Berlin")
    app.sync_schedules()
    return app


def loaded(result):
    assert result.code == exits.OK, result.err
    return json.loads(result.out)


def test_a_schedule_from_its_beginning_to_its_end(run, known):
    result = run(
        "schedules",
        "add",
        "ping",
        "mail",
        "to=a",
        "urgent=true",
        "--every",
        "90s",
        "--overlap",
        "skip",
        "--tenant",
        "acme",
    )
    assert result.code == exits.OK, result.err
    assert "to undo: mainstay schedules remove ping" in result.err
    Schedules(known).step(known.clock.now())
    lines = {line.split()[0]: line for line in run("schedules").out.splitlines()}
    assert "At 04:00 every day" in lines["nightly"]
    assert "every 90s" in lines["ping"]
    record = loaded(run("schedules", "show", "ping", "--json"))
    assert (record["args"], record["every"], record["overlap"]) == ({"to": "a", "urgent": True}, 90, "skip")
    assert len(record["next_fires"]) == 5
    job = run("schedules", "run", "ping", "-q", "--actor", "ada").out.strip()
    assert run("ls", "schedule:ping", "-q").out.strip() == job
    shown = run("show", job).out
    assert "schedule ping" in shown
    assert "tick 20" in shown
    assert "tenant acme" in shown
    assert run("schedules", "show", "ping", "-q").out.strip() == job
    assert job in run("schedules", "show", "ping").out
    assert run("schedules", "remove", "ping").code == exits.OK
    assert run("schedules", "-q").out == "nightly\n"
    told = run("audit").out
    assert "schedule ping: every – → 90s" in told
    assert f"run {job} schedule=ping" in told


def test_operators_change_what_code_declares(run, known):
    result = run("schedules", "set", "nightly", "to=bob", "--cron", "0 5 * * *", "--reason", "load")
    assert "0 4 * * * (declared)  0 5 * * *" in result.out
    assert "to undo: mainstay schedules reset nightly" in result.err
    assert "is as before" in run("schedules", "set", "nightly", "--cron", "0 5 * * *").err
    assert "set: args, cron" in run("schedules").out
    assert "0 4 * * *" in run("schedules", "show", "nightly").out
    assert "schedule nightly: cron 0 4 * * * → 0 5 * * *, args to=ada → to=bob (load)" in run("audit").out
    assert "has the values that code declares" in run("schedules", "reset", "nightly").err
    assert "nothing is set" in run("schedules", "reset", "nightly").err
    assert loaded(run("schedules", "--json"))[0]["drift"] == []


def test_a_pause_is_seen_everywhere(run, known):
    run("schedules", "pause", "nightly", "--reason", "holiday", "--actor", "ada")
    assert "is paused already" in run("schedules", "pause", "nightly", "--reason", "holiday").err
    assert "⏸ paused" in run("schedules").out
    assert "paused by ada" in run("schedules", "show", "nightly").out
    for command in ("status", "doctor"):
        assert "the schedule nightly is paused: holiday" in run(command).out
    assert "fire from now on" in run("schedules", "resume", "nightly").err
    assert "is not paused" in run("schedules", "resume", "nightly").err
    assert "paused" not in run("status").out


def test_problems_are_named_with_what_to_do(run, known):
    known.create_schedule("lost", "mail", {"to": "a"}, every="1h")
    (rule,) = [rule for rule in known.store.rules([SCHEDULE]) if rule.name == "lost"]
    known.store.set_rule(rule._replace(value={"set": {**rule.value["set"], "job": {"type": "gone", "payload": "{}"}}}))
    assert "makes jobs of gone, a type that no worker knows" in run("status").out
    known.store.set_rule(
        rule._replace(value={"set": {**rule.value["set"], "tz": "Mars/Base", "every": None, "cron": "@daily"}})
    )
    Schedules(known).step(known.clock.now())
    assert "! fails" in run("schedules").out
    assert "the schedule lost cannot fire: UsageError: tz='Mars/Base'" in run("doctor").out
    assert "Mars/Base" in run("schedules", "show", "lost").out


def test_dry_runs_change_nothing(run, known):
    before = known.store.rules([SCHEDULE])
    for words in (
        ["add", "x", "mail", "to=a", "--every", "1h"], ["set", "nightly", "--jitter", "5m"], ["pause", "nightly"], ["remove", "nightly"],
    ):  # fmt: skip
        record = loaded(run("schedules", *words, "--dry-run", "--json"))
        assert (record["changed"], record["dry_run"], record["before"] != record["after"]) == (False, True, True)
    assert known.store.rules([SCHEDULE]) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["add", "x", "mial", "to=a", "--every", "1h"], 'did you mean "mail"'), (["add", "x", "mail", "to=a"], "give --cron or --every"),
        (["add", "x", "mail", "--every", "1h"], "mainstay schedules add x mail to=…"), (["add", "x", "mail", "to=a", "--cron", "61 * * * *"], "no minute"),
        (["add", "x", "mail", "to=a", "--cron", "0-999999999 * * * *"], "no minute"), (["add", "x", "mail", "to=a", "--every", "0s"], "one second"),
        (["add", "x", "mail", "to=a", "--every", "1h", "--cron", "@daily"], "one of them"), (["add", "x\x1b[1m", "mail", "to=a", "--every", "1h"], "name"),
        (["add", "x", "mail", "to=a", "--every", "1h", "--start", "2027-01-01T00:00Z", "--end", "2026-01-01T00:00Z"], "--end is before --start"),
        (["add", "x", "mail", "to=a", "--every", "1h", "--limit", "0"], "--limit"), (["add", "x", "mail", "to=a", "--cron", "@daily", "--tz", "Europe/Berln"], "Europe/Berlin"),
        (["add", "x", "mail", "to=a", "urgent=3", "--every", "1h"], "payload.urgent is 3, not of type boolean"), (["set", "nightly", "urgent=maybe"], 'payload.urgent is "maybe", not of type boolean'),
        (["add", "nightly", "mail", "to=a", "--every", "1h"], "mainstay schedules set nightly"), (["set", "nightly"], "what to set?"),
        (["show", "nigthly"], "nightly"), (["run", "nigthly"], "nightly"), (["next"], "which schedule?"), (["next", "--cron", "x"], "five fields"),
    ],
)  # fmt: skip
def test_bad_input_names_the_fix_and_changes_nothing(run, known, words, says):
    before = known.store.rules([SCHEDULE])
    result = run("schedules", *words)
    assert result.code != exits.OK
    assert says in result.err
    assert "\x1b" not in result.err
    assert known.store.rules([SCHEDULE]) == before


def test_a_preview_needs_no_store(run):
    record = loaded(run("schedules", "next", "--cron", "30 2 * * *", "--tz", "America/New_York", "-n", "3", "--json"))
    assert len(record) == 3
    assert record[0]["tz"] == "America/New_York"


def test_a_narrow_terminal_shows_what_matters(terminal, known, url):
    found = terminal("schedules", "--url", url, env={"COLUMNS": "80", "NO_COLOR": "1"}).out
    assert "NEXT" in found
    assert "nightly" in found
    assert max(map(len, found.splitlines())) <= 80


def test_one_that_never_fires_is_said_to_be_ended(run, known):
    added = run("schedules", "add", "late", "mail", "to=a", "--every", "1h", "--end", "2020-01-01T00:00Z")
    assert "the schedule late holds, but it fires no more: its end is over" in added.err
    assert "fires no more" not in run("schedules", "set", "late", "--end", "none").err
    assert run("schedules", "set", "nightly", "--end", "2020-01-01T00:00Z").code == exits.OK
    assert "ended" not in run("schedules").out.split("late")[1].splitlines()[0]


def test_one_that_is_only_in_code_says_who_writes_it(run, url, tmp_path, monkeypatch):
    code = f"""
from mainstay import Mainstay
app = Mainstay({url!r})
@app.job
def mail() -> None: ...
app.schedule("weekly", mail.prepare(), cron="@weekly")
"""
    (tmp_path / "unwritten.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "unwritten", raising=False)
    for verb in ("show", "next"):
        assert "it is declared in code" in run("schedules", verb, "weekly", "--app", "unwritten:app").err


def test_the_reason_of_a_pause_is_in_the_audit_log_once(run, known):
    run("schedules", "pause", "nightly", "--reason", "holidays")
    assert run("audit").out.count("holidays") == 1

"""`mainstay dead`, `stuck` and `dupes`: listed, shown, acted on, and refused with a reason."""

import json

import pytest

from mainstay import UsageError
from mainstay.cli import exits
from mainstay.cli.worker import WorkerLog
from mainstay.core.clock import ManualClock, SystemClock
from mainstay.core.errors import NotFound
from mainstay.core.job import Rule


@pytest.fixture
def dead(app):
    """Two groups of dead jobs: three of pay, two of mail; pay completes from then on if its switch is set."""
    switch = {"works": False}

    @app.job(retry=1)
    def pay(order: int) -> None:
        if not switch["works"]:
            raise ValueError(f"no account {order}")

    @app.job(retry=1)
    def mail(to: str) -> None:
        raise ConnectionError(f"cannot reach <{to}> after 30s\x1b[31m")

    for n in range(3):
        pay.enqueue(n)
    mail.enqueue("a@example.org")
    mail.enqueue("b@example.org")
    app.drain()
    return switch


def groups(app, **given):
    return {each.type: each for each in app.dead(**given)}


def test_groups_are_listed_the_largest_first(run, app, dead):
    result = run("dead")
    head, *rows = result.out.splitlines()
    assert head.split() == ["FP", "COUNT", "TYPE", "LAST", "24H", "FIRST", "LAST", "ERROR"]
    assert [row.split()[1:4] for row in rows] == [["3", "pay", "▁▁▁▁▁▁▁█"], ["2", "mail", "▁▁▁▁▁▁▁█"]]
    assert "ValueError: no account 2" in rows[0]
    assert r"\x1b[31m" in rows[1]
    short = rows[0].split()[0]
    assert groups(app)["pay"].fingerprint.startswith(short)
    assert f"mainstay dead retry {short} --one" in result.err


def test_a_narrow_terminal_shows_why_rather_than_since_when(terminal, url, app):
    @app.job(retry=1)
    def pay(order: int) -> None:
        raise ValueError(f"the account of order {order} is closed: open it, or choose another one")

    pay.enqueue(7)
    app.drain()
    head, row = terminal("dead", "--url", url, env={"NO_COLOR": "1", "COLUMNS": "80"}).out.splitlines()[:2]
    assert "FIRST" not in head
    assert "ValueError: the account of order" in row


def test_groups_are_listed_for_programs(run, app, dead):
    found = json.loads(run("dead", "--json").out)
    assert [(each["type"], each["jobs"], each["status"], sum(each["hours"])) for each in found] == [
        ("pay", 3, "open", 3), ("mail", 2, "open", 2)
    ]  # fmt: skip
    assert run("dead", "-q").out.split() == [each["fingerprint"] for each in found]
    assert run("dead", "--fields", "type,jobs").out.split()[2:] == ["pay", "3", "mail", "2"]


def test_nothing_dead_says_so(run, app):
    app.enqueue("mail", {})
    assert run("dead").err == "no job is dead\n"
    assert json.loads(run("dead", "--json").out) == []


def test_a_group_is_shown_with_its_frames_its_jobs_and_what_to_type(run, app, dead):
    group = groups(app)["pay"]
    out = run("dead", "show", group.fingerprint[:4]).out
    assert "3 dead jobs  pay" in out
    assert "test_dead.py" in out
    assert "in pay" in out
    assert out.count(group.sample) == 2
    assert f"→ mainstay dead retry {group.fingerprint} --one" in out
    data = json.loads(run("dead", "show", group.fingerprint, "--json").out)
    assert len(data["ids"]) == 3
    assert "ValueError: no account" in data["traceback"]
    assert run("dead", "show", group.fingerprint, "-q").out.split() == data["ids"]


def test_one_job_is_retried_then_the_rest(run, app, dead):
    group = groups(app)["pay"]
    assert run("dead", "retry", group.fingerprint, "--one").out.split() == [group.sample, "queued"]
    dead["works"] = True
    app.drain()
    assert app.get(group.sample).state == "completed"
    asked = run("dead", "retry", group.fingerprint)
    assert (asked.code, "2 jobs match (pay 2); confirm with --yes" in asked.err) == (exits.USAGE, True)
    assert "2 jobs match (pay 2). Nothing changed." in run("dead", "retry", group.fingerprint, "--dry-run").err
    result = run("dead", "retry", group.fingerprint, "--stagger", "10m", "--yes", "--note", "account made")
    assert (result.code, result.err) == (0, "1 job scheduled, 1 job queued\n")
    line = app.actions()[0]
    assert (line.action, line.detail["search"]) == ("retry", f"fingerprint:{group.fingerprint}")
    assert "pay" not in groups(app)


def test_the_payload_is_amended_and_the_group_retried(app, dead):
    group = app.dead_group(groups(app)["mail"].fingerprint)
    assert group.amend({"to": "c@example.org"}).changed == 2
    assert group.retry(stagger="1h").changed == 2
    assert {job.payload for job in app.list("type:mail")} == {'{"to":"c@example.org"}'}


def test_a_group_is_ignored_resolved_and_reopened_on_record(run, app, dead):
    name = groups(app)["pay"].fingerprint
    assert "would" not in run("dead", "ignore", name, "--dry-run").out
    assert groups(app)["pay"].status == "open"
    for verb, status in (("ignore", "ignored"), ("resolve", "resolved"), ("reopen", "open")):
        result = run("dead", verb, name[:6], "--note", "known", "--actor", "ada")
        assert (result.code, f"the group {name} (pay) is" in result.err) == (0, True)
        found = groups(app, everything=True)["pay"]
        assert (found.status, found.actor, found.note) == (status, "ada", "known")
        assert ("pay" in groups(app)) == (status == "open")
        line = app.actions()[0]
        assert (line.actor, line.detail["after"]["status"]) == ("ada", status)
    audit = run("audit").out
    assert f"reopened the group {name} of dead jobs of pay (known)" in audit
    assert f"ignored the group {name}" in audit


def test_what_is_hidden_is_counted(run, app, dead):
    app.dead_group(groups(app)["pay"].fingerprint).ignore("known")
    assert "1 group ignored or resolved: mainstay dead --all" in run("dead").err
    assert "ignored" in run("dead", "--all").out
    assert "died of ValueError" not in run("status").out


def test_a_resolved_group_is_open_when_a_job_dies_of_it_again(run, app, dead):
    group = app.dead_group(groups(app)["pay"].fingerprint)
    group.resolve("fixed", actor="ada")
    group.retry()
    assert groups(app, everything=True).keys() == {"mail"}
    app.drain()
    found = groups(app)["pay"]
    assert (found.status, found.actor) == ("open", "mainstay")
    assert "ada had resolved it: fixed" in found.note
    assert found.first == group.record.first


def test_an_ignored_group_counts_on(app, dead):
    group = app.dead_group(groups(app)["pay"].fingerprint)
    group.ignore()
    app.enqueue("pay", {"order": 9})
    app.drain()
    assert (groups(app, everything=True)["pay"].jobs, groups(app).keys()) == (4, {"mail"})


def test_a_group_without_jobs_can_be_reopened(run, app, dead):
    name = groups(app)["pay"].fingerprint
    app.dead_group(name).resolve()
    assert run("dead", "purge", name, "--yes").err == "3 jobs deleted\n"
    assert "no job of it is dead now" in run("dead", "show", name).out
    assert run("dead", "reopen", name).code == 0


def test_dead_jobs_are_purged_by_group_or_search(run, app, dead):
    live = app.enqueue("pay", {"order": 5}, delay="1h")
    assert "2 jobs match (mail 2). Nothing changed." in run("dead", "purge", "type:mail", "--dry-run").err
    assert run("dead", "purge", "type:mail", "--yes").err == "2 jobs deleted\n"
    assert run("dead", "purge", groups(app)["pay"].fingerprint, "--yes").err == "3 jobs deleted\n"
    assert app.get(live.id).state == "scheduled"
    assert [line.action for line in app.actions()] == ["delete", "delete"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "zz"), exits.MISSING, "no dead job has the fingerprint 'zz'"),
        (("show", ""), exits.MISSING, "no dead job has the fingerprint"),
        (("retry", "0", "--one", "--stagger", "1m"), exits.USAGE, "exclude each other"),
        (("purge", "aa", "bb"), exits.USAGE, "give one fingerprint, or a search"),
        (("shwo", "aa"), exits.USAGE, 'did you mean "show"?'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(run, app, dead, words, code, said):
    wrong = run("dead", *words)
    assert (wrong.code, said in wrong.err) == (code, True), wrong


def test_an_ambiguous_or_misspelt_fingerprint_is_refused(app, dead):
    name = app.dead()[0].fingerprint
    app.store.set_rule(Rule("triage", name[:-1] + "x", {"status": "ignored"}, "ada"))
    with pytest.raises(UsageError, match="begins several fingerprints"):
        app.dead_group(name[:6])
    with pytest.raises(NotFound, match="did you mean"):
        app.dead_group(name[:-1] + "y")
    with pytest.raises(UsageError, match="takes no stagger"):
        app.dead_group(name).retry(one=True, stagger="1m")


def test_a_search_for_a_group_works_in_every_command(run, app, dead):
    name = groups(app)["pay"].fingerprint
    assert len(run("ls", f"fingerprint:{name[:5]}", "-q").out.split()) == 3
    assert "is no fingerprint" in run("ls", "fingerprint:xyz").err
    assert json.loads(run("show", groups(app)["pay"].sample, "--json").out)["fingerprint"] == name


def test_status_names_the_largest_group(run, app, dead):
    name = groups(app)["pay"].fingerprint
    out = run("status").out
    assert "3 jobs of pay died of ValueError" in out
    assert f"→ mainstay dead show {name[:4]}" in out


def test_jobs_that_died_under_an_older_version_get_their_fingerprint_when_they_are_listed(app, dead):
    before = {each.fingerprint: each.jobs for each in app.dead()}
    _forget_prints(app)
    assert {each.fingerprint: each.jobs for each in app.dead()} == before


def _forget_prints(app):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(app.store.url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE mainstay_job SET fingerprint = NULL")


# stuck and dupes ------------------------------------------------------------------------------------------------------
def test_a_stuck_job_is_listed_with_what_helps(run, app, monkeypatch, tmp_path):
    from tests.contract.building import worker

    app.enqueue("mail", {"to": "a"}, timeout="10s")
    now = app.clock.now()
    app.store.register(worker("w-old", now, lease=10**9, types=("mail",)))
    (job,) = app.store.claim("w-old", {"default": ["mail"]}, 1, now).jobs
    app.store.started_jobs("w-old").begin(job)
    assert run("stuck").code == exits.OK
    assert "no job is stuck" in run("stuck").err
    clock = ManualClock(SystemClock().now() + 60_000)
    monkeypatch.setattr("mainstay.app.SystemClock", lambda: clock)
    result = run("stuck")
    assert result.code == exits.PARTIAL
    assert f"→ mainstay cancel {job.id}" in result.out
    (record,) = json.loads(run("stuck", "--json").out)
    assert (record["kind"], record["id"]) == ("timeout", job.id)
    assert run("stuck", "-q").out == f"{job.id}\n"
    app.store.deregister("w-old")


def test_the_threshold_is_a_setting(run, app, monkeypatch):
    app.enqueue("mail", {})
    monkeypatch.setenv("MAINSTAY_STUCK_AFTER", "soon")
    assert run("stuck").code == exits.USAGE
    monkeypatch.setenv("MAINSTAY_STUCK_AFTER", "1m")
    assert run("stuck").code == exits.OK
    assert run("stuck", "--after", "x").code == exits.USAGE


def test_duplicates_are_listed(run, app):
    app.enqueue("mail", {"to": "a"})
    assert run("dupes").err == "no duplicates among the jobs of the last 24h\n"
    app.enqueue("mail", {"to": "a"})
    result = run("dupes")
    assert result.code == exits.PARTIAL
    assert result.out.split()[5:9] == ["2", "2", "mail", "same"]
    (record,) = json.loads(run("dupes", "--within", "1h", "--json").out)
    assert (record["type"], record["key"], record["jobs"]) == ("mail", None, 2)


def test_a_worker_logs_that_a_group_is_open_again(app, capsys):
    WorkerLog(app, "info", "text")
    app.events.emit("dead_reopened", fingerprint="7f3a00", type="mail", job="01JQ93")
    assert "a job of mail died of what was resolved: mainstay dead show 7f3a00" in capsys.readouterr().err

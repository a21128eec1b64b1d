"""`reprioritise`, `requeue`, `delay`, `amend`, `retry --stagger` and `bulk`: what they say, and how one goes on that was stopped."""

import json

import pytest

from mainstay import by
from mainstay.cli import exits
from mainstay.control import bulk_run
from mainstay.control.bulk_run import VERBS

from .shop import Shop


@pytest.fixture
def shop(app):
    @app.job(key=by("n"))
    def mail(n: int, to: str = "x") -> None: ...

    @app.job(queue="slow")
    def report(month: str) -> None: ...

    app.store.register_types([mail.info(1), report.info(1)])
    return Shop(app)


@pytest.fixture
def small(monkeypatch):
    for name, verb in VERBS.items():
        monkeypatch.setitem(VERBS, name, verb._replace(chunk=min(verb.chunk, 2)))


def fill(shop, count=5):
    return [handle.id for handle in shop.app.enqueue_many(shop.app.registry["mail"].prepare(n) for n in range(count))]


def jobs(shop, ids):
    return shop.store.get_many(ids)


def test_by_id(run, shop):
    first, second = fill(shop, 2)
    assert run("reprioritise", first, "--to", "-5") == (0, f"{first} changed\n", "")
    assert run("requeue", first, second, "--to", "slow").out == f"{first} changed\n{second} changed\n"
    assert run("reschedule", first, "--in", "2h").out == f"{first} changed\n"
    assert run("amend", first, "--set", "to=b c", "--set", "n=7").out == f"{first} changed\n"
    (job,) = jobs(shop, [first])
    assert (job.priority, job.queue, job.state, job.payload, job.key) == (
        -5,
        "slow",
        "scheduled",
        '{"n":7,"to":"b c"}',
        "7",
    )
    assert run("reschedule", first, "--now").out == f"{first} changed\n"
    same = run("reprioritise", first, "--to", "-5")
    assert (same.code, same.err.splitlines()[0]) == (
        exits.CONFLICT, f"error: job {first} was not changed: it is so already",
    )  # fmt: skip
    history = run("show", first).out
    assert "requeue  queue=default → slow" not in history  # that was done to two jobs: one line counts them
    assert "reprioritise  priority=0 → -5" in history
    assert "requeue  jobs=2 queue=default → slow:2" in history
    assert 'amend  payload=n: 0 → 7, to: none → "b c"' in history


def test_by_search_with_a_look_first(run, shop):
    ids = fill(shop)
    assert run("requeue", "type:mail", "--to", "slow", "--dry-run") == (
        0, "", "5 jobs match (mail 5). Nothing changed. Add --yes to requeue.\n",
    )  # fmt: skip
    assert run("requeue", "type:mail", "--to", "slow").code == exits.USAGE
    assert {job.queue for job in jobs(shop, ids)} == {"default"}
    assert run("requeue", "type:mail", "--to", "slow", "--yes") == (0, "", "5 jobs changed\n")
    assert {job.queue for job in jobs(shop, ids)} == {"slow"}
    (line,) = run("audit").out.splitlines()
    assert "requeue: 5 of 5 jobs of type:mail (queue=default → slow:5 " in line


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("reprioritise", "type:mail", "--to", "5000"), "-1000<=x<=1000"),
        (("reprioritise", "type:mail", "--to", "high"), "is not a valid integer"),
        (("reprioritise", "type:mail"), "--to"),
        (("requeue", "type:mail", "--to", "slwo"), 'did you mean "slow"'),
        (("reschedule", "type:mail"), "give one of --in, --at and --now"),
        (("reschedule", "type:mail", "--in", "1h", "--now"), "give one of --in, --at and --now"),
        (("reschedule", "type:mail", "--in", "soon"), "is not a duration"),
        (("reschedule", "type:mail", "--at", "noon"), "is not an instant"),
        (("retry", "type:mail", "--stagger", "x"), "is not a duration"),
        (("retry", "type:mail", "--stagger", "1m", "--copy"), "exclude each other"),
        (("amend", "type:mail"), "--set FIELD=VALUE or --unset FIELD"),
        (("amend", "type:mail", "--set", "to"), "--set FIELD=VALUE"),
        (("amend", "type:mail", "--set", "a..b=1"), "a field is named by a path"),
        (("bulk", "resume", "ZZZ"), "is not there"),
    ],
)
def test_mistakes_name_the_fix_and_change_nothing(run, shop, words, why):
    ids = fill(shop, 2)
    before = jobs(shop, ids)
    result = run(*words, *(["--yes"] if words[0] != "bulk" else []))
    assert result.code in (exits.USAGE, exits.MISSING)
    assert why in result.err
    assert jobs(shop, ids) == before
    assert shop.store.actions(None, 9) == []


def test_arguments_that_the_type_does_not_take(run, shop):
    ids = fill(shop, 3)
    result = run("amend", "type:mail", "--set", "n=many", "--yes")
    assert result.code == exits.CONFLICT
    assert '3 × payload.n is "many", not of type integer\n    mail(n: int' in result.err
    assert [job.payload for job in jobs(shop, ids)] == ['{"n":0}', '{"n":1}', '{"n":2}']
    taken = run("amend", ids[0], "--set", "n=1")
    assert f"job {ids[1]} holds the key '1'" in taken.err


def test_retries_are_spread_over_a_time(run, shop):
    ids = [shop.dead() for _ in range(4)]
    assert run("retry", "state:dead", "--stagger", "4m", "--yes").err == "3 jobs scheduled, 1 job queued\n"
    times = [job.run_at for job in jobs(shop, ids)]
    assert times[0] is None
    assert times[2] - times[1] == times[3] - times[2] == 60_000


def stop_after(monkeypatch, chunks):
    """Let Ctrl-C come after so many chunks."""
    left = [chunks]

    def sleep(_):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(bulk_run.time, "sleep", sleep)


def test_stopped_by_ctrl_c_listed_and_resumed(run, shop, small, monkeypatch):
    ids = fill(shop)
    stop_after(monkeypatch, 2)
    stopped = run("cancel", "type:mail", "--yes")
    assert stopped.code == exits.INTERRUPTED
    operation = run("bulk", "-q").out.strip()
    assert stopped.err.strip() == f"stopped after 4 of 5 jobs; to go on: mainstay bulk resume {operation}"
    assert f" {operation}  cancel  4 of 5  " in run("bulk").out
    assert "cancel: 4 of 5 jobs of type:mail, stopped (" in run("audit").out
    monkeypatch.setattr(bulk_run.time, "sleep", lambda _: None)
    assert run("bulk", "resume", operation.lower()) == (0, "", "5 jobs cancelled\n")
    assert {job.state for job in jobs(shop, ids)} == {"cancelled"}
    assert run("bulk") == (0, "", "no operation was stopped\n")
    (found,) = json.loads(run("bulk", "--all", "--json").out)
    assert (found["matched"], found["changed"], found["finished"]) == (5, 5, True)
    assert run("bulk", "resume", operation).code == exits.CONFLICT


def test_a_staggered_retry_that_is_resumed_does_not_say_that_all_are_queued(run, shop, small, monkeypatch):
    for _ in range(5):
        shop.dead()
    stop_after(monkeypatch, 2)
    run("retry", "state:dead", "--stagger", "1h", "--yes")
    monkeypatch.setattr(bulk_run.time, "sleep", lambda _: None)
    resumed = run("bulk", "resume", run("bulk", "-q").out.strip())
    assert resumed.err == "5 jobs retried\n"
    assert len(shop.app.list("state:scheduled")) == 4


def test_a_misspelt_type_is_named(run, shop):
    fill(shop, 1)
    assert 'no type is called mial (did you mean "mail"?)' in run("retry", "type:mial", "--dry-run").err


def test_who_began_it_who_goes_on_and_who_gives_it_up(run, shop, small, monkeypatch):
    fill(shop)
    stop_after(monkeypatch, 1)
    run("cancel", "type:mail", "--yes", "--actor", "ada")
    operation = run("bulk", "-q").out.strip()
    stop_after(monkeypatch, 1)
    run("bulk", "resume", operation, "--actor", "bob")
    run("bulk", "forget", operation, "--actor", "eve")
    (line,) = shop.store.actions(None, 9)
    assert (line.actor, line.detail["resumed_by"], line.detail["given_up_by"]) == ("ada", "bob", "eve")


def test_one_that_is_given_up(run, shop, small, monkeypatch):
    fill(shop)
    stop_after(monkeypatch, 1)
    run("cancel", "type:mail", "--yes")
    operation = run("bulk", "-q").out.strip()
    assert run("bulk", "forget", operation) == (0, "", f"the operation {operation} is given up\n")
    assert run("bulk").err == "no operation was stopped\n"


def test_quietly_the_ids_come_as_they_are_changed(run, shop, small):
    ids = fill(shop)
    assert run("cancel", "type:mail", "--yes", "-q") == (0, "".join(f"{job}\n" for job in reversed(ids)), "")


def test_a_terminal_shows_a_bar(run, shop, small, terminal, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    fill(shop)
    result = run("cancel", "type:mail", "--yes")
    assert "━━━━━━━━━━──────────────  40 %  2 of 5" in result.err
    assert result.err.endswith("\r\x1b[K5 jobs cancelled\n")


def test_the_arguments_of_a_job_in_an_editor(run, shop, tmp_path, monkeypatch):
    (job,) = fill(shop, 1)
    script = tmp_path / "editor.sh"
    script.write_text('#!/bin/sh\nsed -i "$CHANGE" "$1"\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    monkeypatch.setenv("CHANGE", "s/0/12/")
    assert run("edit", job, "--reason", "counted anew") == (0, f"{job} changed\n", "")
    assert shop.store.actions(job, 9)[0].detail["note"] == "counted anew"
    assert (jobs(shop, [job])[0].payload, jobs(shop, [job])[0].key) == ('{"n":12}', "12")
    monkeypatch.setenv("CHANGE", "s/12/12/")
    assert run("edit", "job", job) == (0, "", "Nothing changed.\n")
    for change, why in (("s/12/true/", "not of type integer"), ("s/12/1,/", "this is not valid JSON")):
        monkeypatch.setenv("CHANGE", change)
        refused = run("edit", "job", job)
        assert refused.code in (exits.USAGE, exits.CONFLICT)
        assert why in refused.err
        assert "your text is in" in refused.err
        assert f"try: mainstay edit {job} --from" in refused.err
    assert jobs(shop, [job])[0].payload == '{"n":12}'


def test_a_job_that_is_done_keeps_its_arguments(run, shop):
    job = shop.end(payload='{"n":1}')
    for words in (("amend", job, "--set", "n=2"), ("edit", job), ("edit", "job", job)):
        result = run(*words)  # no editor opens
        assert (result.code, f"job {job} was not changed: it has ended" in result.err) == (exits.CONFLICT, True)

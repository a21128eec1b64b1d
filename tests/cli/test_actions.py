"""`retry`, `cancel`, `delete`, `approve`, `reject`: by id at once, by search after a look."""

import json
import re

import pytest

from mainstay.cli import actions, exits
from mainstay.control import bulk_run
from mainstay.core.job import TypeInfo

from .shop import Shop


@pytest.fixture
def shop(app):
    return Shop(app)


def states(shop, jobs):
    return [job.state for job in shop.store.get_many(jobs)]


def test_by_id_at_once(run, shop):
    dead, waiting, first, second = shop.dead(), shop.add(), shop.review(), shop.review()
    assert run("retry", dead) == (0, f"{dead} queued\n", "")
    assert run("cancel", waiting, dead).out == f"{waiting} cancelled\n{dead} cancelled\n"
    assert run("approve", first, "--note", "ok").out == f"{first} approved\n"
    assert run("reject", second.lower()).out == f"{second} rejected\n"
    assert states(shop, [dead, waiting, first, second]) == ["cancelled", "cancelled", "completed", "dead"]
    assert run("delete", dead, "-q").out == f"{dead}\n"
    assert shop.store.get(dead) is None


def test_a_running_job_is_asked_to_stop(run, shop):
    job = shop.claim().id
    assert run("cancel", job).out == f"{job} cancelling\n"


def test_who_did_it_is_on_record(run, shop, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    job = shop.dead()
    run("retry", job)
    assert [(action.actor, action.action) for action in shop.store.actions(job, 5)] == [("ada", "retry")]


@pytest.mark.parametrize(
    ("verb", "make", "why"),
    [
        ("retry", "end", "it completed; --copy does the work again"),
        ("cancel", "dead", "it has ended"),
        ("approve", "dead", "it is dead"),
        ("reject", "add", "it is queued"),
        ("delete", "speaking", "it is running; cancel it first"),
        ("retry", "speaking", "it is running; cancel it first"),
    ],
)
def test_what_the_state_does_not_allow_is_a_conflict(run, shop, verb, make, why):
    job = getattr(shop, make)()
    before = shop.store.get(job)
    result = run(verb, job)
    assert result.code == exits.CONFLICT
    assert why in result.err
    assert f"try: mainstay {'retry' if make == 'end' else 'show'} {job}" in result.err
    assert shop.store.get(job) == before


def test_an_unknown_id_is_not_found(run, shop):
    job = shop.add()
    assert run("retry", "0" * 26).code == exits.MISSING
    result = run("retry", "zz9")
    assert (result.code, result.out) == (exits.MISSING, "")
    assert "to search for the word: text:zz9" in result.err
    assert run("cancel", job, "zz9").code == exits.MISSING
    assert states(shop, [job]) == ["queued"]  # nothing is done when one of them is not there


def test_an_ambiguous_id_lists_the_candidates(run, shop):
    first, second = shop.add(), shop.add()
    result = run("cancel", first[:6])
    assert result.code == exits.USAGE
    assert first in result.err
    assert second in result.err


def test_partly_done_is_said_so(run, shop):
    dead, done = shop.dead(), shop.end()
    result = run("retry", dead, done)
    assert (result.code, result.out) == (exits.PARTIAL, f"{dead} queued\n")
    assert "it completed" in result.err


def test_a_search_is_looked_at_first(run, shop):
    jobs = [shop.dead() for _ in range(3)]
    dry = run("retry", "state:dead", "--dry-run")
    assert dry == (0, "", "3 jobs match (mail 3). Nothing changed. Add --yes to retry.\n")
    unasked = run("retry", "state:dead")
    assert unasked.code == exits.USAGE
    assert "confirm with --yes" in unasked.err
    assert states(shop, jobs) == ["dead"] * 3
    assert run("retry", "state:dead", "--yes") == (0, "", "3 jobs queued\n")
    assert states(shop, jobs) == ["queued"] * 3


def test_a_terminal_is_asked(shell, shop, terminal, monkeypatch):
    jobs = [shop.dead() for _ in range(2)]
    asked = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(actions.click, "confirm", lambda text, err: asked.append(text))
    from mainstay.cli.main import main

    assert main(["delete", "state:dead"]) == 0
    assert asked == ["2 jobs match (mail 2). Delete them?"]
    assert states(shop, jobs) == ["dead"] * 2


def test_a_search_that_finds_nothing_changes_nothing(run, shop):
    shop.add()
    assert run("retry", "state:dead", "--yes") == (0, "", "0 jobs match. Nothing changed.\n")
    hint = '0 jobs match; no type is called mial (did you mean "mail"?). Nothing changed.\n'
    shop.store.register_types([TypeInfo("mail", "default", "mail()", {}, 1, None, "{}")])
    assert run("retry", "type:mial", "--yes") == (0, "", hint)
    assert run("retry", "state:dead") == (0, "", "0 jobs match. Nothing changed.\n")


def test_a_completed_job_runs_again_as_a_copy(run, shop):
    done, waiting = shop.end(payload='{"n":1}', tags=("eu",)), shop.add()
    result = run("retry", done, "--copy")
    copy = re.fullmatch(rf"{done} copied as (\w+)\n", result.out)[1]
    job = shop.app.get(copy)
    assert (job.state, job.parent, job.args, job.tags) == ("queued", done, {"n": 1}, ("eu",))
    assert f"→ mainstay retry {done} --copy" in run("show", done).out
    refused = run("retry", waiting, "--copy")
    assert refused.code == exits.CONFLICT
    assert "it has not ended" in refused.err
    assert run("retry", "state:completed", "--copy", "--yes").err == "1 job copied\n"


def test_everything_needs_to_be_said(run, shop):
    jobs = [shop.add() for _ in range(2)]
    for words in ([], ["state:dead", "--all"]):
        assert run("cancel", *words).code == exits.USAGE
    assert run("cancel", "--all", "--dry-run").err.startswith("2 jobs match")
    assert run("cancel", "--all", "--yes").code == 0
    assert states(shop, jobs) == ["cancelled"] * 2


def test_a_search_reaches_beyond_a_page_and_a_chunk(run, shop, monkeypatch):
    monkeypatch.setattr(bulk_run, "PAGE", 3)
    monkeypatch.setitem(bulk_run.VERBS, "delete", bulk_run.VERBS["delete"]._replace(chunk=2))
    jobs = [shop.add() for _ in range(8)]
    assert run("delete", "state:queued", "--yes").err == "8 jobs deleted\n"
    assert shop.store.get_many(jobs) == []


def test_for_programs(run, shop):
    dead, done = shop.dead(), shop.end()
    assert json.loads(run("retry", "type:mail", "--dry-run", "--json").out) == {
        "matched": 2, "types": {"mail": 2}, "changed": 0,
    }  # fmt: skip
    result = run("retry", "type:mail", "--yes", "--json")
    assert result.code == exits.PARTIAL
    given = json.loads(result.out)
    assert len(given.pop("operation")) == 10
    assert given == {"matched": 2, "changed": 1, "refused": {"completed": 1}}
    by_id = json.loads(run("cancel", dead, done, "--json").out)
    assert by_id == {"matched": 2, "changed": 1, "jobs": {done: "ended", dead: "cancelled"}}


def test_a_user_that_the_system_does_not_know(monkeypatch):
    def unknown():
        raise OSError("No username set in the environment")

    monkeypatch.setattr("getpass.getuser", unknown)
    assert actions.actor() == "cli"

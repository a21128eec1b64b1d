"""`compact`: what it prints, and on the engines that need none what to run."""

import json

import pytest

from mainstay.control.bulk_run import VERBS
from mainstay.core.draft import Draft

from .shop import Shop


def fill(app):
    drafts = [Draft("mail", '{"text": "' + "x" * 500 + '"}') for _ in range(1_000)]
    app.store.enqueue(drafts, 1)
    app.store.delete([draft.id for draft in drafts], 1, "ada")


def test_it_prints_the_sizes(run, app):
    fill(app)
    result = run("compact")
    assert result.code == 0
    assert " before, " in result.out
    assert result.out.endswith(" now\n")


def test_as_json(run, app):
    fill(app)
    done = json.loads(run("compact", "--json").out)
    assert done["after"] < done["before"] / 2
    assert done["advice"] == ""


def test_a_file_that_is_not_there(run, tmp_path):
    assert run("compact", "--url", f"sqlite:///{tmp_path}/none.db").code == 6
    assert not (tmp_path / "none.db").exists()


def test_one_line_for_a_command_on_many_jobs(run, app, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    monkeypatch.setitem(VERBS, "retry", VERBS["retry"]._replace(chunk=2))
    shop = Shop(app)
    jobs = [shop.dead() for _ in range(5)]
    assert run("retry", "state:dead", "--yes").code == 0
    (line,) = app.store.actions(None, 9)
    told = {"jobs": 5, "from": {"dead": 5}, "matched": 5, "search": "state:dead", "bulk": line.detail["bulk"]}
    assert (line.actor, line.action, line.job, line.detail) == ("ada", "retry", None, told | {"declared": True})
    shown = f"ada  retry: 5 of 5 jobs of state:dead (from=dead:5 declared {line.detail['bulk']})"
    assert shown in run("show", jobs[3]).out
    assert json.loads(run("show", jobs[3], "--json").out)["actions"][0]["detail"]["jobs"] == 5


def test_one_line_for_reviews_that_end_together(run, app):
    shop = Shop(app)
    first, second = shop.review(), shop.review()
    assert run("approve", first, second, "--note", "fine").code == 0
    (line,) = app.store.actions(None, 9)
    assert (line.action, line.detail) == ("approve", {"jobs": 2, "note": "fine", "declared": True})


@pytest.mark.parametrize("name", ["vacuum"])
def test_what_others_call_it(run, name):
    assert "mainstay compact" in run(name).err

"""`reviews`, and what people do to them: approve, edit, reject, run again; who may is who the command line says."""

import json

import pytest

from mainstay.cli import exits
from mainstay.core.outcome import Outcome
from mainstay.core.review import terms
from tests.cli.shop import Shop

CODE = """
from mainstay import Mainstay, Review

app = Mainstay("{url}")


@app.job
def mail() -> dict[str, int]:
    raise Review("pay?", output={{"pay": 1}})
"""


@pytest.fixture
def shop(app):
    return Shop(app)


def ask(shop, expires=None, at_deadline="reject", deciders=(), question="12.40 too much", **given):
    asks = terms(expires, at_deadline, deciders, None)
    return shop.end(Outcome("review", reason=question, result='{"pay":1}', review=asks), **given)


@pytest.fixture
def editor(monkeypatch, tmp_path):
    """An editor that writes this text into its file."""

    def use(text):
        script = tmp_path / "editor.sh"
        script.write_text(f"#!/bin/sh\ncat > \"$1\" <<'END'\n{text}\nEND\n", encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv("EDITOR", str(script))

    return use


def test_reviews_lists_the_oldest_first(run, shop):
    first = ask(shop, "2d", deciders=["ada", "role:editor"])
    second = ask(shop, question="and \x1b[31mthis?")
    lines = run("reviews").out.splitlines()
    assert lines[0].split() == ["ID", "TYPE", "WAITED", "EXPIRES", "DECIDERS", "QUESTION"]
    assert [line.split()[:2] for line in lines[1:]] == [[first, "mail"], [second, "mail"]]
    assert lines[1].endswith("ada, role:editor  12.40 too much")
    assert "\x1b" not in lines[2]
    assert run("reviews", "-q").out.split() == [first, second]


def test_reviews_for_programs(run, shop):
    job = ask(shop, "2d", "approve", ["ada"])
    (record,) = json.loads(run("reviews", "--json").out)
    assert record | {"asked_at": "", "expires_at": "", "waited": 0} == {
        "id": job, "type": "mail", "queue": "default", "question": "12.40 too much", "asked_at": "", "expires_at": "",
        "at_deadline": "approve", "deciders": ["ada"], "remind": None, "waited": 0,
    }  # fmt: skip
    assert run("reviews", "--fields", "id,deciders").out.split()[-2:] == [job, '["ada"]']
    wrong = run("reviews", "--fields", "decider")
    assert (wrong.code, 'did you mean "deciders"?' in wrong.err) == (exits.USAGE, True)


def test_reviews_page_by_page(run, shop):
    jobs = [ask(shop) for _ in range(3)]
    first = run("reviews", "-n", 2, "-q")
    assert first.out.split() == jobs[:2]
    more = run("reviews", "-n", 2)
    assert f"there are more: mainstay reviews --after {jobs[1]}" in more.err
    assert run("reviews", "-q", "--after", jobs[1]).out.split() == jobs[2:]


def test_no_review(run, shop):
    shop.add()
    assert run("reviews") == (0, "", "no job is in review\n")
    assert run("reviews", "--json").out == "[]\n"


def test_reviews_fit_80_columns(terminal, shop):
    ask(shop, "2d", deciders=["ada", "role:editor"], question="a long question " * 9)
    seen = terminal("reviews", env={"NO_COLOR": "1", "COLUMNS": "80"}).out.splitlines()
    assert max(map(len, seen)) <= 80
    assert "ada" in seen[1]
    assert "a long" in seen[1]


@pytest.mark.parametrize("form", ["json", "file", "stdin"])
def test_approve_with_another_output(run, shell, shop, tmp_path, form, url):
    job, text = ask(shop), '{"pay": 2, "to": "ü"}'
    (tmp_path / "out.json").write_text(text, encoding="utf-8")
    given = {"json": text, "file": f"@{tmp_path / 'out.json'}", "stdin": "-"}[form]
    if form == "stdin":
        assert shell("approve", job, "--output", given, stdin=text, env={"MAINSTAY_URL": url}).code == 0
    else:
        assert run("approve", job, "--output", given, "--note", "less").code == 0
    assert json.loads(shop.store.result(job)) == {"pay": 2, "to": "ü"}
    detail = shop.store.actions(job, 9)[0].detail
    assert (detail["before"], json.loads(detail["after"])) == ('{"pay":1}', {"pay": 2, "to": "ü"})
    assert detail["declared"] is True


@pytest.mark.parametrize("given", ["{", "pay", "@nowhere.json", ""])
def test_an_output_that_is_no_json_changes_nothing(run, shop, given):
    job = ask(shop)
    wrong = run("approve", job, "--output", given)
    assert wrong.code == exits.USAGE
    assert "not valid JSON" in wrong.err or "cannot be read" in wrong.err
    assert (shop.store.get(job).state, shop.store.actions(None, 9)) == ("review", [])


def test_an_output_is_for_one_job(run, shop):
    jobs = [ask(shop), ask(shop)]
    for words in (jobs, ["state:review", "--yes"]):
        wrong = run("approve", *words, "--output", "1")
        assert (wrong.code, "for one job" in wrong.err) == (exits.USAGE, True)
    assert shop.store.reviews(9) == jobs


def test_an_output_has_to_fit_the_handler_whose_code_is_here(run, shop, tmp_path, monkeypatch, url):
    (tmp_path / "paying.py").write_text(CODE.format(url=url), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    job = ask(shop)
    wrong = run("approve", job, "--output", '{"pay": "much"}', "--app", "paying:app")
    assert wrong.code == exits.USAGE
    assert "the output does not fit what mail returns: output (one of its values): expected int" in wrong.err
    assert shop.store.get(job).state == "review"
    assert run("approve", job, "--output", '{"pay": 3}', "--app", "paying:app").code == 0


@pytest.mark.parametrize("verb", ["approve", "reject", "retry"])
def test_who_is_not_a_decider_is_told_who_is(run, shop, verb):
    job = ask(shop, deciders=["ada", "role:editor"])
    wrong = run(verb, job, "--actor", "bob")
    assert wrong.code == exits.DENIED
    assert "bob may not decide this review: ada or role:editor may" in wrong.err
    assert shop.store.get(job).state == "review"
    assert run(verb, job, "--actor", "bob", "--role", "editor", "--note", "as an editor").code == 0
    line = shop.store.actions(job, 9)[0]
    assert (line.actor, line.detail["declared"], line.detail["note"]) == ("bob", True, "as an editor")


def test_a_search_approves_what_the_actor_may(run, shop):
    mine, others = ask(shop), ask(shop, deciders=["ada"])
    found = run("approve", "state:review", "--yes", "--actor", "bob")
    assert found.code == exits.PARTIAL
    assert "bob may not decide" in found.err
    assert [shop.store.get(job).state for job in (mine, others)] == ["completed", "review"]


def test_a_search_runs_again_what_the_actor_may(run, shop):
    mine, others = ask(shop), ask(shop, deciders=["ada", "role:editor"])
    found = run("retry", "state:review", "--yes", "--actor", "bob", "--note", "again")
    assert (found.code, "bob may not decide" in found.err) == (exits.PARTIAL, True)
    assert [shop.store.get(job).state for job in (mine, others)] == ["queued", "review"]
    line = shop.store.actions(None, 9)[0].detail
    assert (line["declared"], line["note"], line["refused"]) == (True, "again", {"denied": 1})
    only = run("retry", "state:review", "--yes", "--actor", "bob")
    assert only.code == exits.DENIED
    assert run("retry", "state:review", "--yes", "--actor", "bob", "--role", "editor").code == 0


def test_approve_of_a_job_that_is_not_in_review(run, shop):
    job = shop.add()
    wrong = run("approve", job)
    assert (wrong.code, f"job {job} was not changed: it is queued, not in review" in wrong.err) == (
        exits.CONFLICT,
        True,
    )


def test_run_again_with_a_note(run, shop):
    job = ask(shop)
    assert run("retry", job, "--note", "use the other account", "--actor", "ada").code == 0
    line = shop.store.actions(job, 9)[0]
    assert (line.action, line.detail["note"], line.detail["from"]) == ("retry", "use the other account", "review")
    out = run("show", job).out
    assert "run again by ada  use the other account" in " ".join(out.partition("timeline")[2].split()).replace(
        "ada use", "ada  use"
    )


def test_the_timeline_says_who_decided(run, shop):
    job = ask(shop)
    run("approve", job, "--actor", "ada", "--note", "fine")
    assert "completed approved by ada: fine" in " ".join(run("show", job).out.partition("timeline")[2].split())


# edit -------------------------------------------------------------------------------------------------------------------
def test_edit_opens_the_output_and_approves(run, shop, editor):
    job = ask(shop)
    editor('{"pay": 5}')
    done = run("edit", job, "--reason", "the sum was wrong", "--actor", "ada")
    assert (done.code, done.out) == (0, f"{job} approved\n")
    assert (shop.store.get(job).state, json.loads(shop.store.result(job))) == ("completed", {"pay": 5})
    line = shop.store.actions(job, 9)[0]
    assert (line.action, line.actor, line.detail["note"]) == ("approve", "ada", "the sum was wrong")


def test_edit_that_changes_nothing_approves_nothing(run, shop, monkeypatch):
    job = ask(shop)
    monkeypatch.setenv("EDITOR", "true")
    done = run("edit", job)
    assert (done.code, "Nothing changed. To approve it as it is: mainstay approve" in done.err) == (0, True)
    assert shop.store.get(job).state == "review"


def test_after_a_mistake_the_text_is_kept(run, shop, editor):
    job = ask(shop)
    editor("{pay: 5}")
    wrong = run("edit", job)
    assert wrong.code == exits.USAGE
    assert f"try: mainstay edit {job} --from /" in wrong.err
    assert shop.store.get(job).state == "review"


def test_edit_of_a_review_that_another_decides(run, shop, editor):
    job = ask(shop, deciders=["ada"])
    editor('{"pay": 5}')
    assert run("edit", job, "--actor", "bob").code == exits.DENIED
    assert run("edit", job, "--actor", "ada").code == 0


def test_edit_of_a_job_that_is_not_in_review(run, shop):
    wrong = run("edit", shop.claim().id)
    assert (wrong.code, "it is running; cancel it first" in wrong.err) == (exits.CONFLICT, True)


def test_edit_from_a_file_and_dry_run(run, shop, tmp_path):
    job = ask(shop)
    (tmp_path / "new.json").write_text('{"pay": 6}', encoding="utf-8")
    assert "would be approved" in run("edit", job, "--from", "new.json", "--dry-run").err
    assert shop.store.get(job).state == "review"
    assert json.loads(run("edit", job, "--from", "new.json", "--json").out)["result"] == {"pay": 6}


def test_edit_suggests_the_kind(run, shop):
    wrong = run("edit", "tpye", "mail")
    assert (wrong.code, 'did you mean "type"?' in wrong.err) == (exits.USAGE, True)
    assert "which type?" in run("edit", "type").err

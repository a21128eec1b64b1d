"""Many reviews at once: who may decide, the note and the output, also of an operation that was stopped and goes on."""

import json

import pytest

from mainstay import InvalidPayload, Mainstay, UsageError
from mainstay.control import bulk_run
from tests.contract.building import Desk
from tests.contract.test_bulk import Stopped, after
from tests.contract.test_reviews import ask


@pytest.fixture
def app(store, clock):
    return Mainstay(store=store, clock=clock)


@pytest.fixture
def desk(app):
    return Desk(app.store, app.clock)


def states(app, jobs):
    return [app.get(job).state for job in jobs]


def test_roles_note_and_output_of_one_that_was_stopped(app, desk):
    jobs = [ask(desk, deciders=["role:editor"]) for _ in range(3)]
    with pytest.raises(Stopped):
        app.bulk("state:review").approve(
            "fine", output={"pay": 1}, roles=["editor"], actor="ada", progress=after(1)
        )  # fmt: skip
    (stopped,) = app.bulk_operations()
    report = app.bulk_resume(stopped.id, actor="ada")
    assert (report.matched, report.changed, report.refused) == (3, 3, {})
    assert states(app, jobs) == ["completed"] * 3
    assert [json.loads(app.store.result(job)) for job in jobs] == [{"pay": 1}] * 3
    (line,) = app.actions()
    assert (line.detail["jobs"], line.detail["note"]) == (3, "fine")
    assert not {"before", "after", "declared"} & line.detail.keys()


def test_who_goes_on_needs_a_role_of_his_own(app, desk):
    jobs = [ask(desk, deciders=["role:editor"]) for _ in range(3)]
    with pytest.raises(Stopped):
        app.bulk("state:review").reject(roles=["editor"], actor="ada", progress=after(1))
    (stopped,) = app.bulk_operations()
    with pytest.raises(Stopped):
        app.bulk_resume(stopped.id, actor="bob", progress=after(1))
    report = app.bulk_resume(stopped.id, actor="bob", roles=["editor"])
    assert (report.changed, report.refused) == (2, {"denied": 1})
    assert states(app, jobs) == ["dead", "review", "dead"]
    (line,) = app.actions()
    assert (line.detail["jobs"], line.detail["refused"]) == (2, {"denied": 1})


@pytest.mark.parametrize("chunk", [1, 2, 9])
def test_a_retry_by_search_leaves_reviews_of_others_alone(app, desk, monkeypatch, chunk):
    monkeypatch.setitem(bulk_run.VERBS, "retry", bulk_run.VERBS["retry"]._replace(chunk=chunk))
    mine, others = [ask(desk) for _ in range(2)], [ask(desk, deciders=["ada"]) for _ in range(2)]
    report = app.bulk("state:review").retry(note="again", actor="bob")
    assert (report.matched, report.changed, report.refused) == (4, 2, {"denied": 2})
    assert states(app, [*mine, *others]) == ["queued"] * 2 + ["review"] * 2
    (line,) = app.actions()
    told = {"jobs": 2, "matched": 4, "note": "again", "from": {"review": 2}, "refused": {"denied": 2}}
    assert line.detail == told | {"search": "state:review", "bulk": report.id, "with": '{"note": "again"}'}


def test_a_search_that_finds_no_review_reads_no_job(app, desk, monkeypatch):
    desk.run()
    monkeypatch.setattr(app.store, "get_many", lambda ids: pytest.fail("read") if ids else [])
    assert app.bulk("state:dead").retry().matched == 0
    run = bulk_run.Run(app, bulk_run.VERBS["retry"], "ada", {}, "", app.bulk("-state:review")._terms, 0)
    assert run.reviewed(["x"]) == []


def test_by_id_too(app, desk):
    mine, other = ask(desk), ask(desk, deciders=["ada"])
    report = app.bulk(ids=[mine, other]).approve(actor="bob")
    assert report.jobs == {
        mine: "approved",
        other: "denied: bob may not decide this review: ada may",
    }
    assert app.bulk(ids=[other]).retry(actor="bob", roles=["ada"]).refused == {"denied": 1}
    assert states(app, [mine, other]) == ["completed", "review"]


def test_an_output_that_does_not_fit_changes_nothing(app, desk):
    @app.job
    def work() -> dict[str, int]: ...

    job = ask(desk, type="work")
    with pytest.raises(InvalidPayload, match="the output does not fit what work returns"):
        app.bulk("state:review").approve(output={"pay": "much"})
    with pytest.raises(UsageError, match="100,000 characters"):
        app.bulk("state:review").approve(output={"pay" * 50_000: 1})
    assert (states(app, [job]), app.actions()) == (["review"], [])
    assert app.bulk("state:review").approve(output={"pay": 3}).changed == 1


def test_an_edit_keeps_its_note(app):
    jobs = [handle.id for handle in app.enqueue_many(app.prepare("work", {"n": n}) for n in range(2))]
    app.bulk(ids=jobs[:1]).amend({"n": 7}, note="counted anew")
    assert app.actions(jobs[0])[0].detail["note"] == "counted anew"
    assert app.bulk("type:work").amend({"n": 8}, note="all of them").changed == 2
    assert app.actions()[0].detail["note"] == "all of them"

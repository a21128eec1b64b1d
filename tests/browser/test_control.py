"""What operators set: types, queues, limits, schedules, workers; and jobs that they enqueue by a form."""

import re
from contextlib import closing

import pytest
from playwright.sync_api import expect

from mainstay import Mainstay
from tests.waiting import eventually


def test_a_type_is_paused_with_a_reason_and_resumed(desk, office):
    page = desk("#/types")
    row = page.get_by_role("row", name=re.compile("^send_receipt"))
    row.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("the mail server is down")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(row.get_by_text("paused", exact=True)).to_have_attribute(
        "title", re.compile("by ann: the mail server is down")
    )
    row.get_by_role("button", name="Resume").click()
    expect(row.get_by_text("paused", exact=True)).to_have_count(0)


def test_a_queue_is_paused_and_resumed(desk, office):
    page = desk("#/types?tab=queues")
    row = page.get_by_role("row", name=re.compile("^documents"))
    row.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(row.get_by_text("paused", exact=True)).to_be_visible()
    row.get_by_role("button", name="Resume").click()
    expect(row.get_by_text("paused", exact=True)).to_have_count(0)


def test_a_value_of_a_type_is_set_previewed_and_reset(desk, office):
    page = desk("#/type/send_receipt")
    values = page.get_by_role("region", name="Values").first
    values.get_by_role("button", name="Edit…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Value").select_option("timeout")
    dialog.get_by_label("Set it to").fill("2m")
    expect(dialog).to_contain_text("An override survives deploys")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_role("button", name="Save")).to_be_visible()
    assert office.store.rules(["type"], "send_receipt") == []
    dialog.get_by_role("button", name="Save").click()
    row = page.get_by_role("row", name=re.compile("^timeout"))
    expect(row).to_contain_text("ann")
    row.get_by_role("button", name="reset").click()
    expect(row).not_to_contain_text("ann")


def test_a_limit_is_edited(desk, office):
    page = desk("#/types?tab=limits")
    limit = page.get_by_role("region", name=re.compile("Limit .*import_catalog"))
    limit.get_by_role("button", name="Edit…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Value").select_option("running")
    dialog.get_by_label("Set it to").fill("7")
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_role("button", name="Save").click()
    expect(limit).to_contain_text("running 7")
    assert any(each.effective["running"] == 7 for each in office.limits())


@pytest.mark.parametrize(
    ("of", "name", "limit"), [("type", "charge_card", "charge_card"), ("queue", "payments", "queue:payments")]
)
def test_a_type_or_a_queue_without_a_limit_gets_one(desk, office, of, name, limit):
    page = desk("#/types?tab=limits")
    page.get_by_role("button", name="New limit…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Of a").select_option(of)
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_role("button", name="Set").click()
    expect(dialog.get_by_role("alert")).to_contain_text("say how many may run at once")
    dialog.get_by_label("running").fill("3")
    dialog.get_by_label("rate").fill("5/m")
    dialog.get_by_label("Reason").fill("the bank asked")
    dialog.get_by_role("button", name="Set").click()
    expect(page.get_by_role("region", name=f"Limit {limit}")).to_contain_text("running 3 · rate 5/m")
    (made,) = [each for each in office.limits() if each.name == limit]
    assert (made.effective["running"], made.set["running"].actor) == (3, "ann")


def test_limits_that_are_none_say_how_to_set_one(tmp_path, served, opened):
    with closing(Mainstay(f"sqlite:///{tmp_path / 'empty.db'}")) as app:
        page = opened(served(app) + "#/types?tab=limits")
        expect(page.locator(".empty")).to_contain_text("“New limit…” above")
        viewer = opened(served(app, "viewer") + "#/types?tab=limits")
        expect(viewer.locator(".empty")).to_contain_text("An admin sets one here")
        expect(viewer.get_by_role("button", name="New limit…")).to_have_count(0)


def test_a_job_is_enqueued_by_the_form_of_its_type(desk, office):
    page = desk("#/type/send_receipt")
    page.get_by_role("main").get_by_role("link", name="Enqueue").click()
    page.get_by_label(re.compile("^order")).fill("77")
    page.get_by_label(re.compile("^to")).fill("form@example.com")
    page.get_by_role("button", name="Enqueue", exact=True).click()
    expect(page).to_have_url(re.compile("#/job/"))
    (job,) = office.list("args.to:form@example.com")
    assert job.args["order"] == 77


def test_schedules_say_when_they_run_in_words(desk):
    page = desk("#/schedules")
    row = page.get_by_role("row", name=re.compile("^nightly-report"))
    expect(row).to_contain_text(re.compile("04:00|4:00"))
    expect(row).to_contain_text("Europe/Berlin")
    expect(row).to_contain_text(re.compile("then "))


def test_a_schedule_runs_now_is_paused_and_edited_with_its_next_times(desk, office):
    page = desk("#/schedules")
    row = page.get_by_role("row", name=re.compile("^catalogue"))
    before = len(office.list("type:import_catalog", limit=100))
    row.get_by_role("button", name="Run now").click()
    eventually(lambda: len(office.list("type:import_catalog", limit=100)) == before + 1, "an extra job is there")
    row.get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(row.get_by_role("button", name="Resume")).to_be_visible()
    row.get_by_role("button", name="Resume").click()
    row.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Edit…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Every").fill("30m")
    expect(dialog.get_by_role("region", name="Next times").get_by_role("listitem")).to_have_count(10)
    dialog.get_by_role("button", name="Save").click()
    expect(row.get_by_text("drift")).to_be_visible()


def test_workers_show_what_they_hold_and_are_drained(desk, office):
    page = desk("#/workers")
    main = page.get_by_role("main")
    expect(main).to_contain_text("web-1:4121")
    expect(main.get_by_role("link", name="extract_invoice").first).to_be_visible()
    main.get_by_role("button", name=re.compile("Drain")).first.click()
    confirm = page.get_by_role("dialog").get_by_role("button", name=re.compile("Drain|Stop"))
    confirm.last.click()
    eventually(
        lambda: any(each.action.startswith("worker") or "drain" in str(each) for each in office.actions(limit=5)),
        "the worker is asked",
    )

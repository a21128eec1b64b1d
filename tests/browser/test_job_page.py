"""The page of one job: what happened to it, why it waits, and what can be done with it."""

import re

import pytest
from playwright.sync_api import expect

from tests.waiting import eventually


@pytest.fixture
def at(desk, office):
    """Open the page of the newest job of a search: `at("state:dead", "logs")`."""
    return lambda search, tab="attempts": desk(f"#/job/{office.list(search, limit=1)[0].id}?tab={tab}")


def test_the_timeline_has_each_point_and_the_time_between(at):
    page = at("type:extract_invoice state:completed")
    timeline = page.get_by_role("region", name="Timeline")
    expect(timeline).to_contain_text(
        re.compile(r"created.*started.*stage read done.*completed", re.DOTALL | re.IGNORECASE)
    )
    expect(timeline.locator(".tl-took").first).to_have_text(re.compile(r"\d"))


def test_every_attempt_has_its_traceback_with_our_frames_open(at):
    page = at("type:charge_card state:dead,retrying")
    attempts = page.get_by_role("tabpanel").locator("details.attempt")
    expect(attempts.first).to_have_attribute("open", "")
    assert attempts.count() >= 2
    expect(attempts.first.locator(".frame.user").first).to_be_visible()
    expect(attempts.first).to_contain_text("GatewayTimeout")
    expect(attempts.nth(1)).not_to_have_attribute("open", "")


def test_progress_and_stages_of_a_running_job(at):
    page = at("state:running")
    progress = page.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("17 of 40")
    expect(page.get_by_role("progressbar").first).to_have_attribute("aria-label", re.compile("4[23] % done"))
    expect(progress.get_by_text("extract", exact=True)).to_be_visible()


def test_the_log_is_in_the_page_by_level_and_can_be_kept(at):
    page = at("state:running", "logs")
    lines = page.get_by_role("log")
    expect(lines).to_contain_text("a table without a header")
    page.get_by_label("Level").select_option("warning")
    expect(lines).not_to_contain_text("opened contract.pdf")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert "a table without a header" in download.value.path().read_text(encoding="utf-8")


def test_arguments_are_a_tree_that_can_be_copied(at):
    page = at("type:extract_invoice state:completed", "arguments")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tree = page.get_by_role("group", name="Arguments")
    expect(tree.get_by_text("deskew")).to_be_visible()
    tree.get_by_role("button", name="Copy as JSON").click()
    assert '"deskew": true' in page.evaluate("navigator.clipboard.readText()")
    expect(page.get_by_text("mainstay enqueue extract_invoice").first).to_be_visible()


def test_secrets_in_arguments_are_not_shown(desk, office):
    job = office.enqueue("send_receipt", {"order": 1, "to": "a@example.com", "language": "password=hunter2-hunter2"})
    page = desk(f"#/job/{job.id}?tab=arguments")
    expect(page.get_by_role("group", name="Arguments")).to_contain_text("redacted")
    assert "hunter2-hunter2" not in page.content()


def test_arguments_are_edited_and_the_job_is_retried(at, office, watched):
    watched.forgive("422", "400")
    page = at("type:extract_invoice state:dead")
    page.get_by_role("button", name="Edit and retry").click()
    dialog = page.get_by_role("dialog")
    editor = dialog.get_by_label(re.compile("^Arguments of"))
    editor.fill('{"document": "typed.pdf", "pages": "many"}')
    dialog.get_by_role("button", name="Save and retry").click()
    expect(dialog).to_contain_text("pages")
    expect(dialog.locator(".field-error")).to_be_visible()
    editor.fill('{"document": "typed.pdf", "pages": 2}')
    dialog.get_by_role("button", name="Save and retry").click()
    expect(page.get_by_text("Saved and retried")).to_be_visible()
    expect(page.locator(".job-head").get_by_text("queued")).to_be_visible()
    assert office.list("args.document:typed.pdf")[0].state == "queued"


def test_a_running_job_is_asked_to_stop(at, office):
    page = at("state:running")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
    expect(page.get_by_text("Cancel requested").first).to_be_visible()
    assert office.list("state:running")[0].cancel_at is not None


def test_why_a_job_waits_is_said(at):
    page = at("state:blocked type:import_catalog")
    why = page.get_by_role("region", name="Why it is not running")
    expect(why).to_contain_text("the supplier moves its servers")
    expect(why.get_by_role("link").first).to_be_visible()


def test_parents_and_children_lead_to_each_other(at, office):
    page = at("state:blocked type:nightly_report", "context")
    waits = page.get_by_role("region", name="Waits for")
    waits.get_by_role("link", name="extract_invoice").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("extract_invoice")
    expect(page.locator(".job-head").get_by_text("running")).to_be_visible()


def test_a_copy_runs_and_a_job_is_deleted(at, office, watched):
    watched.forgive("404")  # the page asks once more for the job that it has deleted
    page = at("state:dead type:extract_invoice")
    old = page.url.partition("#/job/")[2][:26]
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Run a copy").click()
    page.wait_for_url(lambda url: "#/job/" in url and old not in url)
    copy = page.url.partition("#/job/")[2][:26]
    expect(page.locator(".job-head").get_by_text(copy)).to_be_visible()
    assert office.get(copy).parent == old
    page.get_by_role("button", name="More").click()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    eventually(lambda: office.store.get(copy) is None, "the job is deleted")


def test_a_job_that_is_not_there_says_so(desk, watched):
    watched.forgive("404")
    page = desk("#/job/01M7NYFS88HG6AV1B5PK0000ZZ")
    expect(page.get_by_role("heading", name="There is no such job")).to_be_visible()


def test_why_a_job_waits_is_told_in_the_zone_of_the_page(at):
    page = at("state:scheduled")
    why = page.get_by_role("region", name="Why it is not running")
    expect(why).to_contain_text(re.compile(r"scheduled for (\d\d-\d\d )?\d\d:\d\d"))
    expect(why.locator("time").first).to_have_attribute("title", re.compile("CES?T · .*UTC"))
    expect(why).not_to_contain_text(re.compile(r"\dT\d\d:"))

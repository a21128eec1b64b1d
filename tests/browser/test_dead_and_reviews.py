"""Dead jobs by their cause, and decisions of people."""

import re

from playwright.sync_api import expect

from tests.waiting import eventually


def test_dead_jobs_are_one_row_for_each_cause(desk, office):
    page = desk("#/dead")
    causes = page.get_by_role("list", name="Causes").get_by_role("listitem")
    expect(causes).to_have_count(len(office.dead()))
    scans = causes.filter(has_text="has no text")
    expect(scans.locator(".dead-count")).to_contain_text(re.compile(r"\d+\s*jobs?"))
    scans.get_by_role("link").first.click()
    expect(page.get_by_role("region", name="Traceback of the newest job")).to_contain_text("Permanent")
    expect(page.get_by_role("region", name="Jobs", exact=True).get_by_role("listitem").first).to_contain_text(
        "extract_invoice"
    )


def test_one_is_retried_then_the_rest(desk, office):
    page = desk("#/dead")
    cause = page.get_by_role("list", name="Causes").get_by_role("listitem").filter(has_text="has no text")
    dead = len(office.list("type:extract_invoice state:dead", limit=100))
    cause.get_by_role("button", name="Retry one").click()
    eventually(lambda: len(office.list("type:extract_invoice state:queued")) == 1, "one job is retried")
    expect(cause.locator(".number-small")).to_have_text(str(dead - 1))
    cause.get_by_role("button", name="Retry all…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Spread over").fill("10m")
    dialog.get_by_role("button", name=re.compile(r"^Retry \d")).click()
    eventually(lambda: not office.list("type:extract_invoice state:dead"), "all are retried")
    expect(cause).to_have_count(0)


def test_a_cause_is_resolved_with_a_note_and_opened_again(desk, office):
    page = desk("#/dead")
    cause = page.get_by_role("list", name="Causes").get_by_role("listitem").filter(has_text="has no text")
    cause.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Resolve…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Note").fill("scans go elsewhere now")
    dialog.get_by_role("button", name="resolve").click()
    expect(cause).to_have_count(0)
    page.goto(page.url.partition("#")[0] + "#/dead?show=all")
    expect(cause).to_contain_text("resolved by ann")
    cause.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Reopen…").click()
    page.get_by_role("dialog").get_by_role("button", name="reopen").click()
    expect(cause.get_by_text("resolved by ann")).to_have_count(0)


def test_dead_jobs_are_purged_after_their_number_is_typed(desk, office):
    page = desk("#/dead")
    cause = page.get_by_role("list", name="Causes").get_by_role("listitem").filter(has_text="has no text")
    count = cause.locator(".number-small").inner_text()
    cause.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Purge…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("to confirm").fill(count)
    dialog.get_by_role("button", name="Delete them").click()
    eventually(lambda: not office.list("type:extract_invoice state:dead"), "they are gone")


def test_a_review_is_edited_and_approved_with_a_note(desk, office):
    job = office.reviews()[0].id
    page = desk(f"#/job/{job}")
    card = page.get_by_role("region", name="Is the total 118.00?")
    expect(card).to_contain_text("Nordwind")
    card.get_by_role("button", name="Edit first").click()
    card.get_by_label("Output to approve").fill('{"total": 11900, "currency": "EUR", "supplier": "Nordwind"}')
    card.get_by_label("Note", exact=True).fill("119, it says")
    card.get_by_role("button", name="Approve the edited output").click()
    eventually(lambda: office.get(job).state == "completed", "the job is approved")
    assert office.get(job).result["total"] == 11_900
    expect(page.locator(".job-head").get_by_text("completed")).to_be_visible()


def test_reviews_are_decided_by_keys_alone(desk, office):
    page = desk("#/reviews")
    expect(page.get_by_role("list", name="Reviews").get_by_role("button").first).to_be_visible()
    waiting = [each.id for each in office.reviews()]
    assert len(waiting) >= 2
    page.keyboard.press("a")
    eventually(lambda: len(office.reviews()) == len(waiting) - 1, "one is approved")
    expect(page.get_by_role("list", name="Reviews").get_by_role("button")).to_have_count(len(waiting) - 1)
    page.keyboard.press("x")
    eventually(lambda: len(office.reviews()) == len(waiting) - 2, "one is rejected")
    ends = sorted(office.get(job).state for job in waiting if office.get(job).state != "review")
    assert ends == ["completed", "dead"]


def test_who_may_not_decide_is_told_who_does(office, served, opened):
    page = opened(served(office, "viewer") + "#/reviews")
    expect(page.get_by_text("To be decided by role:editor, ann.")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)

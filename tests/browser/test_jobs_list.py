"""The list of jobs: search, facets, selection, actions on many, and that a search is an address."""

import re
from urllib.parse import quote

from playwright.sync_api import expect

from tests.waiting import eventually


def rows(page):
    return page.get_by_role("list", name="Jobs").get_by_role("listitem")


def test_a_search_by_qualifiers_is_an_address(desk):
    page = desk("#/jobs")
    page.get_by_label("Search jobs").fill("state:dead type:extract_invoice")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"#/jobs\?q=state"))
    expect(rows(page).first).to_contain_text("has no text")
    count = rows(page).count()
    page.reload()
    expect(rows(page)).to_have_count(count)
    page.go_back()
    expect(page.get_by_label("Search jobs")).to_have_value("")


def test_a_search_by_an_argument_is_suggested_and_found(desk):
    page = desk("#/jobs")
    box = page.get_by_label("Search jobs")
    box.press_sequentially("args.doc")
    option = page.get_by_role("option", name=re.compile(r"args\.document"))
    expect(option).to_be_visible()
    box.press("Tab")
    expect(box).to_have_value("args.document:")
    box.press_sequentially("contract.pdf")
    box.press("Enter")
    expect(rows(page)).to_have_count(1)
    expect(rows(page).first).to_contain_text("running")


def test_a_mistake_in_a_search_is_told_beside_it(desk, watched):
    watched.forgive("422", "400")
    page = desk("#/jobs")
    page.get_by_label("Search jobs").fill("colour:red")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("colour")


def test_facets_have_counts_and_change_the_search(desk):
    page = desk("#/jobs")
    dead = page.get_by_role("region", name="State").get_by_role("button", name=re.compile("dead"))
    expect(dead.locator(".facet-count")).to_have_text(re.compile(r"[1-9]\d*"))
    wanted = int(dead.locator(".facet-count").inner_text())
    dead.click()
    expect(page.get_by_label("Search jobs")).to_have_value("state:dead")
    expect(rows(page)).to_have_count(wanted)
    expect(dead).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("region", name="Tenant").get_by_role("button", name=re.compile("globex"))).to_be_visible()


def test_selected_jobs_are_retried_after_a_preview(desk, office):
    page = desk("#/jobs?q=" + quote("type:extract_invoice state:dead"))
    rows(page).first.get_by_role("checkbox").check()
    page.get_by_role("region", name="Actions on the selection").get_by_role("button", name="Retry").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 job of 1 type")
    before = len(office.list("state:dead", limit=100))
    dialog.get_by_role("button", name="Retry 1", exact=True).click()
    expect(page.get_by_text("started on 1 job")).to_be_visible()
    eventually(lambda: len(office.list("state:dead", limit=100)) == before - 1, "one job less is dead")


def test_all_that_match_are_deleted_as_many_as_the_preview_says(desk, office):
    page = desk("#/jobs?q=" + quote("type:send_receipt state:completed"))
    expect(rows(page)).to_have_count(50)
    page.get_by_label("Select these").check()
    page.get_by_role("button", name="Select all that match the search").click()
    page.get_by_role("region", name="Actions on the selection").get_by_role("button", name="More").click()
    page.get_by_role("button", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    matched = dialog.locator(".preview .big")
    expect(matched).to_have_text(re.compile(r"\d+"))
    count = int(matched.inner_text())
    assert count == len(office.list("type:send_receipt state:completed", limit=1_000)) > 50
    submit = dialog.get_by_role("button", name=f"Delete {count}")
    expect(submit).to_be_disabled()
    dialog.get_by_label(f"Type {count} to confirm").fill(str(count))
    submit.click()
    eventually(lambda: office.list("type:send_receipt state:completed") == [], "all are deleted")
    page.goto(page.url.partition("#")[0] + "#/bulk")
    page.get_by_role("link", name="delete").click()
    expect(page.get_by_text("finished", exact=True)).to_be_visible()
    expect(page.get_by_text(f"{count} of {count}")).to_be_visible()


def test_rows_that_are_new_wait_until_somebody_wants_them(desk, office):
    page = desk("#/jobs")
    first = rows(page).first.get_attribute("data-row")
    office.enqueue("send_receipt", {"order": 1, "to": "new@example.com"})
    page.get_by_role("button", name="1 new").click()
    expect(rows(page).first).to_contain_text("new@example.com")
    assert first in [row.get_attribute("data-row") for row in rows(page).all()[:3]]


def test_nothing_found_says_which_term_to_leave_out(desk):
    page = desk("#/jobs?q=" + quote("state:dead tag:nowhere"))
    expect(page.get_by_role("heading", name="No job matches")).to_be_visible()
    page.get_by_role("button", name=re.compile("tag:nowhere")).click()
    expect(rows(page).first).to_be_visible()


def test_a_search_is_kept_as_a_view(desk):
    page = desk("#/jobs?q=" + quote("state:dead"))
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="Save this search…").click()
    page.get_by_role("dialog").get_by_label("Name").fill("My dead")
    page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    page.goto(page.url.partition("#")[0] + "#/jobs")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name=re.compile("My dead")).click()
    expect(page.get_by_label("Search jobs")).to_have_value("state:dead")


def test_the_rail_says_which_jobs_its_counts_are_of(desk):
    page = desk("#/jobs")
    rail = page.get_by_role("complementary", name="Filters")
    cancelled = rail.get_by_role("button", name="cancelled").locator(".facet-count")
    expect(rail).to_contain_text("States, types and queues count unfinished and dead jobs")
    expect(cancelled).to_have_text("")  # not counted
    page.goto(page.url.partition("#")[0] + "#/jobs?q=state:dead")
    expect(rail).to_contain_text("that match")
    expect(rail).not_to_contain_text("unfinished")
    expect(cancelled).to_have_text("0")

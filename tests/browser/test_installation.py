"""Who may see and do what, who did what, and how the page suits its reader: audit, roles, tenants, login, theme, zone, phones."""

import re

import pytest
from playwright.sync_api import expect

from mainstay import Mainstay
from mainstay.stores.sqlite import errors
from mainstay.web.roles import Access
from tests.browser.conftest import PHONE


def test_the_audit_says_who_did_what_and_is_exported(desk, office):
    page = desk("#/audit")
    main = page.get_by_role("main")
    expect(main).to_contain_text("the supplier moves its servers")
    expect(main).to_contain_text("ann")
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("CSV|Export")).click()
    assert "ann" in download.value.path().read_text(encoding="utf-8")


def test_a_viewer_is_offered_nothing_to_change(office, served, opened):
    page = opened(served(office, "viewer") + "#/jobs?q=state:dead")
    rows = page.get_by_role("list", name="Jobs").get_by_role("listitem")
    rows.first.get_by_role("link").first.click()
    expect(page.get_by_role("region", name="Timeline")).to_be_visible()
    for name in ("Retry", "Edit and retry", "Cancel", "Delete…"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="Enqueue")).to_have_count(0)
    page.goto(page.url.partition("#")[0] + "#/types")
    expect(page.get_by_role("row", name=re.compile("^send_receipt"))).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)


def test_a_tenant_sees_its_own_jobs_only(office, served, opened):
    page = opened(served(office, Access("operator", actor="gus", tenant="globex")) + "#/jobs")
    rows = page.get_by_role("list", name="Jobs").get_by_role("listitem")
    expect(rows.first).to_be_visible()
    shown = rows.locator(".tag[title=Tenant]").all_inner_texts()
    assert set(shown) == {"globex"}
    expect(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Settings")).to_have_count(0)


def test_a_token_is_made_shown_once_used_to_log_in_and_revoked(office, served, opened, watched):
    admin = opened(served(office) + "#/settings?tab=tokens")
    admin.get_by_role("button", name=re.compile("New token|Create")).click()
    dialog = admin.get_by_role("dialog")
    dialog.get_by_label("Name").fill("ops")
    dialog.get_by_label("Role").select_option("operator")
    dialog.get_by_role("button", name="Create").click()
    token = admin.get_by_role("dialog", name="The token").locator("pre, code").first.inner_text().strip()
    watched.forgive("401")
    page = opened(served(office, None))
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text(re.compile("unknown, revoked or expired"))).to_be_visible()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("region", name="Health")).to_be_visible()
    admin.keyboard.press("Escape")
    admin.get_by_role("row", name=re.compile("^ops")).get_by_role("button", name="Revoke…").click()
    admin.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible(timeout=20_000)


def test_who_is_not_logged_in_to_the_application_around_it_is_not_asked_for_a_token(office, served, opened, watched):
    watched.forgive("401")
    users = []
    page = opened(served(office, lambda _: users[-1] if users else None))
    expect(page.get_by_text("The application around this dashboard decides who you are: log in there")).to_be_visible()
    expect(page.get_by_label("Token")).to_have_count(0)
    users.append(Access("viewer", actor="vera"))
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("region", name="Health")).to_be_visible()


def test_a_sqlite_that_may_damage_files_is_explained(desk, monkeypatch):
    monkeypatch.setattr(errors, "wal_reset_bug", lambda version: True)
    store = desk("#/settings").get_by_role("region", name="Store")
    expect(store).to_contain_text("a checkpoint that meets a write damages the file. Run Python with SQLite 3.51.3")


def test_the_theme_is_dark_light_or_that_of_the_system(desk):
    page = desk(color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    page.get_by_role("main").wait_for()
    dark = page.evaluate(background)
    page.get_by_role("button", name="Theme: system").click()
    light = page.evaluate(background)
    assert lightness(dark) < 80
    assert lightness(light) > 200
    page.get_by_role("button", name="Theme: light").click()
    page.reload()
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert page.evaluate(background) == dark


def lightness(colour):
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def test_times_are_shown_in_the_chosen_zone(desk, office):
    job = office.list("state:completed", limit=1)[0]
    page = desk(f"#/job/{job.id}")
    first = page.get_by_role("region", name="Timeline").locator(".tl-at").first
    expect(first).to_have_text(re.compile(r"\d\d:\d\d"))
    local = first.inner_text()
    page.get_by_role("button", name="Time zone: local").click()
    page.get_by_role("dialog").get_by_label("Another zone").fill("Asia/Kolkata")
    page.get_by_role("dialog").get_by_role("button", name="Show times there").click()
    expect(first).not_to_have_text(local)
    assert abs(minutes(first.inner_text()) - minutes(local)) % 60 == 30
    expect(first.locator("time")).to_have_attribute("title", re.compile("UTC"))


def minutes(text):
    hours, past = re.search(r"(\d\d):(\d\d)", text).groups()
    return int(hours) * 60 + int(past)


EMPTY = {
    "overview": "No job type is known yet", "jobs": "There are no jobs yet", "dead": "No job has died", "reviews": "Nothing waits for a decision",
    "types": "No type is registered", "workers": "worker", "schedules": "schedule", "bulk": "No bulk operation yet",
}  # fmt: skip


@pytest.mark.parametrize("place", EMPTY)
def test_an_empty_page_teaches_what_to_type(tmp_path, served, opened, place):
    app = Mainstay(f"sqlite:///{tmp_path / 'empty.db'}")
    page = opened(served(app) + f"#/{place}")
    empty = page.locator(".empty")
    expect(empty).to_contain_text(EMPTY[place])
    if place != "dead":
        expect(empty.locator("pre, code").first).to_be_visible()
    app.close()


def test_a_phone_reaches_filters_and_acts(desk, office):
    page = desk("#/jobs", viewport=PHONE, has_touch=True)
    page.get_by_role("button", name="Filters").tap()
    page.get_by_role("region", name="State").get_by_role("button", name=re.compile("dead")).tap()
    page.get_by_role("list", name="Jobs").get_by_role("link").first.tap()
    page.get_by_role("button", name="Retry", exact=True).tap()
    expect(page.locator(".job-head").get_by_text("queued")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_a_store_out_of_reach_is_diagnosed_and_heals(desk, watched):
    watched.forgive("503", "Failed to load")
    page = desk("#/types")
    expect(page.get_by_role("row", name=re.compile("^send_receipt"))).to_be_visible()
    refused = {
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": 503,
        "code": "store_unavailable",
        "detail": "the store does not reply",
    }
    page.route(
        "**/api/**", lambda route: route.fulfill(status=503, json=refused, content_type="application/problem+json")
    )
    page.reload()
    expect(page.get_by_text("the store does not reply")).to_be_visible()
    page.unroute("**/api/**")
    expect(page.get_by_role("row", name=re.compile("^send_receipt"))).to_be_visible(timeout=20_000)

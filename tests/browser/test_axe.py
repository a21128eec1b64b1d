"""Accessibility: axe finds nothing on any page, light and dark, wide and narrow."""

import functools

import pytest
from playwright.sync_api import expect

from mainstay.core.export import DeliveryRecord
from tests.browser.conftest import PHONE, WIDE
from tests.browser.places import places
from tests.servers import npm

pytestmark = pytest.mark.slow
PACKAGE, VERSION, SIZE = "axe-core", "4.14.0", "3 MB"
INTEGRITY = "sha512-9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ=="
JOB = "01JQ93ZK5M0123456789ABCDEF"
FOUND = """() => axe.run({resultTypes: ['violations']}).then(({violations}) =>
  violations.flatMap(({id, help, nodes}) => nodes.map(({html, failureSummary}) => [id, help, html.slice(0, 200), failureSummary].join(' | '))))"""
GROUPS = {  # of places that one test walks through
    "overview": ["overview"],
    "jobs": ["jobs", "bulk", "enqueue"],
    "job": ["job-running", "job-review", "job-scheduled", "job-blocked"],
    "job that died": ["job-attempts", "job-logs", "job-arguments", "job-result", "job-context", "job-history"],
    "dead and reviews": ["dead", "cause", "reviews"],
    "types": ["types", "types-queues", "types-limits", "type"],
    "schedules and workers": ["schedules", "schedule", "workers"],
    "audit": ["audit"],
    "settings": [
        "settings",
        "settings-settings",
        "settings-alerts",
        "settings-events",
        "settings-webhooks",
        "settings-tokens",
    ],
}


@functools.cache
def axe():
    return (npm.package(PACKAGE, VERSION, INTEGRITY, SIZE) / "package/axe.min.js").read_text(encoding="utf-8")


def violations(page):
    """What axe finds in both themes and both widths."""
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        for viewport in (WIDE, PHONE):
            page.set_viewport_size(viewport)
            found += [f"{theme} {viewport['width']}: {each}" for each in page.evaluate(FOUND)]
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_axe_finds_nothing(desk, office, group):
    known, page, found = places(office), desk(), {}
    page.context.add_init_script(axe())  # past the policy of the page, as the debugger does
    page.reload()
    for name in GROUPS[group]:
        page.goto(page.url.partition("#")[0] + known[name])
        expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_attached()
        expect(page.locator(".skeleton")).to_have_count(0)
        found[name] = violations(page)
    assert {name: each for name, each in found.items() if each} == {}


def test_axe_finds_nothing_in_dialogs(desk):
    page = desk("#/jobs?q=state:dead")
    page.context.add_init_script(axe())
    page.reload()
    page.get_by_label("Select these").check()
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("jobs of")
    found = violations(page)
    page.keyboard.press("Escape")
    for keys, title in (("?", "Keyboard shortcuts"), ("Control+k", "Jump to")):
        page.keyboard.press(keys)
        expect(page.get_by_role("dialog", name=title)).to_be_visible()
        found += violations(page)
        page.keyboard.press("Escape")
    assert found == []


def test_axe_finds_nothing_in_events_and_deliveries(desk, office):
    office.subscriptions.add("receipts", "order.*", "send_receipt")
    office.incoming.add("shop", event="shop.{data.type}")
    office.webhooks.add("https://example.com/hook", id="ledger")
    for error in ("the receiver replied 500", None):
        office.store.record_delivery(DeliveryRecord("ledger", 0, JOB, 1, 1, 500, 15, error, "no"), office.clock.now())
    page, found = desk("#/settings?tab=webhooks&webhook=ledger"), []
    page.context.add_init_script(axe())
    page.reload()
    expect(page.get_by_role("region", name="Deliveries as a table")).to_be_visible()
    found += violations(page)
    for where, button in (
        ("settings?tab=events", "New subscription…"),
        ("settings?tab=events", "New receiver…"),
        ("types?tab=limits", "New limit…"),
    ):
        page.goto(f"{page.url.partition('#')[0]}#/{where}")
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        found += violations(page)
        page.keyboard.press("Escape")
        found += violations(page)
    assert found == []


def test_axe_finds_nothing_on_the_login(office, served, opened, watched):
    watched.forgive("401")
    page = opened(served(office, None))
    page.context.add_init_script(axe())
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()
    assert violations(page) == []

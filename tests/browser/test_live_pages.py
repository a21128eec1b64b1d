"""Open pages stay true: a change is seen within half a second, on every engine; a hidden tab costs nothing."""

import json
from contextlib import closing
from urllib.parse import unquote

import pytest
from playwright.sync_api import expect

from tests.browser.office import filled
from tests.waiting import eventually

# When the mark of a pause comes or goes, by the clock of the page.
SEEN = """(wanted) => new Promise((resolve) => {
  const marked = () => document.querySelector('[data-row=send_receipt] .tag.warn') !== null;
  const look = () => marked() === wanted ? resolve(Date.now()) : setTimeout(look, 5);
  look();
})"""


@pytest.mark.slow
@pytest.mark.alone
def test_a_change_is_seen_within_half_a_second(on_each_engine, served, opened):
    with closing(filled(on_each_engine, minutes=4)) as office:
        page = opened(served(office.app) + "#/types")
        expect(page.get_by_role("button", name="Live updates: live")).to_be_visible()
        expect(page.get_by_role("row", name="send_receipt")).to_be_visible()
        took = []
        for paused in (True, False, True, False, True):
            page.evaluate(f"void (window.seen = ({SEEN})({json.dumps(paused)}))")
            began = page.evaluate("Date.now()")
            (office.app.pause if paused else office.app.resume)(type="send_receipt")
            took.append(page.evaluate("window.seen") - began)
        assert sorted(took)[2] <= 500, took


def test_a_running_job_moves_on_in_the_open_page(desk, office):
    (job,) = office.list("state:running")
    page = desk(f"#/job/{job.id}")
    expect(page.locator(".job-head").get_by_text("running")).to_be_visible()
    office.cancel(job.id, actor="bob")
    expect(page.locator(".job-head").get_by_text("cancelling")).to_be_visible()


def test_the_header_counts_on_other_pages_without_the_overview(desk, office):
    page, asked = desk("#/types"), []
    page.on("request", lambda request: asked.append(unquote(request.url)))
    page.reload()
    groups, badge = office.dead(), page.get_by_role("navigation", name="Pages").locator(".b-dead")
    expect(badge).to_have_text(str(sum(each.jobs for each in groups)))
    office.dead_group(groups[0].fingerprint).ignore(actor="ann")
    expect(badge).to_have_text(str(sum(each.jobs for each in groups[1:])))
    assert any("/api/counts" in url for url in asked)
    assert not any("/api/overview" in url for url in asked)


def test_a_hidden_tab_closes_its_stream_and_opens_it_again(desk, office):
    page = desk("#/workers")
    live = page.locator("button.live")
    expect(live).to_have_attribute("aria-label", "Live updates: live")
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))"
    )
    expect(live).to_have_attribute("aria-label", "Live updates: paused")
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {get: () => false, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))"
    )
    expect(live).to_have_attribute("aria-label", "Live updates: live")


def test_a_page_is_held_still_until_it_follows_again(desk, office):
    page = desk("#/types")
    row = page.get_by_role("row", name="send_receipt")
    expect(row).to_be_visible()
    page.keyboard.press(".")
    expect(page.get_by_role("button", name="Live updates: held")).to_be_visible()
    office.pause(type="send_receipt", reason="meanwhile")
    page.keyboard.press(".")
    expect(row.get_by_text("paused", exact=True)).to_be_visible()


def test_a_late_reply_does_not_replace_what_the_stream_has_delivered_meanwhile(desk, office):
    page, held = desk("#/types"), []
    paused = page.get_by_role("row", name="send_receipt").get_by_text("paused", exact=True)
    expect(page.get_by_role("button", name="Live updates: live")).to_be_visible()
    before = page.evaluate("fetch('api/types').then(reply => reply.text())")

    def hold(route):
        held.append(route)

    page.context.route("**/api/types", hold)
    page.get_by_role("row", name="charge_card").get_by_role("button", name="Pause").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("for a moment")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    eventually(lambda: page.evaluate("true") and held, "the page asks again")
    office.pause(type="send_receipt", reason="meanwhile")
    expect(paused).to_be_visible()
    for each in held:
        with page.expect_request_finished():
            each.fulfill(body=before, content_type="application/json")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert paused.is_visible()  # at once: an answer whose ages have grown comes after some seconds


def test_a_page_polls_where_no_stream_passes(desk, office, watched):
    watched.forgive("api/live", "ERR_FAILED")
    page = desk("#/types", service_workers="block")
    page.context.route("**/api/live**", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("button", name="Live updates: every 5 s")).to_be_visible(timeout=20_000)
    expect(page.get_by_role("row", name="send_receipt")).to_be_visible()


def test_a_page_that_is_opened_while_no_stream_passes_does_not_wait_for_the_next_poll(desk, watched):
    watched.forgive("api/live", "ERR_FAILED")
    page = desk("#/types")
    page.context.route("**/api/live**", lambda route: route.abort())
    page.clock.install()
    page.reload()
    expect(page.get_by_role("button", name="Live updates: every 5 s")).to_be_visible(timeout=20_000)
    page.clock.pause_at(page.evaluate("Date.now()") + 50)
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Audit").click()
    expect(page.get_by_role("heading", name="Audit")).to_be_visible()  # what it asks for is known from here on
    page.clock.run_for(100)
    expect(page.get_by_role("main")).to_contain_text("the supplier moves its servers")


def test_an_address_without_its_id_names_no_page_and_leaves_the_stream_open(desk):
    page = desk()
    base = page.url.partition("#")[0]
    for place in ("job", "type", "schedule"):
        page.goto(f"{base}#/{place}/")
        expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    expect(page.get_by_role("button", name="Live updates: live")).to_be_visible()

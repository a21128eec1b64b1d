"""What creates jobs from outside, and what is told to others: subscriptions, incoming webhooks, and deliveries of webhooks."""

import re
from contextlib import closing

import pytest
from playwright.sync_api import expect

from mainstay import Mainstay
from mainstay.handlers import webhook
from tests.senders.receiving import receiver
from tests.waiting import eventually


@pytest.fixture
def book(office):
    """A subscription of the office."""
    office.subscriptions.add("receipts", "order.*", "send_receipt", {"order": "$.data.id", "to": "ada@example.com"})


def test_a_subscription_is_added_disabled_enabled_and_removed(desk, office):
    page = desk("#/settings?tab=events")
    expect(page.get_by_role("region", name="Subscriptions")).to_contain_text("No event creates a job")
    page.get_by_role("button", name="New subscription…").click()
    dialog = page.get_by_role("dialog")
    for label, text in (("Name", "receipts"), ("Event", "order.*"), ("Type", "send_receipt")):
        dialog.get_by_label(label, exact=True).fill(text)
    dialog.get_by_label("Arguments (JSON)").fill('{"order": "$.data.id", "to": "ada@example.com"}')
    dialog.get_by_label("Reason").fill("asked for")
    dialog.get_by_role("button", name="Add").click()
    row = page.get_by_role("row", name=re.compile("^receipts"))
    expect(row).to_contain_text('order="$.data.id"')
    (made,) = office.publish("order.paid", {"id": 7})
    assert made.job().args["order"] == 7
    row.get_by_role("button", name="Disable…").click()
    dialog.get_by_role("button", name="Disable").click()
    expect(row.get_by_text("disabled", exact=True)).to_be_visible()
    assert office.publish("order.paid", {"id": 8}) == []
    row.get_by_role("button", name="Enable").click()
    expect(row.get_by_text("disabled", exact=True)).to_have_count(0)
    row.get_by_role("button", name="Remove…").click()
    dialog.get_by_label("Reason").fill("no longer")
    dialog.get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    assert office.subscriptions.list() == []
    assert {"asked for", "no longer"} <= {each.detail.get("reason") for each in office.actions(limit=9)}


@pytest.mark.usefixtures("book")
def test_a_form_replaces_no_subscription_and_sends_no_broken_json(desk, office):
    page = desk("#/settings?tab=events")
    page.get_by_role("button", name="New subscription…").click()
    dialog = page.get_by_role("dialog")
    for label, text in (("Name", "receipts"), ("Event", "*"), ("Type", "charge_card")):
        dialog.get_by_label(label, exact=True).fill(text)
    dialog.get_by_role("button", name="Add").click()
    expect(dialog.get_by_role("alert")).to_contain_text("receipts is there already")
    dialog.get_by_label("Name", exact=True).fill("another")
    dialog.get_by_label("Arguments (JSON)").fill('{"order": ')
    dialog.get_by_role("button", name="Add").click()
    expect(dialog.get_by_role("alert")).to_contain_text("This is not JSON yet")
    assert [each.event for each in office.subscriptions.list()] == ["order.*"]


def test_a_receiver_is_added_with_its_secret_shown_once(desk, office):
    page = desk("#/settings?tab=events")
    page.get_by_role("button", name="New receiver…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("shop")
    dialog.get_by_label("A message").select_option("creates a job")
    dialog.get_by_label("Type", exact=True).fill("send_receipt")
    dialog.get_by_role("button", name="Add").click()
    shown = page.get_by_role("dialog", name="Receiver shop").locator("pre")
    expect(shown.nth(0)).to_have_text(re.compile("/api/hooks/shop$"))
    expect(shown.nth(1)).to_have_text(re.compile("^whsec_"))
    page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row", name=re.compile("^shop"))
    expect(row).to_contain_text("creates a job send_receipt")
    assert "whsec_" not in page.get_by_role("main").inner_text()
    row.get_by_role("button", name="Disable…").click()
    dialog.get_by_role("button", name="Disable").click()
    expect(row.get_by_text("disabled", exact=True)).to_be_visible()
    row.get_by_role("button", name="Remove…").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    assert office.incoming.list() == []


def test_a_webhook_is_added_with_its_secret_shown_once_then_disabled_and_removed(desk, office):
    page = desk("#/settings?tab=webhooks")
    page.get_by_role("button", name="New webhook").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Address", exact=True).fill("https://example.com/hook")
    dialog.get_by_label("Events", exact=True).fill("order.*, invoice.paid")
    dialog.get_by_label("Id", exact=True).fill("ledger")
    dialog.get_by_role("button", name="Add").click()
    expect(page.get_by_role("dialog", name="Webhook ledger").locator("pre")).to_have_text(re.compile("^whsec_"))
    page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row", name=re.compile("example.com"))
    expect(row).to_contain_text("order.*, invoice.paid")
    row.get_by_role("button", name="Disable…").click()
    dialog.get_by_role("button", name="Disable").click()
    expect(row.get_by_role("button", name="Enable")).to_be_visible()
    row.get_by_role("button", name="Remove…").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)
    assert office.webhooks.list() == []


@pytest.mark.usefixtures("book")
def test_a_viewer_sees_events_and_changes_none(office, served, opened):
    page = opened(served(office, "viewer") + "#/settings?tab=events")
    expect(page.get_by_role("row", name=re.compile("^receipts"))).to_be_visible()
    for name in ("New subscription…", "New receiver…", "Disable…", "Remove…"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.get_by_role("tab", name="Webhooks").click()
    expect(page.get_by_text("No webhook is set up")).to_be_visible()
    expect(page.get_by_role("button", name="New webhook")).to_have_count(0)


def test_a_delivery_that_failed_is_shown_and_sent_again(tmp_path, served, opened):
    with closing(Mainstay(f"sqlite:///{tmp_path / 'jobs.db'}")) as app, receiver() as shop:
        webhook.register(app, allow=["127.0.0.0/8"])
        app.webhooks.add(shop.url, "order.*", id="ledger")
        shop.reply = lambda handler: handler.send_error(400)
        (message,) = app.webhooks.send("order.paid", {"id": 7})
        app.drain()
        page = opened(served(app) + "#/settings?tab=webhooks")
        page.get_by_role("button", name="Deliveries").click()
        rows = page.get_by_role("region", name="Deliveries as a table").locator("tbody tr")
        expect(rows.first).to_contain_text(re.compile(r"failed\s*400"))
        shop.reply = lambda handler: handler.send_error(204)
        rows.first.get_by_role("button", name="Send again").click()
        eventually(lambda: message.job().state == "queued", "the message waits again")
        app.drain()
        expect(rows.first).to_contain_text(re.compile(r"delivered\s*204"))
        expect(page.get_by_role("button", name="Send again")).to_have_count(0)

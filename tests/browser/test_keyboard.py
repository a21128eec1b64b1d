"""Without a mouse: the questions that operators ask, reviews, pauses and limits, by keys alone."""

import re

from playwright.sync_api import expect

from mainstay.control.pauses import all_pauses
from tests.waiting import eventually


def go(page, key, page_name):
    page.keyboard.press("g")
    page.keyboard.press(key)
    expect(page).to_have_url(re.compile(f"#/{page_name}"))


def tab_to(page, name, most=80):
    """Press Tab until what is called so has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        called = page.evaluate(
            "(document.activeElement.getAttribute('aria-label') || document.activeElement.textContent || '').trim()"
        )
        if re.match(name, called):
            return
    raise AssertionError(f"{name} was not reached by {most} tabs")


def test_the_questions_of_an_operator_are_answered(desk, office):
    """What is outstanding, what failed and why, what is stuck, how long jobs take, what ran in the last hour, are there duplicates."""
    page = desk()
    expect(page.get_by_role("row", name=re.compile("extract_invoice"))).to_be_visible()  # outstanding, p95 run
    go(page, "d", "dead")
    expect(page.get_by_role("list", name="Causes").get_by_role("listitem").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Traceback of the newest job")).to_be_visible()
    for search in ("state:running age:>1m", "finished:1h state:completed", "key:document-1"):
        page.keyboard.press("/")
        expect(page.get_by_label("Search jobs")).to_be_focused()
        page.keyboard.press("Control+a")
        page.keyboard.type(search)
        page.keyboard.press("Enter")
        expect(page.get_by_label("Search jobs")).to_have_value(search)
        expect(page.locator(".rows, .empty").first).to_be_visible()
        page.keyboard.press("Escape")
    assert len(office.list("key:document-1")) == 1
    expect(page.get_by_role("list", name="Jobs").get_by_role("listitem")).to_have_count(1)


def test_rows_are_walked_selected_and_opened(desk):
    page = desk("#/jobs")
    expect(page.get_by_role("list", name="Jobs").get_by_role("listitem").first).to_be_visible()
    for key in ("j", "x", "j", "j", "Shift+X"):
        page.keyboard.press(key)
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("3 selected")).to_have_count(0)
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/job/"))


def test_a_dead_job_is_retried(desk, office):
    (job,) = office.list("state:dead", limit=1)
    page = desk(f"#/job/{job.id}")
    expect(page.get_by_role("button", name="Retry", exact=True)).to_be_visible()
    page.keyboard.press("Shift+R")
    eventually(lambda: office.get(job.id).state == "queued", "the job is retried")


def test_a_type_is_paused_and_a_limit_is_set(desk, office):
    page = desk("#/type/send_receipt")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    tab_to(page, "Pause")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_be_focused()
    page.keyboard.type("by keys")
    page.keyboard.press("Enter")
    eventually(
        lambda: any(each.reason == "by keys" for kind in office.types() for each in kind.paused), "the type is paused"
    )
    expect(page.get_by_role("dialog")).to_have_count(0)
    go(page, "t", "types")
    page.get_by_role("tab", name="Types").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Limits")).to_be_focused()
    expect(page.get_by_role("button", name="Edit…").first).to_be_visible()
    tab_to(page, "Edit")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Set it to")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("button", name="Save")).to_be_visible()
    page.keyboard.press("Enter")
    eventually(lambda: any(each.effective["running"] == 9 for each in office.limits()), "the limit is set")


def test_the_palette_jumps_to_a_job_a_type_and_an_action(desk, office):
    page = desk()
    expect(page.get_by_role("region", name="Health")).to_be_visible()
    (job,) = office.list("state:dead", limit=1)
    for typed, where in (
        (job.id, f"#/job/{job.id}"),
        ("charge_card", "#/type/charge_card"),
        ("Enqueue a job", "#/enqueue"),
    ):
        page.keyboard.press("Control+k")
        expect(page.get_by_role("dialog", name="Jump to")).to_be_visible()
        page.keyboard.type(typed)
        expect(page.get_by_role("option").first).to_be_visible()
        if typed == "charge_card":
            page.get_by_role("option", name=re.compile("^charge_card")).click()
        else:
            page.keyboard.press("Enter") if typed == job.id else page.get_by_role(
                "option", name=re.compile("^Enqueue a job")
            ).click()
        expect(page).to_have_url(re.compile(re.escape(where)))


def test_the_palette_pauses_with_a_reason_and_resumes(desk, office):
    page = desk("#/jobs")
    expect(page.get_by_role("list", name="Jobs").get_by_role("listitem").first).to_be_visible()
    for typed, title, pause in (
        ("pause everything", "Pause everything", "all"),
        ("pause type send", "Pause send_receipt", "type"),
        ("pause queue mail", "Pause mail", "queue"),
    ):
        choose(page, typed)
        expect(page.get_by_role("dialog", name=title).get_by_label("Reason")).to_be_focused()
        page.keyboard.type(f"why {pause}")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert f"why {pause}" in {each.reason for each in all_pauses(office) if each.of == pause}
    choose(page, "resume queue mail")
    eventually(lambda: not any(each.of == "queue" for each in all_pauses(office)), "the queue runs again")


def choose(page, typed):
    """Choose what the palette offers first for a text."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Jump to")).to_be_visible()
    page.keyboard.type(typed)
    expect(page.get_by_role("option").first).to_have_text(re.compile(typed, re.IGNORECASE))
    page.keyboard.press("Enter")


def test_the_help_lists_the_keys_and_gives_the_focus_back(desk):
    page = desk("#/jobs")
    expect(page.get_by_role("list", name="Jobs").get_by_role("listitem").first).to_be_visible()
    page.get_by_role("button", name="Keyboard shortcuts").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Jump to a job, type, page or action")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_focused()

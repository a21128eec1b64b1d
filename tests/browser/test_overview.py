"""The overview: is it healthy, what is wrong, and how fast is it; everything leads to the jobs behind it."""

import re

from playwright.sync_api import expect


def test_throughput_and_percentiles_of_the_last_hour_are_drawn(desk):
    page = desk()
    expect(page.get_by_role("heading", name="Attempts per minute")).to_be_visible()
    expect(page.locator(".uplot canvas")).to_have_count(2)
    drawn = "(canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0)"
    assert all(page.locator(".uplot canvas").nth(each).evaluate(drawn) for each in range(2))
    page.get_by_role("button", name="Run", exact=True).or_(page.get_by_role("radio", name="Run")).first.click()
    expect(page.get_by_role("heading", name="How long jobs run")).to_be_visible()


def test_a_range_of_the_chart_is_a_search(desk):
    page = desk()
    box = page.locator(".uplot .u-over").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"#/jobs\?q=finished"))
    expect(page.get_by_label("Search jobs")).to_have_value(re.compile("^finished:"))


def test_numbers_lead_to_their_jobs(desk):
    page = desk()
    numbers = page.locator(".numbers")
    for name in ("waiting", "running", "done / min", "failed / min", "oldest wait"):
        expect(numbers.get_by_text(name, exact=True)).to_be_visible()
    numbers.get_by_role("link", name=re.compile("^running")).click()
    expect(page.get_by_label("Search jobs")).to_have_value("state:running")
    expect(page.get_by_role("list", name="Jobs").get_by_role("listitem")).to_have_count(1)


def test_types_show_percentiles_the_oldest_job_and_that_no_worker_has_them(desk):
    page = desk()
    table = page.locator("table.table")  # the legends of charts are tables too
    expect(table).to_be_visible()
    heads = table.get_by_role("columnheader").all_inner_texts()
    assert [each.lower() for each in heads[1:9]] == [
        "waiting",
        "running",
        "retrying",
        "dead",
        "oldest",
        "p95 wait",
        "p95 run",
        "failed",
    ]
    row = table.get_by_role("row", name=re.compile("import_catalog"))
    expect(row.get_by_text("paused")).to_be_visible()
    expect(row.get_by_text("no worker")).to_be_visible()
    expect(row.get_by_role("cell").nth(6)).not_to_have_text("–")


def test_what_is_wrong_is_said_with_what_to_do(desk):
    page = desk()
    verdict = page.get_by_role("region", name="Health")
    expect(verdict).to_contain_text("degraded")
    verdict.locator("summary").click()
    expect(verdict.get_by_text("dead letters")).to_be_visible()
    expect(page.get_by_role("region", name="What is wrong").get_by_role("code").first).to_contain_text("mainstay")


def test_the_instance_and_its_environment_are_shown(office, served, opened):
    page = opened(served(office, name="shop", environment="production", accent="#c026d3"))
    header = page.get_by_role("banner")
    expect(header.get_by_text("shop", exact=True)).to_be_visible()
    expect(header.get_by_text("production", exact=True)).to_be_visible()
    assert page.title() == "Overview · shop"


def test_a_browser_whose_language_is_no_language_tag_shows_the_page(desk):
    page = desk()
    page.add_init_script("Object.defineProperty(navigator, 'language', {get: () => 'en-US@posix', configurable: true})")
    page.reload()
    expect(page.get_by_role("region", name="Health")).to_be_visible()
    expect(page.locator("canvas").first).to_be_visible()

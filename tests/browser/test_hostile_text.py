"""Stored text is text: no page runs it, loads what it names, or breaks from it; and the reader sees it as it is."""

import re
from contextlib import closing

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.hostile import fill
from tests.browser.places import places

pytestmark = pytest.mark.slow
# Where each of these fields is shown: the first characters of the field's text are its name.
SHOWN = {
    "jobs": ["type", "smuggled", "tenant", "tag", "error"],
    "dead": ["error", "actor"],
    "reviews": ["question", "output key", "output", "decider"],
    "types": ["type", "docstring"],
    "types-queues": ["queue"],
    "schedules": ["schedule"],
    "workers": ["worker", "host"],
    "audit": ["actor"],
    "settings-settings": ["description"],
    "settings-events": ["event key"],
    "settings-tokens": ["token", "tenant of token"],
    "job-running": ["progress stage", "detail key", "detail"],
    "job-logs": ["log", "field", "logged"],
    "job-arguments": ["arg", "value", "key", "item"],
    "job-context": ["tenant", "ref", "unique"],
    "job-attempts": ["error", "code"],
    "type": ["docstring"],
}


@pytest.fixture
def hostile(on_each_engine):
    app, fields = fill(on_each_engine)
    with closing(app):
        yield app, fields


def test_no_page_runs_what_is_stored(hostile, served, opened):
    app, _ = hostile
    page = opened(served(app))
    base, found = page.url.partition("#")[0], places(app)
    assert {"job-running", "job-review", "job-logs", "cause", "schedule"} <= found.keys()
    for where in found.values():
        page.goto(base + where)
        expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_attached()
        expect(page.locator(".skeleton")).to_have_count(0)
        page.locator("main details").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
        assert page.evaluate("window.owned") is None, where
        assert page.locator("main img[src='x'], main script, main iframe, main a[href^='javascript:']").count() == 0, (
            where
        )
    assert page.url.startswith(base)


@pytest.mark.engines("sqlite")
def test_the_reader_sees_it_as_it_is(hostile, served, opened):
    app, fields = hostile
    page = opened(served(app))
    base, known = page.url.partition("#")[0], places(app)
    missing = {}
    for name, wanted in SHOWN.items():
        page.goto(base + known[name] + ("?show=all" if name == "dead" else ""))
        expect(page.locator(".skeleton")).to_have_count(0)
        shown = page.get_by_role("main").evaluate("(main) => main.textContent")
        missing[name] = [
            field for field in wanted if not any(readable(text) in readable(shown) for text in fields[field])
        ]
    assert {name: each for name, each in missing.items() if each} == {}


def readable(text):
    """A text without what JSON writes otherwise, and without what is between its words."""
    plain = re.sub(r"\\u[0-9a-f]{4}|\\", "", text)
    return "".join(part for part in plain if part.isprintable() and not part.isspace())


def test_long_text_does_not_widen_a_phone(hostile, served, opened):
    app, _ = hostile
    page = opened(served(app), viewport=PHONE)
    base, wide = page.url.partition("#")[0], {}
    for name, where in places(app).items():
        page.goto(base + where)
        expect(page.locator(".skeleton")).to_have_count(0)
        wide[name] = page.evaluate("document.documentElement.scrollWidth")
    assert {name: each for name, each in wide.items() if each > PHONE["width"]} == {}

"""Every page opens, by its address, in both widths, and none scrolls sideways: only tables do, inside their own regions."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, WIDE
from tests.browser.places import PAGES, TABS

PLACES = [*PAGES, *(f"{page}?tab={tab}" for page, tabs in TABS.items() for tab in tabs)]
SIDEWAYS = "() => { scrollTo(1000, 0); return [document.documentElement.scrollWidth, scrollX]; }"


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("place", PLACES)
def test_a_page_opens_by_its_address(desk, place, viewport):
    shown = desk(f"#/{place}", viewport=viewport, is_mobile=viewport == PHONE)
    expect(shown.get_by_role("main").get_by_role("heading", level=1)).to_be_visible()
    expect(shown.locator(".skeleton")).to_have_count(0)
    wide, scrolled = shown.evaluate(SIDEWAYS)
    assert (wide <= viewport["width"], scrolled) == (True, 0), f"the page is {wide} px wide"

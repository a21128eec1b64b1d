"""Pictures of the dashboard, of an office that is the same each time: `python3 dev.py screenshots`.

It writes every page to docs/images, light and dark, wide and narrow. `--all FOLDER` writes every tab and every kind of job too.
"""

import argparse
import io
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image
from playwright.sync_api import expect, sync_playwright

from mainstay.web.roles import Access
from tests.browser.office import filled
from tests.browser.places import places
from tests.servers import browser
from tests.servers.asgi import serving

ROOT = Path(__file__).parents[2]
INSTANT = datetime(2026, 3, 3, 10, 0, tzinfo=UTC)
WIDTHS = {1440: 900, 360: 740}
THEMES = ("light", "dark")
SHOWN = (
    "overview",
    "jobs",
    "job-running",
    "dead",
    "reviews",
    "types",
    "schedules",
    "workers",
    "audit",
    "settings",
)  # in the docs
LARGEST = 150_000  # bytes of a picture
COLOURS = 256
ANN = Access("admin", actor="ann", roles=("editor",))


def main():
    """Take the pictures."""
    parser = argparse.ArgumentParser(prog="dev.py screenshots", description=__doc__.partition("\n")[0])
    parser.add_argument("--all", metavar="FOLDER", type=Path, help="every place that has an address")
    folder = parser.parse_args().all
    with tempfile.TemporaryDirectory() as place, closing(office(place)) as shown:
        known = places(shown.app)
        wanted = [(name, theme, width) for name in (known if folder else SHOWN) for theme in THEMES for width in WIDTHS]
        take(shown, known, wanted, folder or ROOT / "docs/images")


def office(folder):
    """The office at the instant of the pictures; its clock stands still there."""
    return filled(f"sqlite:///{folder}/jobs.db", round(INSTANT.timestamp() * 1000))


def take(shown, known, wanted, folder):
    """Write the wanted pictures to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    dashboard = shown.app.dashboard(access=lambda _: ANN, name="office", environment="staging", accent="#7c3aed")
    with (
        serving(dashboard) as url,
        sync_playwright() as playwright,
        playwright.chromium.launch(**browser.browser().options()) as launched,
    ):
        for name, theme, width in wanted:
            path = folder / f"{name}-{theme}-{width}.png"
            path.write_bytes(small(picture(launched, f"{url}/{known[name]}", theme, width)))
            print(f"{path.stat().st_size:>7,} bytes  {path}", flush=True)


def picture(launched, address, theme, width):
    """A page as PNG, once it shows what it has."""
    look = {"color_scheme": theme, "viewport": {"width": width, "height": WIDTHS[width]}, "reduced_motion": "reduce"}
    with launched.new_context(locale="en-GB", timezone_id="UTC", **look) as context:
        page = context.new_page()
        page.clock.set_fixed_time(INSTANT)
        page.goto(address)
        expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_attached()
        expect(page.locator(".skeleton")).to_have_count(0)
        expect(page.locator("button.live")).to_have_attribute("aria-label", "Live updates: live")
        return page.screenshot()


def small(png):
    """A picture with few colours, which pages of text do not miss."""
    written = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        written, "PNG", optimize=True
    )
    if len(written.getvalue()) > LARGEST:
        raise SystemExit(
            f"a picture has {len(written.getvalue()):,} bytes, the limit is {LARGEST:,}: show less, or a smaller window"
        )
    return written.getvalue()


if __name__ == "__main__":
    main()

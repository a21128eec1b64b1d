"""A browser on the dashboard: one for the session, a fresh context for each test, a real server on a real store.

What goes wrong in a page fails its test: an error, an error in the console, a violation of the content security policy, a
request that fails. A test that expects one says so by `watched.forgive(…)`.
"""

import shutil
from contextlib import ExitStack, closing

import pytest
from playwright.sync_api import expect, sync_playwright

from mainstay import Mainstay
from mainstay.web.roles import Access
from tests.browser.office import filled
from tests.browser.watching import Watched
from tests.servers import browser as browsers, session
from tests.servers.asgi import serving
from tests.servers.engines import ENGINES

TIMEOUT = 10_000  # ms that a page may take to show what is expected: the machine may be busy
ANN = Access("admin", actor="ann", roles=("editor",))
expect.set_options(timeout=TIMEOUT)
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def chromium():
    """The browser of a file of tests. While it is there, an event loop of playwright runs in this thread, in which other tests could not start theirs."""
    with sync_playwright() as playwright, playwright.chromium.launch(**browsers.browser().options()) as launched:
        yield launched


@pytest.fixture(scope="session")
def busy_office(tmp_path_factory):
    """A SQLite file with the office at work, made once, and the ids of what tests look for."""
    folder = session.folder() / "office"
    with session.turn("office"):
        folder.mkdir(exist_ok=True)
        if not (folder / "jobs.db").exists():
            with closing(filled(f"sqlite:///{folder / 'new.db'}", minutes=12)):
                pass
            (folder / "new.db").rename(folder / "jobs.db")
    return folder / "jobs.db"


@pytest.fixture
def office(busy_office, tmp_path):
    """An application on a copy of the office, in real time."""
    shutil.copyfile(busy_office, tmp_path / "jobs.db")
    with closing(Mainstay(f"sqlite:///{tmp_path / 'jobs.db'}")) as app:
        yield app


@pytest.fixture
def served():
    """Serve a dashboard: `served(app)`, `served(app, "viewer")`, `served(app, None)` for one that asks for a token, or with a callback; its URL."""
    with ExitStack() as stack:

        def served(app, access=ANN, **options):
            who = Access(access, actor="ann") if isinstance(access, str) else access
            asked = {} if who is None else {"access": who if callable(who) else lambda _: who}
            return stack.enter_context(serving(app.dashboard(**asked, **options))) + "/"

        yield served


@pytest.fixture
def watched():
    """What went wrong in the pages of the test; it must be nothing that was not forgiven."""
    found = Watched()
    yield found
    assert found.wrong() == []


@pytest.fixture
def opened(chromium, served, watched):
    """Open a page in a context of its own: `opened(url)`; pages are closed before their server ends."""
    with ExitStack() as stack:

        def opened(url, viewport=WIDE, **options):
            context = stack.enter_context(
                chromium.new_context(viewport=viewport, locale="en-GB", timezone_id="Europe/Berlin", **options)
            )
            context.set_default_timeout(TIMEOUT)
            page = context.new_page()
            watched.watch(page)
            page.goto(url)
            return page

        yield opened


@pytest.fixture
def desk(office, served, opened):
    """Open a place of the dashboard of the office: `desk("#/jobs")`."""
    url = served(office)
    return lambda place="", **options: opened(url + place, **options)


@pytest.fixture(params=[name for name in ("sqlite", "postgres18", "valkey") if name in ENGINES])
def on_each_engine(request, tmp_path):
    """The URL of an empty store of each kind of engine."""
    with ENGINES[request.param](tmp_path) as url:
        yield url

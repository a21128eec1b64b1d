"""The HTTP API on each engine: an application on a fresh store, and clients that call it as somebody."""

import contextlib

import pytest
from starlette.testclient import TestClient

from mainstay import Mainstay
from mainstay.core.clock import ManualClock
from mainstay.stores import open_store
from mainstay.testing.kit import InlineWorker
from mainstay.web.roles import Access
from tests.contract.building import Desk
from tests.contract.invariants import check
from tests.servers.asgi import serving


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def store(engine_url, clock):
    with open_store(engine_url, clock) as store:
        yield store
        check(store, clock.now())


@pytest.fixture
def app(store, clock):
    return Mainstay(store=store, clock=clock)


@pytest.fixture
def desk(store, clock):
    """The store with the clock and the usual moves at hand."""
    return Desk(store, clock)


@pytest.fixture
def run(app):
    """Run what is due."""
    return lambda: InlineWorker(app).drain()


@pytest.fixture
def site(app):
    """Return a client of the API that calls as somebody: `site()`, `site("viewer")`, `site(Access("operator", tenant="acme"))`."""
    with contextlib.ExitStack() as stack:

        def site(access="admin", **options):
            who = Access(access, actor="ann") if isinstance(access, str) else access
            return stack.enter_context(TestClient(app.dashboard(access=lambda _: who, **options)))

        yield site


@pytest.fixture
def client(site):
    """A client of an administrator."""
    return site()


@pytest.fixture
def served(app):
    """Serve the API by a real server on loopback, for what streams: `served("viewer")` returns its URL."""
    with contextlib.ExitStack() as stack:

        def served(access="admin", **options):
            who = Access(access, actor="ann") if isinstance(access, str) else access
            return stack.enter_context(serving(app.dashboard(access=lambda _: who, **options)))

        yield served

"""One suite for every engine: each test runs on a fresh store of each, and its jobs are checked when it is through."""

import pytest

from mainstay.core.clock import ManualClock
from mainstay.stores import open_store
from tests.contract.building import Desk
from tests.contract.invariants import check
from tests.servers import engines as servers


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def url(engine_url):
    return engine_url


@pytest.fixture
def untouched(engine, tmp_path):
    """The URL of a store that was never opened."""
    with servers.untouched(engine, tmp_path) as url:
        yield url


@pytest.fixture
def store(url, clock):
    with open_store(url, clock) as store:
        yield store
        check(store, clock.now())


@pytest.fixture
def desk(store, clock):
    """The store with the clock and the usual moves at hand."""
    return Desk(store, clock)


@pytest.fixture
def shared(store, url):
    """The URL under which others reach this store too; an engine that cannot be shared is not asked (tests/conftest.py)."""
    store.types()  # opened, so that the others find it made
    return url


@pytest.fixture
def another(shared, clock):
    """A second store object on the same jobs."""
    with open_store(shared, clock) as store:
        yield store


@pytest.fixture
def target(tmp_path, clock):
    """A store to move to."""
    with open_store(f"sqlite:///{tmp_path / 'target.db'}", clock) as store:
        yield store


@pytest.fixture
def elsewhere(tmp_path, clock):
    """Another store with a worker, whose jobs are to move."""
    with open_store(f"sqlite:///{tmp_path / 'elsewhere.db'}", clock) as store:
        yield Desk(store, clock)

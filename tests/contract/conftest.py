"""One suite for every engine: each test runs on a fresh store of each, and its jobs are checked when it is through."""

from contextlib import contextmanager

import pytest

from mainstay.core.clock import ManualClock
from mainstay.stores import open_store
from tests.contract.building import Desk
from tests.contract.invariants import check


@contextmanager
def sqlite_file(folder):
    yield f"sqlite:///{folder / 'jobs.db'}"


@contextmanager
def sqlite_memory(folder):
    yield "sqlite:///:memory:"


ENGINES = {"sqlite": sqlite_file, "memory": sqlite_memory}  # name: a context that answers the URL of a fresh store
ALONE = {"memory": "a database in memory belongs to one store object, in one process"}


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def url(engine, tmp_path):
    with ENGINES[engine](tmp_path) as url:
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
def shared(engine, store, url):
    """The URL under which others reach this store too; engines that cannot be shared are left out, with the reason."""
    if engine in ALONE:
        pytest.skip(f"{engine}: {ALONE[engine]}")
    store.types()  # opened, so that the others find it made
    return url


@pytest.fixture
def another(shared, clock):
    """A second store object on the same jobs."""
    with open_store(shared, clock) as store:
        yield store

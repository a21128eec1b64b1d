"""The order of the tests: what fails fast runs first. Nothing is left out. And the engines that a test runs on."""

import os
import signal
from pathlib import Path

import pytest

from tests.servers import session
from tests.servers.engines import ENGINES, kind
from tests.servers.worker_locks import released

FOLDERS = ["unit", "repo", "contract", "stores"]  # then the others by name, then everything marked slow
LONGEST = ["migrations", "examples"]  # of the slow ones: first, so that the others fill the time beside them
# The HTTP API is the same code over stores that the contract suite checks: one engine of each kind shows that it fits them.
ONE_OF_EACH = {"web": {"sqlite", "postgres18", "valkey"}}
MARK = (
    "engines(*kinds): the test concerns these engines only: sqlite, memory, postgres, redis, or one version of a kind"
)


def pytest_configure(config):
    config.addinivalue_line("markers", MARK)
    os.environ["XDG_RUNTIME_DIR"] = str(session.folder())  # what workers leave there goes with the session
    session.folder()  # here, before xdist starts its workers: the servers that they share end with this process
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # tests interrupt what they start


def pytest_generate_tests(metafunc):
    """A test that asks for an `engine` runs once on each that it concerns."""
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", engines(metafunc))


def engines(metafunc):
    """All engines, or those of the kinds that the test is marked with; a test of several processes leaves memory out."""
    marks = list(metafunc.definition.iter_markers("engines"))
    folder = Path(metafunc.definition.fspath).parent.name
    usual = ONE_OF_EACH.get(folder) or {kind(name) for name in ENGINES}
    kinds = set(marks[0].args) if marks else set(usual)
    if "shared" in metafunc.fixturenames:
        kinds.discard("memory")  # such a database belongs to one store object
    return [name for name in ENGINES if kinds & {kind(name), name}]


@pytest.fixture
def engine_url(engine, tmp_path):
    """The URL of an empty store of the engine."""
    with ENGINES[engine](tmp_path) as url:
        yield url


@pytest.fixture(autouse=True)
def no_lock_is_left():
    """Release what workers of the test hold: a test that gives a worker up would keep its descriptor to the end."""
    with released():
        yield


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("alone"):
            item.add_marker("slow")
    items.sort(key=place)


def place(item):
    folder = Path(item.path).relative_to(Path(__file__).parent).parts[0]
    slow = item.get_closest_marker("slow") is not None
    first = LONGEST if slow else FOLDERS
    return slow, first.index(folder) if folder in first else len(first), folder

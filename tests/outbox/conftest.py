"""A store, the user's table beside it, and a user of each kind of connection."""

from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from mainstay import Mainstay
from tests.outbox.callers import ALL, SQLITE, Place
from tests.servers import postgres
from tests.servers.engines import ENGINES, SERVERS

POSTGRES = [name for name in SERVERS if name.startswith("postgres")][-1]  # the drivers are what differs here


@contextmanager
def place_for(engine, folder):
    """A fresh store's place, with the user's table where there can be one."""
    with ENGINES[engine](folder) as url:
        if url.startswith("redis"):
            yield Place(url)
            return
        place = Place(url, "orders_" + url.partition("schema=")[2])
        place.prepare()
        yield place
        place.drop()


@contextmanager
def another(place, folder):
    """Another database on the same engine."""
    if place.sqlite:
        other = Place(f"sqlite:///{folder / 'other.db'}")
        other.prepare()
        yield other
        return
    name = postgres.fresh()
    postgres.run(place.database, f"CREATE DATABASE {name}")
    other = Place(urlsplit(place.database)._replace(path=f"/{name}").geturl())
    other.prepare()
    yield other
    postgres.run(place.database, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=ALL)
def kind(request):
    """The name of a kind of connection."""
    return request.param


@pytest.fixture
def place(kind, tmp_path):
    with place_for("sqlite" if kind in SQLITE else POSTGRES, tmp_path) as place:
        yield place


@pytest.fixture
def server_place(tmp_path):
    """A place on a server, whatever the kind."""
    with place_for(POSTGRES, tmp_path) as place:
        yield place


@pytest.fixture
def elsewhere(place, tmp_path):
    with another(place, tmp_path) as other:
        yield other


@pytest.fixture
def app(place):
    app = Mainstay(place.url)

    @app.job
    def work(n: int = 0) -> int:
        return n

    app.work = work
    with app.store:
        app.store.register_types([])  # the first write makes the schema
        yield app


@pytest.fixture
def user(kind, place, app):
    """The user, with a transaction open, or one that opens by itself."""
    user = ALL[kind](place)
    with user.closing():
        user.begin()
        yield user

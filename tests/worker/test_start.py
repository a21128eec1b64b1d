"""Where a worker starts, and where it refuses to."""

import sqlite3
from contextlib import closing

import pytest

from mainstay import Mainstay
from mainstay.core.errors import Conflict
from mainstay.stores.move import MARK


@pytest.fixture
def app(tmp_path):
    with closing(Mainstay(f"sqlite:///{tmp_path / 'jobs.db'}")) as app:
        app.job(name="work")(lambda: "worked")
        yield app


def test_in_a_file_of_the_user_that_has_no_tables_of_ours_yet(app, tmp_path):
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        connection.execute("CREATE TABLE customer (name TEXT)")
        connection.commit()
    with app.worker():
        assert app.enqueue("work").result(timeout=10) == "worked"


def test_not_where_a_move_has_not_finished(app):
    app.store.enqueue([], 0)
    app.store.set_setting(MARK, "{}")
    with pytest.raises(Conflict, match="has not finished"):
        app.worker().start()
    assert app.store.workers() == []

"""Lists and numbers are exact, or say that they are not; on every engine."""

import json

import pytest

from mainstay.cli import exits, status
from mainstay.control.bulk_run import VERBS
from mainstay.stores.redis import search as redis_search
from mainstay.stores.sql import search as sql_search
from tests.cli.shop import Shop

pytestmark = pytest.mark.engines("sqlite", "postgres", "redis")


@pytest.fixture
def url(engine_url):
    return engine_url


@pytest.fixture
def shop(app):
    return Shop(app)


@pytest.fixture
def old(shop, monkeypatch):
    """Jobs that a search which checks every job finds beyond its first window only."""
    monkeypatch.setattr(sql_search, "WINDOW", 10)
    monkeypatch.setattr(redis_search, "WINDOW", 10)
    monkeypatch.setattr(redis_search, "CHUNK", 5)
    found = [shop.add(priority=7) for _ in range(3)]
    for _ in range(35):
        shop.add()
    return found[::-1]


def test_a_program_gets_every_match(run, old):
    assert [job["id"] for job in json.loads(run("ls", "priority:7", "--json").out)] == old
    assert run("ls", "priority:7", "-q").out.split() == old
    assert run("ls", "priority:7", "-q", "-n", "2").out.split() == old[:2]
    assert run("ls", "priority:8", "--json").out.strip() == "[]"


def test_a_list_has_every_match(app, old):
    assert [job.id for job in app.list("priority:7")] == old
    assert [job.id for job in app.list("priority:7", limit=1)] == old[:1]


def test_people_are_told_how_far_a_search_looked(run, old):
    assert (
        "searched the newest 10 jobs; to search older ones: mainstay ls priority:7 --after"
        in run("ls", "priority:7").err
    )


def test_a_number_that_is_a_lower_bound_says_so(run, shop, monkeypatch):
    monkeypatch.setattr(status, "CAP", 3)
    shop.join()
    for _ in range(5):
        shop.end()
    shop.dead()
    for _ in range(4):
        shop.add("thumb")
    out = run("status").out
    *_, thumb, total, hour, finding, _ = out.splitlines()
    assert thumb.split()[1] == total.split()[1] == "3+"
    assert hour == " last hour: 5 completed, 1 dead, 83.3% of 6 attempts succeeded"
    assert "at least 3 jobs of thumb wait" in finding
    record = json.loads(run("status", "--json").out)
    assert record["last_hour"] == {"completed": 5, "dead": 1}


def test_jobs_that_were_queued_again_while_a_command_ran_are_not_deleted(run, app, shop, monkeypatch):
    """Between the search and the first transaction, another person retries them all."""
    jobs = [shop.dead() for _ in range(50)]
    verb = VERBS["delete"]

    def after_a_retry(*given):
        app.store.retry(jobs[:49], app.clock.now(), "another")
        return verb.act(*given)

    monkeypatch.setitem(VERBS, "delete", verb._replace(act=after_a_retry))
    result = run("delete", "state:dead", "--yes")
    assert result.code == exits.PARTIAL
    assert "49 jobs were not changed: 49 × it no longer matches the search" in result.err
    assert {job.state for job in app.store.get_many(jobs)} == {"queued"}
    assert app.store.get(jobs[49]) is None

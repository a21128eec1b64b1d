"""A store of schema 1 is upgraded: every row as before; a worker finishes what waits; everything can move."""

from urllib.parse import urlsplit

import pytest

from mainstay import Mainstay
from mainstay.core.errors import SchemaMismatch
from mainstay.stores import open_store
from mainstay.stores.move import move
from tests.contract import invariants
from tests.contract.building import draft
from tests.contract.moving import digests, silent
from tests.migrations.loading import (
    change,
    exported,
    fixture_rows,
    migrations,
    newest,
    set_versions,
    structure,
    up,
    versions,
)
from tests.servers import pgbouncer
from tests.servers.engines import kind, untouched
from tests.waiting import eventually

pytestmark = pytest.mark.engines("sqlite", "postgres", "redis")
OTHER = {"sqlite": "valkey", "postgres": "sqlite", "redis": "sqlite"}  # where an engine's jobs move to


def test_every_row_is_as_before(old, engine):
    assert versions(old)[0] == 1
    assert up(old) == migrations(old)
    assert versions(old) == newest(old)
    assert exported(old) == fixture_rows(engine)
    assert up(old) == []


def test_the_rows_and_indexes_are_in_order(old):
    up(old)
    with open_store(old) as store:
        invariants.check(store, 0)


@pytest.mark.engines("sqlite", "postgres")
def test_an_upgraded_store_has_the_tables_and_indexes_of_a_fresh_one(old, engine, tmp_path_factory):
    up(old)
    with untouched(engine, tmp_path_factory.mktemp("fresh")) as fresh:
        up(fresh)
        assert structure(old) == structure(fresh)


def test_a_fresh_store_has_the_newest_schema_at_once(engine, tmp_path):
    with untouched(engine, tmp_path) as url:
        assert versions(url) == (0, 0, 0)
        with open_store(url) as store:
            store.enqueue([draft()], 1)
        assert versions(url) == newest(url)


def test_up_creates_a_fresh_store(engine, tmp_path):
    with untouched(engine, tmp_path) as url:
        assert up(url) == migrations(url, 0)
        assert versions(url) == newest(url)
        with open_store(url) as store:
            assert store.find("", 9) == []


def test_a_worker_finishes_what_waits(old, engine):
    up(old)
    app = Mainstay(old)
    ran = []

    @app.job(queue="default")
    def work(n: int = 0):
        ran.append(n)

    @app.job(queue="mail")
    def mail(n: int = 0):
        ran.append(n)

    jobs = {row[0]: row[3] for row in fixture_rows(engine)["jobs"]}
    waiting = [id for id, state in jobs.items() if state in ("queued", "scheduled", "running")]
    with app.worker(concurrency=4):
        ended = ("completed", "cancelled")
        eventually(lambda: all(app.store.get(id).state in ended for id in waiting), "everything ends", 30)
    stopped = [id for id in waiting if app.store.get(id).state == "cancelled"]
    assert len(stopped) == 1, "the running job that was asked to stop"
    assert len(ran) == len(waiting) - 1
    dead = next(id for id, state in jobs.items() if state == "dead")
    app.retry(dead)
    app.close()


def test_everything_moves_to_another_engine_and_back(old, engine, tmp_path, tmp_path_factory):
    up(old)
    there, back = OTHER[kind(engine)], tmp_path_factory.mktemp("back")
    with untouched(there, tmp_path_factory.mktemp("there")) as other, untouched(engine, back) as again:
        with open_store(old) as source, open_store(other) as middle, open_store(again) as target:
            before = digests(source)
            move(source, middle, silent)
            move(middle, target, silent)
            assert digests(target) == before
        assert exported(again) == fixture_rows(engine)


@pytest.mark.skipif(not pgbouncer.PROGRAM, reason="pgbouncer: this machine has none in its PATH")
@pytest.mark.engines("postgres")
def test_an_upgrade_works_through_a_pooler(old, engine):
    port = urlsplit(old).port
    with pgbouncer.PgBouncer(port) as pooler:
        assert up(old.replace(f":{port}/", f":{pooler.port}/")) == migrations(old)
    assert exported(old) == fixture_rows(engine)


# Code and stores of different versions --------------------------------------------------------------------------------
@pytest.mark.engines("postgres", "redis")
def test_an_older_server_store_is_refused_and_told_how_to_upgrade(old):
    with open_store(old) as store, pytest.raises(SchemaMismatch, match=r"has schema 1.*needs \d+.*mainstay migrate up"):
        store.enqueue([draft()], 1)
    assert versions(old)[0] == 1


@pytest.mark.engines("sqlite")
def test_a_file_upgrades_itself_when_it_is_opened(old, engine):
    assert exported(old) == fixture_rows(engine), "a reader is enough"
    assert versions(old) == newest(old)


def test_code_one_version_older_works_during_a_deploy(old):
    up(old)
    set_versions(old, newest(old)[0] + 1, 2)
    with open_store(old) as store:
        ((id, created),) = store.enqueue([draft()], 1)
        assert created
        assert store.get(id).state == "queued"
    assert up(old) == []
    assert versions(old) == (newest(old)[0] + 1, 2, 0)


def test_code_that_is_too_old_is_refused(old):
    up(old)
    known = newest(old)[0]
    set_versions(old, known + 1, known + 1)
    words = rf"schema {known + 1}.*knows {known}.*pip install -U mainstay"
    with open_store(old) as store, pytest.raises(SchemaMismatch, match=words):
        store.enqueue([draft()], 1)
    with pytest.raises(SchemaMismatch, match="pgrade mainstay"):
        up(old)


@pytest.mark.engines("redis")
def test_keys_without_a_version_are_refused(old):
    change(old, "", ("DEL", "schema"))
    with open_store(old) as store, pytest.raises(SchemaMismatch, match="no schema version"):
        store.types()
    with pytest.raises(SchemaMismatch, match="no schema version"):
        up(old)


@pytest.mark.engines("redis")
def test_the_set_of_lanes_is_exact_afterwards(old, engine):
    change(old, "", ("SREM", "lanes", "4:mail:mail"), ("SADD", "lanes", "5:empty:work"))
    up(old)
    with open_store(old) as store:
        assert set(store.server.read("SMEMBERS", "lanes")) == {"4:mail:mail", "4:mail:work", "7:default:work"}

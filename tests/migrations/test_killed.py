"""A process that upgrades a store is killed at each statement, or around each message to the server; the next one goes on."""

import itertools
import os
import signal
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.parse import urlsplit

import psycopg
import pytest

from mainstay.core.errors import StoreBusy
from tests.crash.points import Countdown
from tests.crash.zygote import Zygote
from tests.migrations.loading import exported, fixture_rows, loaded, newest, up, versions
from tests.servers import postgres
from tests.servers.engines import kind
from tests.servers.proxy import Proxy
from tests.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.engines("sqlite", "postgres", "redis")]
ROLE = "tests.migrations.victim:up"
LEAST = {"sqlite": 10, "postgres": 100, "redis": 50}  # places to die at
# On a server the proxy counts twice a message: before and after it passes. Before is enough, in either direction. On PostgreSQL
# a place costs 0.3 s and there are hundreds: some of them do, and all of the last ones, which are those of the newest migrations.
STRIDES, SOME = {"sqlite": 1, "valkey": 2}, 9
NEWEST, LAST = "postgres18", 120
INDEX = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('{schema}.job_lane')"
WAITING = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%%{schema}%%' AND wait_event_type = 'Lock'"


@pytest.fixture
def zygote(tmp_path):
    with Zygote(tmp_path / "errors.log") as zygote:
        yield zygote


@pytest.mark.timeout(300)
def test_a_killed_upgrade_goes_on_where_it_stopped(engine, tmp_path, zygote):
    wanted, steps, ends = fixture_rows(engine), set(), set()

    def survives(at):
        """Kill an upgrade at a place; return whether it was through before."""
        with loaded(engine, tmp_path / str(at)) as url:
            code = upgrade(zygote, engine, url, at)
            assert code in (0, -signal.SIGKILL), (tmp_path / "errors.log").read_text(encoding="utf-8")
            steps.add(versions(url)[::2])
            ends.add(newest(url)[::2])
            eventually(lambda: upgraded(url), "the server ends the build of the killed client")
            assert versions(url) == newest(url)
            assert exported(url) == wanted
        return code == 0

    end = next(at for at in itertools.count(1, STRIDES.get(engine, SOME)) if survives(at))
    assert end > LEAST[kind(engine)], "the fuse does not burn"
    for at in range(end - LAST + 1, end, 2) if engine == NEWEST else ():
        survives(at)
    first = {step for step in steps if step[0] == 1}
    assert first == ({(1, 0)} if kind(engine) == "sqlite" else {(1, 0), (1, 1), (1, 2)})
    assert {max(steps)} == ends


def upgraded(url):
    """Upgrade a store; return whether its server had ended what a killed client began."""
    try:
        up(url)
    except StoreBusy:
        return False
    return True


def upgrade(zygote, engine, url, at):
    """One victim; returns how it ended."""
    if kind(engine) == "sqlite":
        return zygote.reap(zygote.fork(ROLE, url=url, at=at))
    with Proxy(urlsplit(url).port) as proxy:
        proxy.watch = fuse = Countdown(SimpleNamespace(lit=True), at)
        code = zygote.reap(fuse.aim(zygote.fork(ROLE, url=proxy.url(url))))
        fuse.out()
        return code


# An index that is being built -----------------------------------------------------------------------------------------
@contextmanager
def building(url, zygote):
    """Yield a process that upgrades and cannot finish its index: a transaction that writes to the table is open."""
    server, schema = postgres.place(url)
    with psycopg.connect(server) as holder:
        holder.execute(f"UPDATE {schema}.worker SET slots = slots")
        holder.execute(f"LOCK TABLE {schema}.job IN ROW EXCLUSIVE MODE")
        pid = zygote.fork(ROLE, url=url)
        ((backend,),) = eventually(lambda: postgres.run(server, WAITING.format(schema=schema)), "the build waits", 20)
        yield SimpleNamespace(pid=pid, backend=backend, holder=holder)


def valid(url):
    server, schema = postgres.place(url)
    return [row[0] for row in postgres.run(server, INDEX.format(schema=schema))]


@pytest.mark.engines("postgres")
def test_an_invalid_index_is_dropped_and_built_again(old, zygote):
    with building(old, zygote) as build:
        postgres.run(postgres.place(old)[0], "SELECT pg_terminate_backend(%s)", build.backend)
        assert zygote.reap(build.pid) != 0
    assert valid(old) == [False]
    up(old)
    assert valid(old) == [True]


@pytest.mark.engines("postgres")
def test_a_build_that_outlives_its_client_is_not_disturbed(old, zygote):
    with building(old, zygote) as build:
        os.kill(build.pid, signal.SIGKILL)
        zygote.reap(build.pid)
        with pytest.raises(StoreBusy, match="still builds the index job_lane"):
            up(old)
        build.holder.rollback()
        eventually(lambda: valid(old) == [True], "the build ends by itself")
    up(old)
    assert versions(old) == newest(old)


@pytest.mark.engines("postgres")
def test_only_one_process_upgrades(old, zygote):
    with building(old, zygote) as build:
        with pytest.raises(StoreBusy, match="another `mainstay migrate up` runs"):
            up(old)
        build.holder.rollback()
        assert zygote.reap(build.pid) == 0
    assert versions(old) == newest(old)


@pytest.mark.engines("redis")
def test_several_processes_may_upgrade(old, engine, zygote):
    for pid in [zygote.fork(ROLE, url=old) for _ in range(3)]:
        assert zygote.reap(pid) == 0
    assert versions(old) == newest(old)
    assert exported(old) == fixture_rows(engine)

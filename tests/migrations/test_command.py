"""`mainstay migrate` and `mainstay doctor` on every engine: what they print and how they end."""

import json
import sqlite3
from contextlib import closing

import pytest

from mainstay.cli import exits
from mainstay.cli.main import main
from mainstay.stores import open_migrations
from tests.migrations.loading import missing, newest, path, set_versions, up, versions
from tests.servers.engines import kind

pytestmark = pytest.mark.engines("sqlite", "postgres", "redis")


@pytest.fixture
def run(old, capsys):
    """Run a command on the old store; returns its code and output."""

    def run(*words):
        code = main([*words, "--url", old])
        return code, capsys.readouterr().out

    return run


def test_status_shows_what_is_pending_and_up_does_it(run, old):
    needed, pending = newest(old)[0], open_migrations(old).pending(1)
    code, out = run("migrate", "status")
    assert code == exits.PARTIAL
    told = f"this mainstay needs {needed}. Pending: {', '.join(pending)}. Run mainstay migrate up"
    assert f"has schema 1, readable from 1; {told}" in out
    code, out = run("migrate", "up")
    assert code == exits.OK
    assert "0002_lanes" in out
    assert f"has schema {needed} now: {needed - 1} migration" in out
    assert run("migrate", "status")[0] == exits.OK
    assert run("migrate", "up")[1].endswith(f"has schema {needed}: there is nothing to do\n")


def test_the_same_as_json(run, old):
    record = json.loads(run("migrate", "--json")[1])
    assert record.items() >= {"version": 1, "readable_from": 1, "needed": newest(old)[0], "steps_done": 0}.items()
    assert record["pending"][0] == "0002_lanes"
    assert json.loads(run("migrate", "up", "--json")[1])["applied"] == missing(old)
    assert json.loads(run("migrate", "--json")[1])["pending"] == []


def test_a_newer_store_is_told_apart_by_whether_this_code_can_use_it(run, old):
    up(old)
    later = newest(old)[0] + 1
    set_versions(old, later, 2)
    code, out = run("migrate", "status")
    assert (code, "which can use it" in out) == (exits.OK, True)
    set_versions(old, later, later)
    code, out = run("migrate", "status")
    assert (code, "upgrade mainstay" in out) == (exits.FAILED, True)


def test_doctor_prints_both_versions(run, old):
    up(old)
    assert "readable from 2" in run("doctor")[1]


def test_sql_is_printed_where_there_is_any(run, engine):
    code, out = run("migrate", "sql")
    if kind(engine) == "redis":
        assert code == exits.USAGE
    else:
        assert code == exits.OK
        assert "job_lane" in out


@pytest.mark.engines("sqlite")
def test_the_printed_statements_upgrade_a_file(run, old, engine):
    with closing(sqlite3.connect(path(old))) as own:
        own.executescript(run("migrate", "sql")[1])
    assert versions(old) == newest(old)
    assert "nothing to do" in run("migrate", "sql")[1]


@pytest.mark.engines("sqlite")
def test_status_of_a_missing_file_does_not_create_it(tmp_path, capsys, engine):
    assert main(["migrate", "--url", f"sqlite:///{tmp_path}/none.db"]) == exits.PARTIAL
    assert "has no schema yet" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []

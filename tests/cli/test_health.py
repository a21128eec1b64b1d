"""`health`: exit codes for probes, a status for people, and the thresholds as settings."""

import json
import sqlite3

import pytest

from mainstay.cli import exits

from .shop import Shop


@pytest.fixture(autouse=True)
def patient(app):
    app.set_setting("health.store_ms", 60_000)  # a busy machine


def test_a_healthy_installation(run, app):
    Shop(app).join()
    result = run("health")
    assert (result.code, result.out.splitlines()[0]) == (exits.OK, "healthy")
    assert "workers       1 worker, 8 slots" in result.out
    assert run("health", "-q").out == "healthy\n"
    found = json.loads(run("health", "--json").out)
    assert found["status"] == "healthy"
    assert {each["name"] for each in found["components"]} == {
        "store", "workers", "queues", "dead letters", "schedules", "disk", "clock",
    }  # fmt: skip


def test_a_degraded_one_ends_with_3_unless_only_unhealthy_counts(run, app):
    Shop(app).dead()
    result = run("health")
    assert result.code == exits.PARTIAL
    assert "1 job failed for good: mail" in result.out
    assert "→ mainstay dead" in result.out
    assert run("health", "-q", "--fail-on", "unhealthy") == (exits.OK, "degraded\n", "")


def test_an_unhealthy_one_ends_with_1(run, app):
    result = run("health", "--fail-on", "unhealthy")
    assert (result.code, result.out.splitlines()[0]) == (exits.FAILED, "unhealthy")
    assert "none is running" in result.out
    assert "→ mainstay worker --app …" in result.out


def test_a_disk_that_is_nearly_full(run, app):
    Shop(app).join()
    app.set_setting("health.disk_unhealthy", 10**18)
    assert run("health").code == exits.FAILED


def test_a_store_that_is_not_there_or_damaged_is_unhealthy(run, tmp_path):
    missing = run("health", "--url", f"sqlite:///{tmp_path}/other.db")
    assert (missing.code, "there is no such file" in missing.out) == (exits.FAILED, True)
    (tmp_path / "broken.db").write_bytes(b"nonsense " * 999)
    assert run("health", "-q", "--url", f"sqlite:///{tmp_path}/broken.db").out == "unhealthy\n"


def test_a_locked_file_still_has_a_health(run, app, tmp_path):
    Shop(app).join()
    other = sqlite3.connect(tmp_path / "jobs.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert run("health", "-q").out == "healthy\n"
    other.close()


@pytest.mark.parametrize("scheme", ["postgresql://ada@127.0.0.1:{}/jobs", "redis://127.0.0.1:{}/0"])
def test_the_program_ends_in_time_when_the_store_hangs(shell, scheme):
    import socket
    import time

    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        result = shell("health", "-q", "--timeout", "300ms", "--url", scheme.format(silent.getsockname()[1]))
        assert time.monotonic() - began < 8
    assert (result.code, result.out, result.err) == (exits.FAILED, "unhealthy\n", "")


def test_mistakes(run, app):
    assert run("health", "--timeout", "soon").code == exits.USAGE
    wrong = run("settings", "set", "health.stor_ms", "5")
    assert (wrong.code, 'did you mean "health.store_ms"' in wrong.err) == (exits.USAGE, True)

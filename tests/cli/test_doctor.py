"""`doctor`: every line ok, warn or fail, with the fix, and an exit code for scripts."""

import json

import pytest

from mainstay.cli import exits
from mainstay.stores.sqlite import errors

from .shop import Shop


@pytest.fixture(autouse=True)
def sound_sqlite(monkeypatch):
    monkeypatch.setattr(errors, "wal_reset_bug", lambda version: False)


def checks(result):
    return {(check["name"], check["level"]): check for check in json.loads(result.out)}


def test_all_is_well(run, app):
    Shop(app).join()
    result = run("doctor")
    assert result.code == exits.OK
    assert {line.split()[0] for line in result.out.splitlines()} == {"ok"}
    for name in ("python", "sqlite", "application", "store", "durability", "file system", "disk", "clock", "workers"):
        assert f" {name} " in result.out


def test_the_wal_reset_bug_is_named(run, app, monkeypatch):
    Shop(app).join()
    monkeypatch.setattr(errors, "wal_reset_bug", lambda version: True)
    result = run("doctor")
    assert result.code == exits.PARTIAL
    assert "WAL-reset bug" in result.out
    assert "3.51.3" in result.out


def test_a_weaker_durability_is_named(run, app, url):
    Shop(app).join()
    result = run("doctor", "--url", f"{url}?synchronous=normal", "--json")
    assert "power cut can lose" in checks(result)["durability", "warn"]["text"]


def test_a_store_that_is_not_there_yet(run, url, tmp_path):
    result = run("doctor", "--url", url)
    assert result.code == exits.PARTIAL
    assert "the first enqueue or worker creates it" in result.out
    assert list(tmp_path.iterdir()) == []


def test_a_broken_store_fails(run, url, tmp_path):
    (tmp_path / "jobs.db").write_bytes(b"nonsense " * 999)
    result = run("doctor", "--url", url)
    assert result.code == exits.FAILED
    assert "fail  store" in result.out


def test_jobs_and_types_that_nobody_serves(run, app):
    shop = Shop(app)
    shop.add("thumb")
    result = run("doctor")
    assert result.code == exits.PARTIAL
    assert "none is running" in result.out
    assert "1 job of thumb waits, but no live worker serves that type" in result.out


def test_a_clock_that_is_ahead(run, app):
    Shop(app).join()
    (worker,) = app.store.workers()
    app.store.register(worker._replace(id="ahead", beat_at=worker.beat_at + 60_000))
    assert "ahead" in checks(run("doctor", "--json"))["clock", "warn"]["text"]


def test_a_disk_that_is_nearly_full(run, app):
    Shop(app).join()
    app.set_setting("health.disk_degraded", 10**18)
    assert ("disk", "warn") in checks(run("doctor", "--json"))
    app.set_setting("health.disk_unhealthy", 10**18)
    result = run("doctor", "--json")
    assert ("disk", "fail") in checks(result)
    assert result.code == exits.FAILED


@pytest.mark.parametrize(
    ("source", "level", "says"),
    [
        ("from mainstay import Mainstay\napp = Mainstay('sqlite:///jobs.db')\n", "warn", "defines no job"),
        ("import no_such_thing\n", "fail", "No module named 'no_such_thing'"),
        ("x = 1 +\n", "fail", "SyntaxError"),
        ("x = 1\n", "fail", "has no 'app'"),
        ("app = 1\n", "fail", "is a int, not a Mainstay application"),
        ("from mainstay import Mainstay\nmain = Mainstay('sqlite:///jobs.db')\n", "fail", "has no 'app'"),
    ],
)
def test_an_application_with_a_problem(run, app, tmp_path, monkeypatch, source, level, says):
    Shop(app).join()
    name = f"doctored_{abs(hash(source))}"
    (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = checks(run("doctor", "--app", f"{name}:app", "--url", app.store.url, "--json"))
    assert says in found["application", level]["text"]


def test_quiet_names_problems_only(run, app):
    Shop(app).join()
    assert run("doctor", "-q").out == ""


@pytest.mark.parametrize("command", ["doctor", "status"])
def test_workers_that_take_different_payloads_are_named(run, app, command):
    from mainstay.core.job import Declaration

    shop = Shop(app)
    one = Declaration("mail", 1, "mail(to: str)", "{}")
    two = Declaration("mail", 2, "mail(to: str, cc: str)", "{}")
    for worker, declared in {"a": one, "b": one, "c": two}.items():
        shop.join(worker=worker, declared=[declared])
    result = run(command)
    assert "live workers differ" in result.out
    assert "mail(to: str) of version 1 (2 workers), mail(to: str, cc: str) of version 2 (1 worker)" in result.out
    app.store.deregister("c")
    assert "live workers differ" not in run(command).out

"""`workers`: who works on a store, for people and for programs."""

import json

import pytest

from mainstay.cli import exits
from mainstay.core.clock import HOUR
from mainstay.core.job import Declaration
from tests.cli.shop import Shop


@pytest.fixture
def shop(app):
    return Shop(app)


def join(shop, worker, **given):
    """A worker that has registered, and says this about itself."""
    now = shop.app.clock.now()
    shop.join(worker=worker)
    (info,) = [each for each in shop.store.workers() if each.id == worker]
    shop.store.register(info._replace(**{"beat_at": now, "expires_at": now + HOUR} | given), ())


def test_workers_says_who_works_where_on_what(run, shop):
    shop.claim()
    join(shop, "wother", host="web-2", pid=17, queues=("images", "default"), slots=3)
    lines = run("workers").out.splitlines()
    assert lines[0].split() == ["STATE", "ID", "HOST:PID", "BUSY", "STARTED", "BEAT", "QUEUES"]
    assert lines[1].split()[:5] == ["●", "live", "wtest", "host:4321", "1/8"]
    assert lines[2].split()[:5] == ["●", "live", "wother", "web-2:17", "0/3"]
    assert lines[2].endswith("images, default")


def test_workers_that_stop_or_have_died_are_told_apart(run, shop):
    now = shop.app.clock.now()
    join(shop, "wlive")
    join(shop, "wdead", expires_at=now - 1)
    join(shop, "wlast")
    shop.store.renew("wlast", now, HOUR, stopping=True)
    found = {record["id"]: record["state"] for record in json.loads(run("workers", "--json").out)}
    assert found == {"wlive": "live", "wdead": "dead", "wlast": "stopping"}
    text = run("workers").out
    assert all(word in text for word in ("● live", "✕ dead", "◐ stopping"))
    offered = [run("workers", "show", id).out for id in ("wlive", "wlast", "wdead")]
    assert [(out.count("workers drain"), out.count("workers stop")) for out in offered] == [(1, 1), (0, 1), (0, 0)]


def test_a_beat_by_a_clock_ahead_of_this_one_is_now(terminal, shop):
    join(shop, "wahead", beat_at=shop.app.clock.now() + HOUR)
    assert " in " not in terminal("workers").out


def test_workers_for_programs(run, shop):
    join(shop, "wone", queues=("a", "b"))
    (record,) = json.loads(run("workers", "--json").out)
    assert record["queues"] == ["a", "b"]
    assert (record["host"], record["pid"], record["slots"], record["running"]) == ("host", 4321, 8, 0)
    assert record["beat_at"].endswith("Z")
    assert run("workers", "-q").out == "wone\n"
    assert run("workers", "--fields", "id,state,types").out.splitlines()[1].split() == ["wone", "●", "live", "mail"]
    wrong = run("workers", "--fields", "hots")
    assert wrong.code == exits.USAGE
    assert 'did you mean "host"?' in wrong.err


def test_workers_fit_80_columns(terminal, shop):
    join(
        shop,
        "web-1-k3f9x2a7",
        host="ip-10-20-30-40.eu-west-1.compute.internal",
        queues=("images", "newsletter", "default"),
    )
    seen = terminal("workers", env={"NO_COLOR": "1", "COLUMNS": "80"}).out.splitlines()
    assert max(map(len, seen)) <= 80
    assert "web-1-k3f9x2a7" in seen[1]
    assert "images" in seen[1]


def test_no_worker_is_said_on_stderr_with_how_to_start_one(run, app):
    app.store.enqueue([], 0)
    assert run("workers") == (0, "", "there is no worker; to start one: mainstay worker --app …\n")
    assert run("workers", "--json") == (0, "[]\n", "")


# one worker -----------------------------------------------------------------------------------------------------------


def test_show_says_what_a_worker_runs(run, shop):
    takes = Declaration("mail", 3, "mail()", "{}")
    shop.join(["mail", "old"], declared=[takes])
    job = shop.speaking()
    out = run("workers", "show", "wt").out
    assert out.splitlines()[0].split() == ["●", "live", "wtest", "host:4321"]
    assert "1 of 8 slots busy · queues default" in out
    (line,) = [line for line in out.splitlines() if job in line]
    assert line.split()[:2] == [job, "mail"]
    assert line.endswith("62% read")
    assert "mail v3 · old" in out
    assert "→ mainstay workers drain wtest" in out
    record = json.loads(run("workers", "show", "wtest", "--json").out)
    assert (record["id"], record["versions"], record["slots"]) == ("wtest", {"mail": 3}, 8)
    (running,) = record["jobs"]
    assert (running["id"], running["stage"], running["done"], running["total"]) == (job, "read", 31, 50)
    assert run("workers", "show", "wtest", "-q").out == f"{job}\n"


def test_show_of_an_idle_worker(run, shop):
    shop.join()
    assert "nothing" in run("workers", "show", "wtest").out


def test_show_fits_80_columns(terminal, shop):
    shop.join(["a_rather_long_type_of_job", *(f"type_{n}" for n in range(20))], worker="wtest")
    shop.speaking(type="a_rather_long_type_of_job")
    seen = terminal("workers", "show", "wtest", env={"NO_COLOR": "1", "COLUMNS": "80"}).out.splitlines()
    assert max(map(len, seen)) <= 80


@pytest.mark.parametrize("verb", ["drain", "stop"])
def test_a_worker_is_asked(run, shop, verb):
    shop.join()
    assert (
        run("workers", verb, "wte", "--dry-run").err == f"--dry-run: would ask 1 worker to {verb}. Nothing changed.\n"
    )
    assert shop.store.actions(None, 9) == []
    done = run("workers", verb, "wte", "--actor", "ada", "--json")
    assert json.loads(done.out) == {"asked": verb, "workers": ["wtest"], "dry_run": False}
    assert shop.store.renew("wtest", shop.app.clock.now(), HOUR).wanted == verb
    (line,) = shop.store.actions(None, 9)
    assert (line.actor, line.action, line.detail) == ("ada", verb, {"worker": "wtest"})
    assert f"{verb} worker=wtest" in run("audit").out


def test_nothing_is_asked_if_one_name_is_wrong(run, shop):
    shop.join()
    wrong = run("workers", "stop", "wtest", "wtets")
    assert (wrong.code, 'there is no worker wtets (did you mean "wtest"?)' in wrong.err) == (exits.MISSING, True)
    assert shop.store.actions(None, 9) == []


def test_a_dead_worker_cannot_be_asked(run, shop):
    join(shop, "wdead", expires_at=shop.app.clock.now() - 1)
    wrong = run("workers", "drain", "wdead")
    assert (wrong.code, "is dead" in wrong.err) == (exits.MISSING, True)

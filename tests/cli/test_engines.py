"""The same commands on every server engine: only the URL differs."""

import json
import os
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from mainstay import Mainstay
from mainstay.cli import exits
from tests.cli.shop import Shop
from tests.cli.test_worker import SOURCE
from tests.servers.engines import SERVERS
from tests.servers.redis import Redis


@pytest.fixture(params=SERVERS)
def url(request, tmp_path):
    with SERVERS[request.param](tmp_path) as url:
        yield url


@pytest.fixture
def code(tmp_path):
    (tmp_path / "greetings.py").write_text(SOURCE, encoding="utf-8")


@pytest.fixture
def worker(code):
    """Starts a worker process, which finds its store in the environment; none is left at the end."""
    started = []

    def worker(*words):
        command = [sys.executable, "-m", "mainstay", "worker", "--app", "greetings:app", *words]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield worker
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def ended(process):
    """Everything a worker has said, after a polite stop."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    return said


def test_a_job_from_enqueue_to_its_history(app, worker, run):
    done = run("enqueue", "greet", "name=ada")
    assert done.code == exits.OK, done.err
    job = done.out.split()[0]
    process = worker()
    assert app.handle(job).result(30) == "hello ada"
    ended(process)
    shown = json.loads(run("show", job, "--json").out)
    assert (shown["state"], shown["result"]) == ("completed", "hello ada")
    assert "greeting" in run("logs", job).out
    assert run("ls", "state:completed", "-q").out.split() == [job]


def test_status_and_doctor_name_the_engine_and_its_durability(app, run):
    app.enqueue("greet", {"name": "ada"})
    head = run("status").out.splitlines()[0]
    assert json.loads(run("status", "--json").out)["counts"][0]["oldest"].endswith("Z")
    assert any(name in head for name in ("PostgreSQL 1", "Valkey ", "Redis 6.2"))
    checks = {check["name"]: check for check in json.loads(run("doctor", "--json").out)}
    assert checks["durability"]["level"] == "warn"  # the tests' servers do without fsync
    assert "fsync" in checks["durability"]["fix"]
    assert checks["store"]["level"] == "ok"


def test_a_folder_for_lock_files_that_others_control_is_named(app, run, worker, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    app.store.set_setting("opened", "1")
    out = run("doctor").out
    assert "durability" in out
    assert "worker locks" not in out
    (tmp_path / f"mainstay-{os.getuid()}").chmod(0o777)
    (check,) = [each for each in json.loads(run("doctor", "--json").out) if each["name"] == "worker locks"]
    assert check["level"] == "warn"
    assert f"{tmp_path}/mainstay-{os.getuid()} can be written by other users" in check["text"]
    assert "set XDG_RUNTIME_DIR" in check["fix"]
    process = worker()
    app.enqueue("greet", {"name": "ada"}).result(30)
    assert ended(process).count("can be written by other users") == 1


def test_operators_act(app, run):
    job = app.enqueue("greet", {"name": "ada"})
    assert run("cancel", job.id).code == exits.OK
    assert app.get(job.id).state == "cancelled"
    assert run("retry", job.id).code == exits.OK
    assert run("delete", job.id, "-y").code == exits.OK
    assert run("show", job.id).code == exits.MISSING


def test_two_processes_share_the_work(app, worker):
    process = worker("--processes", "2")
    jobs = [app.enqueue("greet", {"name": str(n)}) for n in range(20)]
    assert [job.result(30) for job in jobs] == [f"hello {n}" for n in range(20)]
    ended(process)


def test_a_worker_waits_for_a_server_that_is_not_there_yet(worker, monkeypatch):
    with Redis("valkey") as server:
        url = server.url()
        monkeypatch.setenv("MAINSTAY_URL", url)
        server.kill()
        process = worker()
        assert "127.0.0.1" in process.stderr.readline()  # it has tried, and says so
        server.start()
        with closing(Mainstay(url)) as app:
            assert app.enqueue("greet", {"name": "late"}).result(40) == "hello late"
        ended(process)


def test_a_server_that_is_not_there_is_one_clear_line(shell):
    for url in ("postgresql://nobody@127.0.0.1:9/none", "redis://127.0.0.1:9/0"):
        done = shell("status", "--url", url)
        assert done.code == exits.STORE
        assert "127.0.0.1" in done.err
        assert len(done.err.splitlines()) <= 3


def test_workers_are_listed(app, worker, run):
    process = worker("--concurrency", "3")
    assert "is ready" in process.stderr.readline()
    (record,) = json.loads(run("workers", "--json").out)
    assert (record["pid"], record["slots"], record["state"]) == (process.pid, 3, "live")
    assert "greet" in record["types"]
    assert f":{process.pid} " in run("workers").out
    ended(process)
    assert run("workers", "-q").out == ""


def test_a_queue_that_no_worker_serves_is_named(app, run):
    shop = Shop(app)
    shop.join(["thumb"])
    job = shop.add("thumb", queue="images")
    assert "1 job waits, but no live worker serves the queue images" in run("status").out
    assert "no live worker serves the queue images" in run("show", job).out


def test_a_worker_that_was_killed_on_this_machine_counts_as_dead(app, worker, run):
    process = worker()
    assert "is ready" in process.stderr.readline()
    process.kill()
    process.communicate()
    assert run("status").out.splitlines()[0].endswith("no worker")
    assert "none is running" in run("doctor").out

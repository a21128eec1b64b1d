"""`worker --drain`: a real process that runs what is due, prints a summary and ends in time, whatever its handlers do."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from mainstay import Mainstay
from mainstay.cli import exits
from tests.servers.engines import ENGINES
from tests.waiting import eventually

SOURCE = """
import asyncio
import pathlib
import time
from mainstay import Mainstay, ctx

app = Mainstay()

@app.job
def plain() -> None:
    time.sleep(0.005)

@app.job
async def asynchronous() -> None:
    await asyncio.sleep(0.005)

@app.job(process=True)
def separate() -> None:
    time.sleep(0.005)

@app.job
def sleeps() -> None:
    time.sleep(3600)

@app.job
def spins() -> None:
    while True:
        pass

@app.job
async def blocks() -> None:
    time.sleep(3600)

@app.job(process=True)
def spins_apart() -> None:
    while True:
        pass

@app.job(retry=1)
def fails() -> None:
    raise ValueError("no")

@app.job
def waits(gate: str) -> None:
    pathlib.Path(gate + ".started").touch()
    while not pathlib.Path(gate).exists():
        time.sleep(0.01)
"""
STUCK = ("sleeps", "spins", "spins_apart")


@pytest.fixture(params=["sqlite", "postgres18", "valkey"])
def url(request, tmp_path):
    with ENGINES[request.param](tmp_path) as url:
        yield url


@pytest.fixture
def one_engine(tmp_path, monkeypatch):
    """A SQLite file, for what does not depend on the engine."""
    url = f"sqlite:///{tmp_path}/alone.db"
    monkeypatch.setenv("MAINSTAY_URL", url)
    app = Mainstay(url)
    yield app
    app.close()


@pytest.fixture
def drain(tmp_path):
    """Starts `worker --drain` as a process; none is left at the end."""
    (tmp_path / "work.py").write_text(SOURCE, encoding="utf-8")
    started = []

    def begin(*words):
        command = [sys.executable, "-m", "mainstay", "worker", "--app", "work:app", *map(str, words)]
        started.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        )
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def ended(process, seconds=60):
    out, err = process.communicate(timeout=seconds)
    assert "Traceback" not in err, err
    return process.returncode, out, err


def spent(app, type):
    return {(job.state, job.attempt) for job in app.list(f"type:{type}", limit=20)}


@pytest.mark.alone
def test_10_000_jobs_and_handlers_that_hang_in_5_seconds(app, drain):
    """Every kind of slot works, and three handlers never end."""
    types = ["plain", "asynchronous", "separate"]
    for name in STUCK:
        app.enqueue(name, priority=9)
    app.enqueue_many(_draft(types[n % 3], 0) for n in range(10_000))
    since = time.monotonic()
    code, out, err = ended(drain("--drain", "--max-seconds", 5, "-c", 4, "--json", "--log-level", "warning"))
    took, summary = time.monotonic() - since, json.loads(out)
    assert summary["seconds"] < 6, (took, summary)
    assert took < 8  # with the start of two interpreters on a machine that runs other tests
    assert code == exits.OK, err
    assert (summary["errors"], summary["running"]) == (0, 0)
    assert summary["processed"] > 100
    assert summary["left"] == 10_003 - summary["processed"]
    for name in STUCK:
        assert spent(app, name) == {("queued", 0)}
    counts = {count.label: 0 for count in app.store.counts(20_000)}
    for count in app.store.counts(20_000):
        counts[count.label] += count.jobs
    assert counts == {"queued": summary["left"]}  # nothing runs, waits for a retry or is dead
    assert app.store.workers() == []


def _draft(name, priority):
    from mainstay.core.draft import Draft

    return Draft(name, "{}", priority=priority)


def test_all_done(app, drain):
    for _ in range(3):
        app.enqueue("plain")
    code, out, _ = ended(drain("--drain", "--max-seconds", 20))
    assert (code, out.split(" in ")[0]) == (exits.OK, "3 processed, 0 errors, 0 left")


def test_a_blocked_event_loop_ends_with_the_process(app, drain):
    app.enqueue("blocks")
    code, out, err = ended(drain("--drain", "--max-seconds", 2))
    assert (code, out.split(" in ")[0]) == (exits.OK, "0 processed, 0 errors, 1 left")
    assert "cannot be stopped" in err
    assert spent(app, "blocks") == {("queued", 0)}


def test_a_signal_stops_it_with_the_summary_and_it_shows_as_stopping(app, drain, run, tmp_path):
    app.enqueue("waits", {"gate": str(tmp_path / "gate")})
    app.enqueue("plain", priority=-1)
    process = drain("--drain", "-c", 1)
    eventually((tmp_path / "gate.started").exists, "the handler", 30)
    process.send_signal(signal.SIGTERM)
    eventually(
        lambda: [each["state"] for each in json.loads(run("workers", "--json").out)] == ["stopping"], "it says so"
    )
    (tmp_path / "gate").touch()
    code, out, _ = ended(process)
    assert (code, out.split(" in ")[0]) == (exits.OK, "1 processed, 0 errors, 1 left")


def test_a_worker_shows_as_stopping_while_it_stops(app, drain, run, tmp_path):
    app.enqueue("waits", {"gate": str(tmp_path / "gate")})
    process = drain()
    eventually((tmp_path / "gate.started").exists, "the handler", 30)
    process.send_signal(signal.SIGTERM)
    eventually(lambda: "◐ stopping" in run("workers").out, "it says so")
    (tmp_path / "gate").touch()
    assert ended(process)[0] == exits.OK


def test_a_second_signal_ends_it_at_once(one_engine, drain, tmp_path):
    one_engine.enqueue("waits", {"gate": str(tmp_path / "gate")})
    process = drain("--drain")
    eventually((tmp_path / "gate.started").exists, "the handler", 30)
    process.send_signal(signal.SIGTERM)
    eventually(lambda: one_engine.store.workers()[0].stopping, "the stop to begin")
    process.send_signal(signal.SIGTERM)
    code, out, _ = ended(process, 10)
    assert (code, out.split(" in ")[0]) == (exits.OK, "0 processed, 0 errors, 1 left")
    assert spent(one_engine, "waits") == {("queued", 0)}


def test_a_dead_job_is_exit_code_3_and_max_jobs_is_a_limit(one_engine, drain):
    one_engine.enqueue("fails", priority=1, retry=1)
    one_engine.enqueue("plain")
    one_engine.enqueue("plain")
    code, out, _ = ended(drain("--drain", "--max-jobs", 2, "--json"))
    summary = json.loads(out)
    assert (code, summary["processed"], summary["errors"], summary["dead"], summary["left"]) == (
        exits.PARTIAL,
        2,
        1,
        1,
        1,
    )
    assert ended(drain("--drain"))[0] == exits.OK


def test_a_store_that_cannot_be_reached_is_exit_code_6_in_time(drain, tmp_path, monkeypatch):
    for url in ("redis://127.0.0.1:1", "postgresql://127.0.0.1:1/none"):
        monkeypatch.setenv("MAINSTAY_URL", url)
        code, out, err = ended(drain("--drain", "--max-seconds", 5), 15)
        assert (code, out) == (exits.STORE, "")
        assert "127.0.0.1" in err


def test_a_store_that_does_not_reply_is_exit_code_6_in_time(drain, monkeypatch):
    """A server that accepts connections and says nothing."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        for scheme in ("redis", "postgresql"):
            monkeypatch.setenv("MAINSTAY_URL", f"{scheme}://127.0.0.1:{silent.getsockname()[1]}/0")
            since = time.monotonic()
            code, _, err = ended(drain("--drain", "--max-seconds", 2), 15)
            assert code == exits.STORE, err
            assert time.monotonic() - since < 6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--max-jobs", "3"], "belong to --drain"),
        (["--json"], "belong to --drain"),
        (["--drain", "--processes", "2"], "runs in one process"),
        (["--drain", "--max-seconds", "soon"], "is not a duration"),
        (["--drain", "--max-seconds", "0"], "above zero"),
        (["--drain", "--max-jobs", "0"], "--max-jobs"),
    ],
)
def test_options_that_make_no_sense(one_engine, drain, words, said):
    code, out, err = ended(drain(*words))
    assert (code, out) == (exits.USAGE, "")
    assert said in err


def test_a_password_is_not_on_the_command_line_of_the_second_program(monkeypatch):
    from mainstay.cli import drain as command
    from mainstay.worker.drained import Drained

    seen = []
    monkeypatch.setattr(os, "execve", lambda *given: seen.append(given))

    class Shot:
        id, wants = "w1", {"default": ("plain",)}

        class store:  # noqa: N801
            url = "postgresql://me:secret@host/db"

    command._become_another(Shot, Drained(running=1), 0.0, as_json=False)
    ((_, words, environment),) = seen
    assert "secret" not in " ".join(words)
    assert "secret" in environment[command.HANDOVER]

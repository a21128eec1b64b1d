"""`worker`: a real process that runs jobs, says so, and ends well."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from mainstay import JobFailed, Mainstay, Retry
from mainstay.cli import exits
from mainstay.cli.worker import WorkerLog
from mainstay.core.draft import Draft
from tests.waiting import eventually

SOURCE = """
import asyncio
import logging
import threading
from mainstay import Mainstay, ctx

app = Mainstay()
hang = threading.Event()

@app.job
def greet(name: str) -> str:
    ctx.log("greeting", name=name)
    return f"hello {name}"

@app.job(retry=1)
def fail() -> None:
    raise ValueError("no")

@app.job
def speaks() -> None:
    logging.getLogger("shop").info("an info")
    logging.warning("a warning")

@app.job(batch=2, wait="10s")
def speak_together(names: list[str]) -> None:
    logging.warning("%s %r", len(names), ctx)

@app.job
async def ignores() -> None:
    ctx.log("started")
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

@app.job
def hangs() -> None:
    if ctx.attempt == 1:
        hang.wait(60)
"""


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "greetings.py").write_text(SOURCE, encoding="utf-8")


@pytest.fixture
def start(app, shop):
    """A worker process; at the end it must go by itself when asked."""
    started = []

    def start(*words):
        command = [sys.executable, "-m", "mainstay", "worker", "--app", "greetings:app", *words]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        process.stderr.close()


def test_it_runs_jobs_and_stops_when_asked(start, app):
    process = start()
    handle, failing = app.enqueue("greet", {"name": "ada"}), app.enqueue("fail")
    assert handle.result(30) == "hello ada"
    with pytest.raises(JobFailed):
        failing.result(30)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    said = process.stderr.read()
    for part in (
        "is ready: 50 slots, serving fail, greet, hangs, ignores, speak_together, speaks",
        f"✓ greet {handle.id} completed",
        "✕ fail",
        "ValueError: no",
        "stopped",
    ):
        assert part in said, said
    assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z ", line) for line in said.splitlines())  # as in any other pipe
    assert app.store.workers() == []


def test_each_completed_job_has_one_line_when_its_outcome_is_stored(start, app):
    process = start()
    handles = [app.enqueue("speaks"), app.enqueue("greet", {"name": "ada"}), app.enqueue("speaks")]
    for handle in handles:
        handle.result(30)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    lines = process.stderr.read().splitlines()
    for handle in handles:
        (line,) = [line for line in lines if f"{handle.id} completed" in line]
        assert re.search(rf" ✓ (speaks|greet) {handle.id} completed in \d+ms$", line)


def test_a_log_of_warnings_costs_a_completed_job_nothing(app):
    WorkerLog(app, "warning", "text")
    assert not app.events.listeners("ended")
    assert not app.events.listeners("stored")


def test_it_logs_json_for_machines(start, app):
    process = start("--log-format", "json", "--concurrency", "3", "--types", "greet")
    app.enqueue("greet", {"name": "ada"}).result(30)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    lines = {line["event"]: line for line in map(json.loads, process.stderr.read().splitlines())}
    assert lines.keys() == {"worker_started", "ended", "worker_stopping", "worker_stopped"}
    assert (lines["worker_started"]["slots"], lines["worker_started"]["types"]) == (3, ["greet"])
    assert lines["ended"]["outcome"] == "completed"


def test_a_mistyped_queue_is_named_in_one_line(start, app):
    process = start("--queues", "defualt,default")
    app.enqueue("greet", {"name": "ada"}).result(30)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    (line,) = [line for line in process.stderr.read().splitlines() if "no type declares" in line]
    assert line.endswith(
        '! queue "defualt" (did you mean "default"?): no type declares it and no job waits in it; the worker serves it all the same'
    )


def test_a_handler_that_cannot_be_stopped_is_named_and_nothing_else_is_printed(start, app):
    process = start("--grace", "0s", "--log-level", "warning")
    handle = app.enqueue("ignores")
    eventually(lambda: app.logs(handle.id), "the handler to run", 30)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    (line,) = process.stderr.read().splitlines()
    assert line.endswith(
        f"! ignores {handle.id} still runs and cannot be stopped: when this process has ended, it runs again, or is cancelled if it was asked to stop"
    )
    assert handle.state == "running"


def test_a_url_on_the_command_line_reaches_the_application(start, tmp_path, app, monkeypatch):
    monkeypatch.delenv("MAINSTAY_URL")
    process = start("--url", app.store.url)
    assert app.enqueue("greet", {"name": "bob"}).result(30) == "hello bob"
    process.terminate()
    assert process.wait(30) == 0


def test_several_processes_are_kept_running(start, app):
    process = start("--processes", "2", "--concurrency", "2")
    assert app.enqueue("greet", {"name": "eve"}).result(30) == "hello eve"
    first, second = eventually(lambda: len(app.store.workers()) == 2 and app.store.workers(), "two workers")
    assert len({first.pid, second.pid, process.pid}) == 3
    process.terminate()
    assert process.wait(30) == 0
    said = process.stderr.read()
    assert said.count("is ready: 2 slots") == said.count("stopped") == 2
    assert "✓ greet" in said


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_death_of_a_process_is_a_line_of_the_log(start, app, form):
    process = start("--processes", "2", "--log-format", form)
    first, _ = eventually(lambda: len(app.store.workers()) == 2 and app.store.workers(), "two workers", 30)
    os.kill(first.pid, signal.SIGKILL)
    for line in process.stderr:
        if "was killed" in line or "worker_died" in line:
            break
    eventually(lambda: len({each.id for each in app.store.workers()} - {first.id}) == 2, "another worker", 30)
    process.terminate()
    assert process.wait(30) == 0
    if form == "json":
        record = json.loads(line)
        assert (record["level"], record["event"], record["worker"], record["code"]) == (
            "error",
            "worker_died",
            first.id,
            -9,
        )
    else:
        assert re.match(
            rf"\d{{4}}-\d\d-\d\dT[\d:.]+Z ! worker {first.id} was killed by signal 9; starting another$", line
        )


def test_a_mistake_in_the_code_is_told_once(shell, app, tmp_path):
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n", encoding="utf-8")
    result = shell("worker", "--app", "broken:app", "--processes", "3")
    assert result.code == exits.FAILED
    assert result.err.count("No module named 'nothing_of_that_name'") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name the application"),
        (["--processes", "2"], "name the application"),
        (["--app", "nowhere:app"], "there is no module 'nowhere' here"),
        (["--app", "greetings:application"], "has no 'application'"),
        (["--app", "greetings:app", "--types", "gret"], "no job is called 'gret' (did you mean \"greet\"?)"),
        (["--app", "greetings:app", "--concurrency", "many"], "concurrency = 'many'"),
        (["--app", "greetings:app", "--grace", "soon"], "--grace 'soon' is not a duration"),
        (["--app", "greetings:app", "--log-level", "loud"], "log_level = 'loud'"),
    ],
)
def test_mistakes_are_explained(shell, app, shop, words, says):
    result = shell("worker", *words)
    assert result.code == exits.USAGE
    assert says in result.err
    assert "Traceback" not in result.err


def test_an_application_for_another_store_is_refused(shell, tmp_path):
    (tmp_path / "fixed.py").write_text(
        "from mainstay import Mainstay\napp = Mainstay('sqlite:///own.db')\n", encoding="utf-8"
    )
    result = shell("worker", "--app", "fixed:app", "--url", "sqlite:///other.db")
    assert result.code == exits.USAGE
    assert "was built for sqlite:///own.db" in result.err
    assert not list(tmp_path.glob("*.db"))


def test_looking_with_an_application_uses_its_store(shell, tmp_path):
    (tmp_path / "own.py").write_text(
        "from mainstay import Mainstay\napp = Mainstay('sqlite:///own.db')\n", encoding="utf-8"
    )
    app = Mainstay("sqlite:///own.db")
    job = app.enqueue("mail").id
    app.close()
    assert shell("ls", "-q", "--app", "own:app").out == f"{job}\n"


@pytest.mark.parametrize("more", [(), ("--processes", "2")])
def test_what_handlers_log_by_logging_is_in_the_log(app, start, more):
    process = start("--log-format", "json", *more)
    job = app.enqueue("speaks")
    job.result(timeout=30)
    process.send_signal(signal.SIGTERM)
    lines = [json.loads(line) for line in process.communicate(timeout=30)[1].splitlines()]
    told = [(line["level"], line["logger"], line["message"], line["job"]) for line in lines if line["event"] == "log"]
    assert told == [("info", "shop", "an info", job.id), ("warning", "root", "a warning", job.id)]


def test_what_a_batch_handler_logs_names_its_jobs(app, start):
    process = start("--log-format", "json")
    jobs = [app.enqueue("speak_together", {"item": name}) for name in ("a", "b")]
    for job in jobs:
        job.result(timeout=30)
    process.send_signal(signal.SIGTERM)
    lines = [json.loads(line) for line in process.communicate(timeout=30)[1].splitlines()]
    told = [(line["message"], line["jobs"]) for line in lines if line["event"] == "log"]
    assert told == [("2 <ctx of a batch of 2 jobs>", [job.id for job in jobs])]


def test_a_handler_that_hangs_for_ever_is_tried_again_in_a_new_process(app, start):
    process = start("--grace", "1s")
    job = app.enqueue("hangs", timeout=0.2, retry=Retry(2, base="1ms", jitter=False))
    job.result(timeout=60)
    assert [tried.outcome for tried in app.attempts(job.id)] == ["timed out", "completed"]
    process.send_signal(signal.SIGTERM)
    assert "keeps its slot until its handler ends" in process.communicate(timeout=30)[1]
    assert process.returncode == 0


def test_a_job_that_is_left_to_other_code_is_not_shown_as_dead(app, start):
    (job,) = app.enqueue_many([Draft("fail", "{}", version=9, max_attempts=1)])
    process = start()
    eventually(lambda: job.state == "scheduled", "it is released", 30)
    process.terminate()
    assert "○ fail" in process.communicate(timeout=30)[1]

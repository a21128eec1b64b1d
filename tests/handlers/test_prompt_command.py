"""The prompt handler through a command: the real `claude` where it is installed, one that stands in for it, and any other."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mainstay import Mainstay
from mainstay.handlers import prompt
from tests.servers import model
from tests.servers.faults import Faults
from tests.waiting import eventually

STAND_IN = Path(__file__).parents[1] / "servers" / "claude"
REAL = shutil.which("claude")
absent = pytest.mark.skipif(REAL is None, reason="the command claude is not installed")
COMMANDS = [pytest.param(str(STAND_IN), id="stand-in"), pytest.param(REAL, id="claude", marks=absent)]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-key")


def register(mainstay, command, base_url=None, **settings):
    app = mainstay.use(Mainstay("sqlite:///:memory:"))
    settings = {"model": "local", "max_tokens": 30, "timeout": "20s"} | settings
    return prompt.register(app, provider=command, base_url=base_url, **settings)


def python(code):
    return [sys.executable, "-c", code]


def codes(made, job):
    return [each.code for each in made.prompt.app.attempts(job.id)]


@pytest.mark.parametrize("program", COMMANDS)
def test_claude_asks_a_real_model(mainstay, program, tmp_path):
    made = register(mainstay, prompt.claude(program), model.address(), folder=tmp_path)
    job = made.ask("What is the capital of France?", target="france.txt")
    mainstay.drain()
    answer = job.result()
    assert "Paris" in answer.text == (tmp_path / "france.txt").read_text()
    assert (answer.model, answer.stop_reason) == ("local", "end_turn")
    assert answer.tokens_in > 10
    assert answer.tokens_out > 3
    assert answer.cost is None  # the command does not know the price of this model, and makes one up


@pytest.mark.parametrize("program", COMMANDS)
@pytest.mark.parametrize(("status", "state"), [(401, "dead"), (400, "dead"), (429, "scheduled"), (529, "scheduled")])
def test_errors_of_the_service_come_through_claude(mainstay, program, status, state):
    with Faults([status], then=status) as faults:
        made = register(mainstay, prompt.claude(program), faults.url)
        job = made.ask("Why?")
        mainstay.drain(retries=False, raises=False)
    assert (job.state, job.job().attempt) == (state, int(state == "dead"))
    assert "sk-test-key" not in json.dumps([each.traceback for each in made.prompt.app.attempts(job.id)])


@pytest.mark.parametrize(
    ("part", "code"), [("half", "json"), ("hang", "timeout"), ("deaf", "timeout"), ("flood", "output")]
)
def test_a_command_that_misbehaves_fails_its_attempt(mainstay, part, code, monkeypatch):
    monkeypatch.setattr("mainstay.handlers.prompt.command.MOST", 1_000_000)
    with Faults() as faults:
        made = register(mainstay, prompt.claude(str(STAND_IN)), faults.url, timeout="2s", retry=1)
        job = made.ask(f"play: {part}")
        mainstay.drain(raises=False)
    assert (job.state, codes(made, job)) == ("dead", [code])


def test_a_child_that_keeps_the_pipes_open_is_not_waited_for(mainstay):
    with Faults() as faults:
        made = register(mainstay, prompt.claude(str(STAND_IN)), faults.url)
        job, begun = made.ask("play: fork"), time.monotonic()
        mainstay.drain()
    assert job.result().text == "ok"
    assert time.monotonic() - begun < 15


def test_any_command_answers_in_plain_text_in_an_empty_folder_with_little_of_the_environment(mainstay, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter2")
    code = "import os, sys; print(sys.argv[1:], sys.stdin.read(), os.listdir(), sorted(os.environ))"
    made = register(
        mainstay, prompt.Command((*python(code), "{model}", "{max_tokens}", "{system}"), env={"A": "$HOME"})
    )
    job = made.ask("Why; `rm -rf` $HOME?", system="Be brief.")
    mainstay.drain()
    words, rest = job.result().text.split(" Why; `rm -rf` $HOME? ")
    assert words == "['local', '30', 'Be brief.']"
    folder, names = rest.split("] ", 1)
    assert folder == "["
    assert "DATABASE_PASSWORD" not in names
    assert {"'A'", "'HOME'", "'PATH'"} <= set(names.strip("[]").split(", "))


def test_a_command_that_fails_is_retried_and_one_that_does_not_exist_is_not(mainstay):
    failing = register(mainstay, python("import sys; sys.exit('no\\x1b[2J disk')"), name="failing", retry=2)
    missing = register(mainstay, ["no-such-command"], name="missing")
    jobs = [failing.ask("Why?"), missing.ask("Why?")]
    mainstay.drain(raises=False)
    assert codes(failing, jobs[0]) == ["exit-1", "exit-1"]
    assert jobs[0].job().error.endswith("ended with 1: no\ufffd[2J disk")
    assert codes(missing, jobs[1]) == ["no-command"]


@pytest.mark.parametrize("reply", prompt.command.REPLIES)
def test_a_command_that_says_its_key_does_not_put_it_in_the_error(mainstay, monkeypatch, reply):
    monkeypatch.setenv("OUR_KEY", "company-key-7")
    says = "import os, sys, json; k = os.environ['K']; print(json.dumps({'is_error': True, 'result': k})); sys.exit('bad key ' + k)"
    made = register(mainstay, prompt.Command(tuple(python(says)), reply, {"K": "$OUR_KEY"}), retry=1)
    job = made.ask("Why?")
    mainstay.drain(raises=False)
    assert "company-key-7" not in json.dumps([each.traceback for each in made.prompt.app.attempts(job.id)])
    assert "[redacted:key]" in job.job().error


def test_json_too_deep_in_the_reply_of_claude_is_a_bad_answer(mainstay):
    made = register(mainstay, prompt.Command(tuple(python("print('[' * 100_000)")), "claude"), retry=1)
    job = made.ask("Why?")
    mainstay.drain(raises=False)
    assert codes(made, job) == ["json"]


def test_a_cancelled_job_ends_its_command_and_the_children_of_it(tmp_path):
    """With a real worker, as a cancellation comes from outside."""
    app = Mainstay(f"sqlite:///{tmp_path}/jobs.db")
    made = prompt.register(app, provider=python(endless(tmp_path)), model="m")
    with app.worker():
        job = made.ask("Why?")
        eventually((tmp_path / "pids").exists, "the command runs")
        assert job.cancel(wait="20s") == "cancelled"
        nothing_is_left(tmp_path)


def test_a_worker_that_is_killed_leaves_no_command_behind(tmp_path):
    code = f"""
from mainstay import Mainstay
from mainstay.handlers import prompt
app = Mainstay("sqlite:///{tmp_path}/jobs.db")
made = prompt.register(app, provider={python(endless(tmp_path))!r}, model="m")
made.ask("Why?")
with app.worker() as worker:
    input()
"""
    with subprocess.Popen(python(code), stdin=subprocess.PIPE) as worker:
        eventually((tmp_path / "pids").exists, "the command runs", 20)
        worker.kill()
    nothing_is_left(tmp_path)


def endless(tmp_path):
    """A command that writes down its processes and its folder, and does not end."""
    return f"""
import os, subprocess, time
child = subprocess.Popen(["sleep", "600"])
with open({str(tmp_path / "pids")!r} + ".new", "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}} {{os.getcwd()}}")
os.rename({str(tmp_path / "pids")!r} + ".new", {str(tmp_path / "pids")!r})
time.sleep(600)
"""


def nothing_is_left(tmp_path):
    first, second, folder = (tmp_path / "pids").read_text().split()
    for pid in (first, second):
        eventually(lambda pid=pid: not Path("/proc", pid).exists() or _zombie(pid), "the process is gone")
    eventually(lambda: not os.path.exists(folder), "its folder is gone")  # noqa: PTH110


def _zombie(pid):
    return Path("/proc", pid, "stat").read_text().rpartition(") ")[2].startswith("Z")


def test_a_model_can_be_asked_in_a_handler_of_ones_own():
    found = asyncio.run(prompt.Model(python("print(input().upper())"), "m").answer("why?"))
    assert found == prompt.Answer("WHY?", "m")

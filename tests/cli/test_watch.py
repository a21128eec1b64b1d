"""`watch` and `tail`: what happens to jobs, while it happens."""

import json
import os
import signal
import subprocess
import sys

import pytest

from mainstay.cli import exits
from mainstay.cli.tail import Following
from mainstay.core.outcome import COMPLETED
from mainstay.core.updates import Log, Progress
from mainstay.query import parse
from tests.waiting import eventually

from .shop import DEAD, FAILED, REVIEW, Shop


@pytest.fixture
def shop(app):
    return Shop(app)


# The program, which hears Ctrl-C: whoever runs the tests in the background ignores it.
MAINSTAY = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from mainstay.__main__ import main; sys.exit(main())"


@pytest.fixture
def follow(app):
    """Start a command as a process, and read it line by line."""
    processes = []

    def start(*words):
        command = [sys.executable, "-c", MAINSTAY, *words]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


# watch ----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("outcome", "code", "words"),
    [
        (COMPLETED, exits.OK, "✓ completed in"), (DEAD, exits.JOB_FAILED, "ms: ReadTimeout: api.example"),
        (REVIEW, exits.PARTIAL, "◇ review"),
    ],
)  # fmt: skip
def test_the_exit_code_is_the_job_s(run, shop, outcome, code, words):
    job = shop.end(outcome)
    found = run("watch", job)
    assert (found.code, words in found.out) == (code, True)
    assert run("watch", job, "-q") == (code, "", "")
    record = json.loads(run("watch", job, "--json").out)
    assert record["id"] == job


def test_a_job_is_followed_to_its_end(shop, follow):
    claimed = shop.claim()
    process = follow("watch", claimed.id)
    assert f"◐ running  mail {claimed.id}  attempt 1/3  on wtest" in process.stdout.readline()
    now = shop.app.clock.now()
    line = Log(claimed.seq, claimed.token, 1, now, "info", "read", "page \x1b[31m3", None)
    shop.store.finish([], [line, Progress(claimed.seq, claimed.token, now, 2.0, 8.0, "read")])
    told = process.stdout.readline() + process.stdout.readline()
    assert "info    read  page \\x1b[31m3" in told
    assert "━━━━━━──────────────────  25 %  read" in told
    shop.finish(claimed)
    assert "✓ completed" in process.stdout.readline()
    assert process.wait(10) == exits.OK


def test_a_retry_is_told_and_the_job_watched_on(shop, follow):
    claimed = shop.claim()
    process = follow("watch", claimed.id, "--jsonl")
    states = [json.loads(process.stdout.readline())["label"]]
    shop.finish(claimed, FAILED)
    states.append(json.loads(process.stdout.readline())["label"])
    shop.app.cancel(claimed.id)
    states.append(json.loads(process.stdout.readline())["label"])
    assert states == ["running", "retrying", "cancelled"]
    assert process.wait(10) == exits.JOB_FAILED


def test_a_timeout_and_ctrl_c_leave_the_job_alone(run, shop, follow):
    job = shop.add()
    found = run("watch", job, "--timeout", "1ms")
    assert (found.code, found.err) == (exits.TIMEOUT, "it is still queued; the job goes on\n")
    process = follow("watch", job)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=10)[1] == "not watched any more; the job goes on\n"
    assert process.returncode == exits.INTERRUPTED
    assert shop.app.get(job).state == "queued"


def test_mistakes(run, shop):
    assert run("watch", shop.add(), "--timeout", "soon").code == exits.USAGE
    assert run("watch", "01ZZZZZZ").code == exits.MISSING
    assert run("watch", "state:dead").code == exits.USAGE


# tail -----------------------------------------------------------------------------------------------------------------
def told(following):
    return [(event.name, event.job.id) for event in following.look()]


def test_each_event_is_told_once(shop):
    old = shop.add()
    following = Following(shop.app, [], shop.app.clock.now() + 1)
    eventually(lambda: shop.app.clock.now() > following._start, "the clock goes on")
    assert told(following) == []
    claimed = shop.claim()
    assert told(following) == [("enqueued", claimed.id), ("started", claimed.id)]
    assert told(following) == []
    shop.finish(claimed, FAILED)
    assert told(following) == [("retrying", claimed.id)]
    shop.app.retry(claimed.id)
    shop.app.cancel(old)
    assert told(following) == [("cancelled", old)]
    shop.app.cancel(claimed.id)
    assert told(following) == [("cancelled", claimed.id)]
    review, dead = shop.review(), shop.dead()
    assert sorted(told(following)) == sorted(
        [("enqueued", review), ("enqueued", dead), ("review", review), ("dead", dead)]
    )
    assert told(following) == []


def test_what_happened_before_is_told_if_asked_for(shop):
    job = shop.end()
    assert told(Following(shop.app, [], shop.app.clock.now() - 60_000)) == [("enqueued", job), ("completed", job)]
    assert told(Following(shop.app, parse("type:other", 0), 0)) == []


def test_lines_come_while_it_runs(shop, follow):
    process = follow("tail", "--since", "1h", "--jsonl", "type:mail")
    dead = shop.dead()
    other = shop.add(type="other")
    events = [json.loads(process.stdout.readline())]
    while events[-1]["event"] != "dead":
        events.append(json.loads(process.stdout.readline()))
    assert {event["id"] for event in events} == {dead}
    assert (events[0]["event"], events[-1]["error"]) == ("enqueued", "ReadTimeout: api.example")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (out, err, process.returncode) == ("", "", exits.INTERRUPTED)
    assert shop.app.get(other).state == "queued"


def test_text_and_ids(shop, follow):
    job = shop.end()
    text, ids = follow("tail", "--since", "1h"), follow("tail", "--since", "1h", "-q")
    assert f"+ enqueued  mail {job}" in text.stdout.readline()
    assert f"✓ completed mail {job}" in text.stdout.readline()
    assert [ids.stdout.readline() for _ in range(2)] == [f"{job}\n"] * 2

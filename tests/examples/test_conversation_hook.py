"""The system of seed 000: conversations are recorded in no time, and uploaded once each, whoever is killed."""

import importlib
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from examples.conversation_hook import story
from examples.conversation_hook.hook import connected, record
from examples.conversation_hook.talks import PRIVATE, short, talk
from mainstay.handlers.upload.cid import cids
from tests.crash.zygote import Zygote
from tests.servers import model
from tests.servers.kubo import Kubo
from tests.waiting import eventually

PIPELINE = "examples.conversation_hook.pipeline"
KILLS, WORKERS = 22, 2
STEPS = {
    "sanitize_conversation": "already-sanitized", "validate_quality": "already-validated",
    "extract_learning": "already-learned", "mine_upload": "already-uploaded",
}  # fmt: skip


@pytest.fixture
def node():
    with Kubo() as node:
        yield node


@pytest.fixture
def pipeline(node, tmp_path, monkeypatch):
    """The application, with a database of its own, the real model and the node."""
    places = {"CONVERSATIONS": tmp_path / "c.db", "IPFS_NODE": node.url, "MODEL_URL": model.address(), "MAX_TOKENS": 4}
    for name, value in places.items():
        monkeypatch.setenv(name, str(value))
    sys.modules.pop(PIPELINE, None)
    yield importlib.import_module(PIPELINE)
    sys.modules.pop(PIPELINE, None)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_conversation_is_uploaded_once_though_workers_are_killed(pipeline, node, tmp_path):
    app, dice, empty = pipeline.app, random.Random(13), node.pins()
    numbers = iter(range(1000))
    with closing(connected(pipeline.DATABASE)) as db, Zygote(tmp_path / "errors", also=("openai", PIPELINE)) as zygote:

        def started():
            return zygote.fork("tests.examples.roles:work", application=f"{PIPELINE}:app", concurrency=2)

        workers = [started() for _ in range(WORKERS)]
        for kill in range(KILLS):
            record(app, db, talk(next(numbers)))
            progress(app)
            threading.Event().wait(dice.random() * 0.2)
            place = dice.randrange(WORKERS)
            os.kill(workers[place], signal.SIGKILL)
            zygote.reap(workers[place])
            workers[place] = started()
            if kill == KILLS // 2:
                node.restart(downtime=1.0)
        count = next(numbers)
        eventually(lambda: uploaded(app, pipeline, count), f"{count} conversations are uploaded", 90)
    assert_published_once(pipeline, node, empty, count)
    assert lost_workers(app) >= 5  # kills that hit a running job
    assert_each_step_skips_what_is_done(app)


done_before = {}


def progress(app):
    """Wait until a job has ended since the last time."""
    before = done_before.get(id(app), -1)
    done_before[id(app)] = eventually(lambda: (now := ended(app)) > before and now, "some job ends", 60)


def ended(app):
    return sum(row.completed for row in app.stats(since="1h").rows)


def uploaded(app, pipeline, count):
    """Whether all are uploaded. An operator runs those again whose workers were killed three times."""
    for job in app.list("state:dead"):
        assert "poison" in app.get(job.id).reason
        app.retry(job.id)
    return story.statuses(pipeline.DATABASE) == {"uploaded": count}


def assert_published_once(pipeline, node, empty, count):
    rows = story.rows(pipeline.DATABASE).values()
    wanted = [cids([pipeline.document(row)]) for row in rows]
    pins = node.pins() - empty
    assert len(pins) == len(wanted) == count
    assert all({each.v0, each.v1} & pins == {row["cid"]} for each, row in zip(wanted, rows, strict=True))
    assert not any(private in f"{row}" for row in rows for private in PRIVATE)  # the text as it was is gone


def lost_workers(app):
    jobs = app.list("", limit=1000)
    return sum(attempt.outcome not in ("completed", "failed") for job in jobs for attempt in app.attempts(job.id))


def assert_each_step_skips_what_is_done(app):
    with app.worker():
        for step, reason in STEPS.items():
            job = app.enqueue(step, {"conversation": talk(0)["session_id"]}, queue="conversations")
            assert job.result(timeout=30) == {"skipped": True, "reason": reason}


@pytest.mark.slow
def test_validation_rejects_by_its_stages(pipeline, tmp_path):
    app = pipeline.app
    good = "User: How do I sort a list of orders by their price?\nAssistant: Use sorted with a key, it is stable.\n"
    private = "User: ada@example.org bob@example.org +1 212 555 0199 eve@example.org 203.0.113.9\nAssistant: call +49 30 901820 ok\n"
    texts = {"a": good, "b": good, "c": "User: hi\nAssistant: hello\n", "d": "User: " + "word " * 20, "e": private}
    with closing(connected(pipeline.DATABASE)) as db, app.worker(types=["sanitize_conversation", "validate_quality"]):
        for name, text in texts.items():
            record(app, db, {"session_id": name, "transcript": text})
            eventually(lambda name=name: settled(pipeline, name), f"{name} is validated")
    found = {name: (row["status"], row["quality"]) for name, row in story.rows(pipeline.DATABASE).items()}
    assert found == {
        "a": ("validated", "good"), "b": ("rejected", "the same as a"), "c": ("rejected", "too short"),
        "d": ("rejected", "only one side has spoken"), "e": ("rejected", "most of it is personal"),
    }  # fmt: skip
    (job,) = app.list("type:validate_quality ref:b") or app.list("type:validate_quality args.conversation:b")
    lines = [line.message for line in app.logs(job.id)]
    assert lines == ["complete done", "private done", "new done"]


def settled(pipeline, name):
    return story.rows(pipeline.DATABASE)[name]["status"] in ("validated", "rejected")


@pytest.mark.alone
def test_the_hook_takes_less_than_100_ms(tmp_path, monkeypatch, capsys, record_property):
    monkeypatch.setenv("CONVERSATIONS", str(tmp_path / "c.db"))
    story.hooked(talk(0))  # makes the tables
    rounds = []
    for first in range(1, 61, 20):
        times = [story.hooked(short(number)) for number in range(first, first + 20)]
        rounds.append((story.p95(took for took, _ in times), story.p95(used for _, used in times), bare()))
        if rounds[-1][0] < story.LIMIT:
            break
    took, used, alone = min(rounds)
    said = f"the hook: p95 {took:.0f} ms from start to exit, {used:.0f} ms of processor; limit {story.LIMIT:.0f} ms (a bare interpreter here: {alone:.0f} ms)"
    record_property("hook", said)
    with capsys.disabled():
        print(f"\n{said}")
    assert took < story.LIMIT or alone > BUSY, said


BUSY = 40.0  # ms that a bare interpreter takes only where others use the processor


def bare():
    """The p95 of an interpreter that does nothing, in ms: how busy this machine is."""
    import time

    def took():
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", ""], check=True)
        return (time.perf_counter() - started) * 1000

    return story.p95(took() for _ in range(10))


def test_a_conversation_and_its_job_are_recorded_together_once(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVERSATIONS", str(tmp_path / "c.db"))
    for _ in range(2):
        story.hooked(talk(1))
    from mainstay import Mainstay

    (job,) = Mainstay(f"sqlite:///{tmp_path}/c.db").list("")
    assert (job.type, job.args, job.key, job.priority) == (
        "sanitize_conversation", {"conversation": "session-00001"}, "sanitize-session-00001", 5
    )  # fmt: skip
    assert story.statuses(tmp_path / "c.db") == {"pending_sanitization": 1}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_story():
    done = subprocess.run(
        [sys.executable, "-m", "examples.conversation_hook"],
        cwd=story.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("✓") >= 19

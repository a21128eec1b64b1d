"""`logs` over many jobs, and what `show` tells of an attempt."""

import json
import logging

import pytest

from mainstay import ctx
from tests.waiting import eventually


@pytest.fixture
def jobs(app):
    """Two jobs that have run: one completed, one is dead."""

    @app.job(retry=1)
    def mail(to: str) -> None:
        with ctx.stage("render"):
            ctx.log("rendering", template="welcome")
        ctx.log("slow answer\x1b[31m", level="warning", host="mail.example")
        if to == "nobody":
            json.loads("{")

    handles = [mail.enqueue("ada"), mail.enqueue("nobody")]
    level = logging.getLogger().level
    with app.worker(concurrency=1):
        eventually(lambda: not app.list("state:queued,running"), "the jobs to end")
    assert logging.getLogger().level == level
    return [handle.id for handle in handles]


def test_the_lines_of_many_jobs_in_the_order_of_their_time(run, jobs):
    found = run("logs", "type:mail", "--since", "1h")
    assert found.code == 0
    assert [line.split()[2:4] for line in found.out.splitlines()] == [
        ["info", "render"], ["info", "render"], ["warning", "slow"],
    ] * 2  # fmt: skip
    assert "\x1b" not in found.out


def test_by_level_as_json(run, jobs):
    lines = json.loads(run("logs", "--level", "warning", "--json").out)
    assert [(line["job"], line["level"], line["fields"]) for line in lines] == [
        (job, "warning", {"host": "mail.example"}) for job in jobs
    ]


def test_one_job_by_level(run, jobs):
    assert len(run("logs", jobs[0], "--level", "warning").out.splitlines()) == 1
    assert "has logged nothing of that" in run("logs", jobs[0], "--level", "error").err


def test_a_page_says_how_to_go_on(run, jobs, monkeypatch):
    monkeypatch.setattr("mainstay.control.logs.ROWS", 1)
    first = run("logs", "--level", "warning", "-n", "1")
    place = first.err.split("--after ")[1].strip().strip("'")
    assert (
        len(first.out.splitlines())
        == len(run("logs", "--level", "warning", "-n", "1", "--after", place).out.splitlines())
        == 1
    )


def test_what_does_not_match_is_said(run, jobs):
    assert "no line matches" in run("logs", "type:none").err
    wrong = run("logs", "--level", "warn")
    assert (wrong.code, 'did you mean "warning"' in wrong.err) == (2, True)
    assert run("logs", "--since", "soon").code == 2


def test_follow_prints_new_lines_once(run, jobs, app, monkeypatch):
    looks = []

    def look(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("mainstay.cli.logs.time.sleep", look)
    assert len(run("logs", "--level", "warning", "--follow").out.splitlines()) == 2


def test_show_prints_stages_warnings_and_the_frames_of_the_user(run, jobs):
    text = run("show", jobs[1]).out
    assert "stage render done" in text
    assert "slow answer" in text
    assert "frames of libraries" in text
    assert "json/decoder.py" not in text
    assert "json/decoder.py" in run("show", jobs[1], "--full").out
    record = json.loads(run("show", jobs[1], "--json").out)
    assert record["updated_at"] == record["finished_at"]
    assert [frame["user"] for frame in record["attempts"][0]["frames"]] == [True, False, False, False]

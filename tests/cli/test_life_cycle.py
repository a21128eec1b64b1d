"""`mainstay worker --events`: the life of each job, one line of JSON for each step."""

import json

import pytest

CODE = """
from mainstay import Mainstay, Retry, ctx

app = Mainstay("{url}")


@app.job
def child() -> None: ...


@app.job(retry=Retry(2, base="1h", jitter=False))
def flaky() -> None:
    raise ConnectionError("no route, password=hunter2")


@app.job
def parent() -> None:
    ctx.enqueue(child.prepare())
"""


@pytest.fixture
def told(app, url, shell, tmp_path):
    """Drain the jobs of these types; return the lines about each of them, by type."""
    (tmp_path / "shop_jobs.py").write_text(CODE.format(url=url), encoding="utf-8")

    def drain(*types):
        for type in types:
            app.enqueue(type)
        found = shell("worker", "--app", "shop_jobs:app", "--drain", "--json", "--events", "--log-level", "error")
        assert (found.code, found.err) == (0, "")
        return [json.loads(line) for line in found.out.splitlines()][:-1]  # the last one is the summary

    return drain


def test_each_step_is_a_line(told):
    lines = told("parent")
    assert [(line["event"], line.get("type")) for line in lines] == [
        ("claimed", "parent"), ("started", "parent"), ("completed", "parent"), ("queued", "child"), ("claimed", "child"),
        ("started", "child"), ("completed", "child"),
    ]  # fmt: skip
    assert lines[3]["parent"] == lines[0]["job"]
    assert {line["worker"] for line in lines if "worker" in line} == {lines[0]["worker"]}
    assert all(line["at"].endswith("Z") for line in lines)


def test_a_failure_has_its_error_without_secrets_and_the_time_of_the_next_try(told):
    failed = told("flaky")[-1]
    assert (failed["event"], failed["attempt"], failed["next"] > failed["at"]) == ("failed", 1, True)
    assert failed["error"].startswith("ConnectionError: no route, password=")
    assert "hunter2" not in json.dumps(failed)

"""`mainstay reconcile`, and the supervisor whose first worker reconciles for all."""

import json
import os
import signal
import subprocess
import sys

import pytest

from mainstay import Mainstay
from mainstay.cli import exits
from mainstay.cli.life_cycle import LifeCycle
from mainstay.cli.worker import WorkerLog
from mainstay.load_app import load_app
from tests.waiting import eventually

PROGRAM = """
from mainstay import Mainstay
from mainstay.handlers import files

app = Mainstay("sqlite:///jobs.db")
made = files.register(app, roots=["data"])


@app.job
def plain() -> None: ...
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """An application in the folder, with two files that jobs have made, and one that was deleted."""
    (tmp_path / "filer.py").write_text(PROGRAM)
    (tmp_path / "data").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MAINSTAY_APP", "filer:app")
    monkeypatch.delitem(sys.modules, "filer", raising=False)
    app = load_app("filer:app")
    made = sys.modules["filer"].made
    with app.worker():
        for name in ("a.json", "b.json", "c.json"):
            made.create_file.enqueue(name, "{}").result(timeout=10)
        made.delete_file.enqueue("c.json").result(timeout=10)
    yield app
    app.close()


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


def test_all_is_well(run, program):
    result = run("reconcile")
    assert (result.code, result.out) == (exits.OK, "")
    assert result.err == "checked 3 completed jobs: 0 wrong\n"


def test_what_is_wrong_is_listed_and_left_alone(run, program, data):
    (data / "a.json").unlink()
    (data / "b.json").write_text("[]")
    (data / "c.json").write_text("{}")
    result = run("reconcile")
    assert result.code == exits.FAILED
    for text in (
        "data/a.json: is missing",
        "data/b.json: has other content",
        "data/c.json: exists",
        "→ mainstay show ",
    ):
        assert text in result.out
    assert result.err == "checked 3 completed jobs: 3 wrong\n"
    assert (data / "b.json").read_text() == "[]"
    assert not (data / "a.json").exists()
    records = json.loads(run("reconcile", "create_file", "--json").out)
    assert [(each["subject"], each["kind"]) for each in records] == [
        (f"{data}/b.json", "wrong"),
        (f"{data}/a.json", "wrong"),
    ]
    assert run("reconcile", "-q", "--limit", 1).out.split() == [app_job(program, "delete_file")]
    assert f"{data}/c.json" in run("reconcile", "--fields", "subject", "--since", "1h").out


def app_job(app, type):
    return app.search(f"type:{type}").ids[0]


def test_what_could_not_be_checked_has_its_own_code(run, program, data):
    data.rename(data.with_name("unmounted"))
    result = run("reconcile")
    assert result.code == exits.PARTIAL
    assert "could not be checked: FileNotFoundError: [Errno 2] the root folder is missing" in result.out
    assert result.err == "checked 3 completed jobs: 0 wrong, 3 could not be checked\n"


def test_a_crash_between_the_file_and_the_record_is_found(run, program, data):
    """The file of a deletion is gone, but its job is recorded as not done."""
    (data / "a.json").unlink()
    waiting = program.registry["delete_file"].options(delay="1h").enqueue("a.json")
    result = run("reconcile")
    assert result.code == exits.PARTIAL
    assert "data/a.json: is missing" in result.out.replace("\n    ", "")
    assert f"({waiting.id} changes it)" in " ".join(result.out.split())


def test_mistakes(run, program):
    assert "plain has no verify=" in run("reconcile", "plain").err
    assert run("reconcile", "plain").code == exits.USAGE
    assert 'did you mean "create_file"' in run("reconcile", "create_flie").err
    assert run("reconcile", "--since", "soon").code == exits.USAGE
    assert "there is no field 'nam'" in run("reconcile", "--fields", "nam").err or run("reconcile").out == ""


def test_an_application_without_such_types_says_so(run, app, tmp_path, monkeypatch):
    (tmp_path / "none.py").write_text("from mainstay import Mainstay\napp = Mainstay('sqlite:///none.db')\n")
    monkeypatch.syspath_prepend(tmp_path)
    Mainstay("sqlite:///none.db").enqueue("x")
    result = run("reconcile", "--app", "none:app")
    assert result.code == exits.OK
    assert result.err.startswith("no type of this application has verify=")


def test_the_first_worker_of_a_supervisor_reconciles_for_all(program, tmp_path, data):
    (data / "a.json").unlink()
    command = [sys.executable, "-m", "mainstay", "worker", "--processes", "2", "--log-format", "json"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=tmp_path, stderr=log, env={**os.environ, "PYTHONPATH": str(tmp_path)})

    def events(name):
        lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.endswith("}")]
        return [line for line in lines if line["event"] == name]

    try:
        eventually(lambda: len(events("worker_started")) == 2 and events("reconciled"), "both workers", 30)
        killed = program.workers()[0]
        os.kill(killed.pid, signal.SIGKILL)
        eventually(lambda: len(events("worker_started")) == 3, "another worker", 30)
    finally:
        process.terminate()
        process.wait(30)
    assert [line["subject"] for line in events("discrepancy")] == [f"{data}/a.json"]
    assert [line["wrong"] for line in events("reconciled")] == [1]


def test_secrets_and_control_characters_are_not_shown(run, program):
    holds = program.registry["create_file"].verification
    said = "is gone\x1b[2J password=hunter-text"
    program.registry["create_file"].verification = holds._replace(holds=lambda job: said)
    WorkerLog(program, "info", "text")
    for result in (run("reconcile"), run("reconcile", "--json")):
        assert "is gone" in result.out
        assert "is gone" in result.err  # the log of a worker
        assert "hunter" not in result.out + result.err
        assert "\x1b" not in result.out + result.err


def test_a_worker_prints_discrepancies_with_the_life_of_jobs(program, data, capsys):
    (data / "a.json").unlink()
    LifeCycle(program)
    (found,) = program.reconcile().found
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert line.pop("at")
    assert line == {
        "event": "discrepancy", "job": found.id, "type": "create_file", "subject": f"{data}/a.json", "kind": "wrong", "text": "is missing",
    }  # fmt: skip

"""The bench runs on SQLite: every contender's counts agree and the report is printed. Speed is not checked here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.contenders import contenders

pytestmark = pytest.mark.xdist_group("bench")  # they share one run, which one process makes
ROOT = Path(__file__).resolve().parents[2]
DRAINS = ("drain", "drain2", "waiting", "finished", "foreign", "lanes", "pickup")


def bench(folder, *arguments):
    """Run the command; return what it printed and the figures it wrote."""
    file = folder / "figures.json"
    command = [sys.executable, "-m", "bench", "--quick", "--json", str(file), *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout, json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return bench(tmp_path_factory.mktemp("bench"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_job_is_run_once_and_stored_as_completed(run):
    rows = [row for row in run[1]["rows"] if row["measure"] in DRAINS]
    assert {row["measure"] for row in rows} == set(DRAINS)
    assert all(row["executions"] == row["distinct"] == row["completed"] >= row["expected"] for row in rows)


@pytest.mark.slow
def test_every_enqueued_job_is_stored(run):
    rows = [row for row in run[1]["rows"] if row["measure"] in ("enqueue", "bulk", "cold") and "expected" in row]
    assert rows
    assert all(row["stored"] == row["expected"] for row in rows)


@pytest.mark.slow
def test_the_report_names_every_contender_and_every_target(run):
    printed, figures = run
    installed = {one.name for one in contenders() if not one.missing()}
    assert {row["contender"] for row in figures["rows"] if row["measure"] == "drain"} == installed
    assert all(name in printed for name in installed)
    assert "NOT MET" not in printed.partition("Targets")[2].partition("`import mainstay`")[2]
    assert "FAILED" not in printed

"""The bench runs on SQLite: every contender's counts agree and the report is printed. Speed is not checked here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.contenders import contenders

ROOT = Path(__file__).resolve().parents[2]
DRAINS = ("drain", "drain2", "waiting", "finished", "foreign", "lanes", "pickup")


def bench(folder, *arguments):
    """Run the command; return what it printed and the figures it wrote."""
    file = folder / "figures.json"
    command = [sys.executable, "-m", "bench", "--quick", "--json", str(file), *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout, json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_contender_counts_what_it_ran_and_is_in_the_report(tmp_path):
    """One test, because a run takes half a minute."""
    printed, figures = bench(tmp_path)
    rows = figures["rows"]
    drains = [row for row in rows if row["measure"] in DRAINS]
    assert {row["measure"] for row in drains} == set(DRAINS)
    assert all(row["executions"] == row["distinct"] == row["completed"] >= row["expected"] for row in drains)
    stored = [row for row in rows if row["measure"] in ("enqueue", "bulk", "cold") and "expected" in row]
    assert stored
    assert all(row["stored"] == row["expected"] for row in stored)
    installed = {one.name for one in contenders() if not one.missing()}
    assert {row["contender"] for row in rows if row["measure"] == "drain"} == installed
    assert all(name in printed for name in installed)
    assert "NOT MET" not in printed.partition("Targets")[2].partition("`import mainstay`")[2]
    assert "FAILED" not in printed

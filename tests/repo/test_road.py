"""The page on the road of a job names files, functions and statements that exist, and a real job calls them in order."""

import ast
import re
import sys
import threading
from pathlib import Path

import pytest

from mainstay import Mainstay
from tests.servers.engines import ENGINES, kind

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/mainstay"
PAGE = ROOT / "docs/explanation/road-of-a-job.md"
HEADINGS = {"sqlite": "SQLite", "postgres": "PostgreSQL", "redis": "Redis"}
MOST = 12  # files of Python on the road of one engine
ROW = re.compile(
    r"\| \d+ \| \[`(?P<file>.+?)`\]\(../../src/mainstay/(?P=file)\) \| (?P<functions>.+?) \| (?P<text>.+) \|"
)


@pytest.mark.parametrize("name", HEADINGS)
def test_the_road_has_few_files(name):
    assert 0 < len({file for file, _, _ in road(name)}) <= MOST


@pytest.mark.parametrize("name", HEADINGS)
def test_every_file_and_function_exists(name):
    missing = [(file, function) for file, functions, _ in road(name) for function in set(functions) - defined(file)]
    assert missing == []


@pytest.mark.parametrize("name", HEADINGS)
def test_every_statement_exists(name):
    there = {path.name for part in (name, "sql") for path in SOURCE.glob(f"stores/{part}/statements/**/*")}
    named = {statement for _, _, text in road(name) for statement in re.findall(r"`(\w+\.(?:sql|lua))`", text)}
    assert named
    assert named - there == set()


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_a_job_takes_the_road_in_this_order(engine, tmp_path):
    with ENGINES[engine](tmp_path) as url:
        called = iter(calls(url))
    steps = [(file, function) for file, functions, _ in road(kind(engine)) for function in functions]
    assert [step for step in steps if step not in called] == []  # each `in` reads on to the next such call


def test_a_missing_function_is_seen():
    assert "JobType.draft" in defined("registry.py")
    assert "JobType.vanish" not in defined("registry.py")
    assert defined("no_such_file.py") == set()


def road(name):
    """Yield the rows of an engine's table: file, functions, text."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {HEADINGS[name]}\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        if re.match(r"\| \d+ \|", line):
            row = ROW.fullmatch(line)
            yield row["file"], re.findall("`([^`]+)`", row["functions"]), row["text"]


def defined(file):
    """Return the functions of a file and the methods of its classes; an empty set if there is no such file."""
    path = SOURCE / file
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return functions | {
        f"{c.name}.{node.name}" for c in classes for node in c.body if isinstance(node, ast.FunctionDef)
    }


def calls(url):
    """Return mainstay's function calls from the enqueue of one job to its stored outcome, in order."""
    app = Mainstay(url)
    handler = app.job(name="plain")(lambda: None)
    stored, codes = threading.Event(), []
    app.events.on("stored", lambda transitions: transitions and stored.set())

    def profile(frame, event, _):
        if event == "call":
            codes.append(frame.f_code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        handler.enqueue()
        with app.worker():
            assert stored.wait(30)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        app.close()
    ours = [code for code in codes if code.co_filename.startswith(str(SOURCE))]
    return [(str(Path(code.co_filename).relative_to(SOURCE)), code.co_qualname) for code in ours]

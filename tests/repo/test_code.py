"""The house rules that a program can check, over the source and the tests."""

import ast
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = sorted(ROOT.glob("src/mainstay/**/*.py"))
TESTS = sorted(ROOT.glob("tests/**/*.py"))

FILE_LINES = 400
BODY_LINES = 40
MEDIAN_BODY_LINES = 8
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}


def test_files_stay_small_enough_to_know():
    assert [name(path) for path in SOURCE if len(lines(path)) > FILE_LINES] == []


def test_functions_stay_short():
    long = [f"{where}: {size}" for where, size in bodies(SOURCE).items() if size > BODY_LINES]
    assert long == []


def test_the_usual_function_is_a_few_lines():
    sizes = bodies(SOURCE).values()
    assert statistics.median(sizes or [0]) <= MEDIAN_BODY_LINES


def test_file_names_say_what_is_inside():
    assert [name(path) for path in SOURCE + TESTS if path.stem in VAGUE_NAMES] == []


def test_nothing_is_pickled():
    unsafe = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
    assert [where for where, module in imports(SOURCE) if module.split(".")[0] in unsafe] == []


def test_tests_wait_for_events_instead_of_sleeping():
    assert [where for path in TESTS for where in sleeps(path)] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import time\ntime.sleep(1)", 1),
        ("import time as t\nt.sleep(1)", 1),
        ("from time import sleep as rest\nrest(1)", 1),
        ("import time\ntime.monotonic()", 0),
        ("import asyncio\nasyncio.sleep(0)", 0),
    ],
)
def test_a_sleep_is_seen(tmp_path, code, found):
    path = tmp_path / "code.py"
    path.write_text(code, encoding="utf-8")
    assert len(list(sleeps(path))) == found


def test_a_body_is_counted_without_its_docstring(tmp_path):
    path = tmp_path / "code.py"
    path.write_text("def f():\n    '''What\n\n    and why.'''\n    a = 1\n    # why\n    return a\n", encoding="utf-8")
    assert list(bodies([path]).values()) == [3]


def bodies(paths):
    """The size of each function's body: from its first statement after the docstring to its end."""
    return {f"{name(path)}:{node.lineno} {node.name}": size(node) for path in paths for node in functions(path)}


def functions(path):
    return [node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def size(function):
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def imports(paths):
    """Each imported module, with the place that imports it."""
    for path in paths:
        for node in nodes(path):
            for module in imported(node):
                yield f"{name(path)}:{node.lineno}", module


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def sleeps(path):
    """Where a file gets hold of `time.sleep`."""
    aliases = {
        alias.asname or alias.name
        for node in nodes(path) if isinstance(node, ast.Import)
        for alias in node.names if alias.name == "time"
    }  # fmt: skip
    for node in nodes(path):
        match node:
            case ast.ImportFrom(module="time", names=names) if any(alias.name == "sleep" for alias in names):
                yield f"{name(path)}:{node.lineno}"
            case ast.Attribute(value=ast.Name(id=module), attr="sleep") if module in aliases:
                yield f"{name(path)}:{node.lineno}"


def nodes(path):
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"), path)))


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def name(path):
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name

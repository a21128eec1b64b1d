"""The page of requirements has every number once, counts its rows rightly, and names tests and files that exist. So does that of the dashboard."""

import ast
import functools
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/requirements.md"
SIZES = {"S0": 49, "S1": 54, "S2": 71, "S3": 75, "S4": 32}  # a number is never given away: these only grow
STATES = ["works", "part", "missing"]
ROW = re.compile(r"\| (S\d)-(\d\d) \| (.+?) \| (.+?) \| (\w+) \|(.*)\|")
COUNTS = re.compile(r"\| (S\d|all) \|[^|]*\| \**(\d+)\** \| \**(\d+)\** \| \**(\d+)\** \| \**(\d+)\** \|")
NAMED = re.compile(r"`((?:tests|bench|docs|examples|src)/[\w/.-]+)(?:::(\w+))?`|\]\(\.\./([\w/.-]+)\)")


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


def rows(page):
    """Yield document, number, state and what shows it, row by row."""
    for line in page.splitlines():
        if re.match(r"\| S\d-", line):
            found = ROW.fullmatch(line)
            assert found, f"no row of five columns: {line}"
            yield found[1], int(found[2]), found[5], found[6]


def named(text):
    """Return the files that a text names, each with the test named in it or an empty text."""
    return [(path or f"docs/{link}", test) for path, test, link in NAMED.findall(text)]


@functools.cache
def functions_in(path):
    """Return the test functions of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def missing(text):
    """Return the files and tests that a text names and that do not exist."""
    there = [(path, test) for path, test in named(text) if (ROOT / path).exists()]
    lacking = [path for path, test in named(text) if (path, test) not in there]
    return lacking + [f"{path}::{test}" for path, test in there if test and test not in functions_in(path)]


def test_every_number_is_there_once(page):
    found = {document: [] for document in SIZES}
    for document, number, *_ in rows(page):
        found[document].append(number)
    assert found == {document: list(range(1, size + 1)) for document, size in SIZES.items()}


def test_the_counts_are_those_of_the_rows(page):
    states = Counter((document, state) for document, _, state, _ in rows(page))
    assert {state for _, state in states} <= set(STATES)
    told = {name: [int(n) for n in numbers] for name, *numbers in COUNTS.findall(page)}
    wanted = {document: [size, *(states[document, state] for state in STATES)] for document, size in SIZES.items()}
    assert told == wanted | {"all": [sum(column) for column in zip(*wanted.values(), strict=True)]}


def test_what_works_names_a_test_that_shows_it(page):
    bare = [(document, number) for document, number, state, text in rows(page)
            if state == "works" and not any(test for _, test in named(text))]  # fmt: skip
    assert bare == []


def test_what_is_a_part_says_what_is_missing(page):
    mute = [(document, number) for document, number, state, text in rows(page)
            if state == "part" and not NAMED.sub("", text).strip()]  # fmt: skip
    assert mute == []


def test_everything_named_exists(page):
    assert [lacking for *_, text in rows(page) for lacking in missing(text)] == []


def test_what_does_not_exist_is_seen():
    here = "tests/repo/test_requirements.py"
    assert missing(f"`{here}` `{here}::test_what_does_not_exist_is_seen`") == []
    assert missing(f"`{here}::test_of_nothing` `tests/no_such.py::test_a`") == [
        "tests/no_such.py",
        f"{here}::test_of_nothing",
    ]


def test_the_features_of_the_dashboard_each_name_a_test():
    text = (ROOT / "docs/explanation/dashboard.md").read_text(encoding="utf-8")
    numbered = [line for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(line.split("|")[1]) for line in numbered] == list(range(1, 40))
    assert [line for line in numbered if not all(test for _, test in named(line)) or not named(line)] == []
    assert missing(text) == []

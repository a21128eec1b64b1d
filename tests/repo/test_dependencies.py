"""Every dependency and extra that pyproject.toml declares is imported by the package."""

import ast
import functools
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Packages with another name than their module.
LOADED_BY = {"opentelemetry-api": "opentelemetry", "phonenumberslite": "phonenumbers"}


@functools.cache
def imported():
    """Return the top-level names of all modules that the package imports."""
    names = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names


def missing(requirements, names):
    """Return the requirements that none of these imports needs."""
    packages = [re.match(r"[\w-]+", text)[0] for text in requirements]
    return [name for name in packages if LOADED_BY.get(name, name).replace("-", "_") not in names]


def test_the_package_imports_every_dependency():
    assert missing(PROJECT["dependencies"], imported()) == []


@pytest.mark.parametrize("extra", sorted(set(PROJECT["optional-dependencies"]) - {"all"}))
def test_the_package_imports_what_an_extra_installs(extra):
    assert missing(PROJECT["optional-dependencies"][extra], imported()) == []


def test_all_installs_every_extra():
    (text,) = PROJECT["optional-dependencies"]["all"]
    named = set(re.fullmatch(r"mainstay\[(.+)\]", text)[1].split(","))
    assert named == set(PROJECT["optional-dependencies"]) - {"all"}


def test_an_unused_dependency_is_found():
    assert missing(["msgspec>=0.20", "no-such-thing>=1"], imported()) == ["no-such-thing"]

"""The scripts of Redis name the kinds of rules that hold no job back, as `core.rules.QUIET` does for the other engines."""

import re
from pathlib import Path

import pytest

import mainstay
from mainstay.core.rules import QUIET, SCHEDULE, TICK

SCRIPTS = Path(mainstay.__file__).parent / "stores" / "redis" / "statements"


@pytest.mark.parametrize(
    ("script", "name", "kinds"),
    [("import.lua", "quiet", {*QUIET, TICK}), ("set_rule.lua", "about", {*QUIET} - {SCHEDULE})],
)
def test_a_script_knows_the_kinds_that_hold_no_job_back(script, name, kinds):
    text = (SCRIPTS / script).read_text(encoding="utf-8")
    (listed,) = re.findall(rf"local {name} = \(?\{{(.*?)\}}", text, re.DOTALL)
    assert set(re.findall(r"(\w+) = true", listed)) == kinds

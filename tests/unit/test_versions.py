"""Versions, upgrades and aliases of a type, and whether a payload fits what another worker declares."""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest

from mainstay import ConfigError, InvalidPayload, Mainstay, UsageError
from mainstay.core.schema import Schema
from mainstay.worker.rolling_deploy import fits


class Shade(Enum):
    DARK = "dark"


@dataclass
class Point:
    x: int
    y: float = 0.0


def plain(a: int, b: str = "") -> None: ...
def nested(points: list[Point], shade: Shade = Shade.DARK) -> None: ...
def chosen(mode: Literal["r", "w"], point: Point | None = None, flag: bool = False) -> None: ...
def free(given: dict[str, int], other: Any = None) -> None: ...
def more(a: int, **rest: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "payload"),
    [
        (plain, {"a": 1}), (plain, {"a": 1, "b": "x"}), (plain, {"a": "1"}), (plain, {"a": True}), (plain, {"b": "x"}),
        (plain, {"a": 1, "c": 1}), (plain, {"a": 1.5}), (plain, {"a": None}),
        (nested, {"points": []}), (nested, {"points": [{"x": 1}]}), (nested, {"points": [{"y": 1}]}),
        (nested, {"points": [{"x": 1, "y": 2}], "shade": "dark"}), (nested, {"points": [], "shade": "light"}),
        (nested, {"points": {}}),
        (chosen, {"mode": "r", "point": None}), (chosen, {"mode": "x"}), (chosen, {"mode": "w", "point": {"x": 1.5}}),
        (chosen, {"mode": "r", "flag": 1}), (chosen, {"mode": "r", "flag": True, "point": {"x": 1}}),
        (free, {"given": {"a": 1}}), (free, {"given": {"a": "1"}}), (free, {"given": {}, "other": [None]}),
        (more, {"a": 1, "b": "x"}),
    ],
)  # fmt: skip
def test_a_payload_fits_a_schema_if_the_code_takes_it(function, payload):
    schema = Schema(function)
    declared = json.loads(json.dumps(schema.json_schema()))
    try:
        schema.decode(json.dumps(payload))
        taken = True
    except InvalidPayload:
        taken = False
    assert fits(payload, declared, declared) is taken


def test_what_is_not_known_counts_as_fitting():
    assert fits(1, {}, {})
    assert fits(1, {"type": "quark"}, {})
    assert fits({"a": 1}, {"properties": {"a": {"$ref": "#/$defs/Missing"}}}, {})
    assert not fits(1, False, {})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"version": 0}, "version=0"), ({"version": True}, "version=True"), ({"version": "2"}, "version='2'"),
        ({"version": 2, "upgrades": {2: dict}}, r"upgrades=\{2: …\}.*below version=2"),
        ({"upgrades": {1: dict}}, "below version=1"), ({"version": 2, "upgrades": {"1": dict}}, "upgrades="),
        ({"version": 2, "upgrades": {1: None}}, "to a function"), ({"aliases": ["a b"]}, "job name 'a b'"),
    ],
)  # fmt: skip
def test_a_mistake_is_said_where_the_type_is_defined(given, words):
    app = Mainstay("sqlite:///:memory:")
    with pytest.raises(UsageError, match=words):
        app.job(**given)(plain)


def test_an_alias_belongs_to_one_function():
    app = Mainstay("sqlite:///:memory:")
    app.job(aliases=["old"])(plain)
    with pytest.raises(ConfigError, match="two jobs are called 'old'"):
        app.job(name="old")(nested)
    with pytest.raises(ConfigError, match="two jobs are called 'plain'"):
        app.job(aliases=["plain"])(free)


def test_the_draft_has_the_version_of_its_type():
    app = Mainstay("sqlite:///:memory:")
    typed = app.job(version=3)(plain)
    assert typed.prepare(1).version == 3
    assert app.enqueue("plain", {"a": 1}).job().version == 3
    assert typed.info(0).policy["version"] == 3


def test_two_declarations_of_the_same_code_are_equal_whatever_its_name():
    app = Mainstay("sqlite:///:memory:")
    first, second = app.job(name="one")(nested), app.job(name="two")(nested)
    assert first.takes == second.takes
    assert app.job(name="three")(plain).takes != first.takes

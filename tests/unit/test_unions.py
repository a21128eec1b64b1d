"""Unions that msgspec alone does not read, times with offsets that JSON dates cannot carry, and memory that runs out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from pydantic import BaseModel

from mainstay.core.codec import encode_result
from mainstay.core.errors import InvalidPayload
from mainstay.core.schema import Schema
from mainstay.worker.rolling_deploy import fits

ODD = timezone(timedelta(hours=1, seconds=30))
LATE = datetime(2030, 1, 31, 9, 30, tzinfo=ODD)


@dataclass
class Circle:
    radius: int


@dataclass
class Ring:
    radius: int
    width: int = 1


@dataclass
class Disc:
    radius: int


@dataclass
class Event:
    at: datetime


class Account(BaseModel):
    name: str


def path(value: Path | str) -> None: ...
def shape(value: Circle | Ring) -> None: ...
def shapes(value: list[Circle | Ring | None]) -> None: ...
def mapped(value: dict[str, Circle | Path | int]) -> None: ...
def mixed(value: Account | Circle | None = None) -> None: ...
def told(value: datetime | UUID | Decimal) -> None: ...
def more(**value: Circle | Ring) -> None: ...
def alike(value: Circle | Disc) -> None: ...


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (path, Path("a/b")), (shape, Circle(1)), (shape, Ring(1)), (shape, Ring(2, 3)),
        (shapes, [Ring(1), None, Circle(2)]), (mapped, {"a": Circle(1), "b": 3, "c": Path("x")}),
        (mixed, Account(name="ada")), (mixed, Circle(1)), (mixed, None),
        (told, datetime(2030, 1, 31, tzinfo=UTC)), (told, UUID(int=7)), (told, Decimal("1.5")),
    ],
)  # fmt: skip
def test_a_value_of_a_union_arrives_as_it_was_given(function, value):
    schema = Schema(function)
    text = schema.encode((value,), {})
    assert schema.decode(text) == {"value": value}
    declared = json.loads(json.dumps(schema.json_schema()))
    assert fits(json.loads(text), declared, declared)


def test_a_text_in_a_union_with_a_path_is_taken():
    schema = Schema(path)
    assert schema.decode(schema.encode(("a/b",), {})) == {"value": Path("a/b")}


def test_unions_among_the_further_arguments():
    schema = Schema(more)
    given = {"a": Circle(1), "b": Ring(1, 2)}
    assert schema.decode(schema.encode((), given)) == given


@pytest.mark.parametrize("value", ["no", 1.5, {"width": 1}, [1]])
def test_what_no_choice_takes_is_refused_with_its_place(value):
    with pytest.raises(InvalidPayload, match=r"payload.value: expected Circle \| Ring, got"):
        Schema(shape).decode(json.dumps({"value": value}))
    with pytest.raises(InvalidPayload):
        Schema(shape).encode((value,), {})


def test_classes_that_json_does_not_tell_apart_are_refused():
    schema = Schema(alike)
    assert schema.decode(schema.encode((Circle(1),), {})) == {"value": Circle(1)}
    with pytest.raises(InvalidPayload, match="can be Disc and Circle, which JSON does not tell apart"):
        schema.encode((Disc(1),), {})


# Offsets with seconds -------------------------------------------------------------------------------------------------
def instant(at: datetime) -> None: ...
def event(event: Event) -> None: ...
def hour(at: time) -> None: ...


@pytest.mark.parametrize(
    ("function", "value", "place"),
    [(instant, LATE, "payload.at"), (event, Event(LATE), "payload.event.at"), (hour, LATE.timetz(), "payload.at")],
)
def test_an_offset_with_seconds_is_refused_and_not_cut(function, value, place):
    with pytest.raises(InvalidPayload, match=rf"{place} has a UTC offset with seconds.*astimezone"):
        Schema(function).encode((value,), {})


def test_other_offsets_arrive():
    schema, value = Schema(instant), LATE.replace(tzinfo=timezone(timedelta(hours=-3, minutes=-30)))
    assert schema.decode(schema.encode((value,), {})) == {"at": value}


@pytest.mark.parametrize("wrap", [lambda at: at, lambda at: {"a": [at]}, Event], ids=["plain", "nested", "dataclass"])
def test_a_result_with_such_an_offset_is_the_same_instant_in_utc(wrap):
    assert "2030-01-31T08:29:30Z" in encode_result(wrap(LATE))
    assert "+01:00" in encode_result(wrap(LATE.replace(tzinfo=timezone(timedelta(hours=1)))))


# Results --------------------------------------------------------------------------------------------------------------
def test_a_result_is_read_as_the_declared_type():
    def handler() -> tuple[Circle | Ring, datetime, bytes]: ...

    value = (Ring(1), datetime(2030, 1, 31, tzinfo=UTC), b"\0\1")
    assert Schema(handler).decode_result(encode_result(value)) == value
    assert Schema(handler).decode_result(None) is None


def test_a_result_that_does_not_fit_is_plain_json():
    def handler() -> Circle: ...
    def undeclared(): ...
    def unknown() -> Missing: ...  # noqa: F821
    def impossible() -> type: ...

    for function in (handler, undeclared, unknown, impossible):
        assert Schema(function).decode_result('{"odd":[1]}') == {"odd": [1]}


# Memory ---------------------------------------------------------------------------------------------------------------
@dataclass
class Heavy:
    size: int

    def __post_init__(self):
        if self.size > 9:
            raise MemoryError


def heavy(value: Heavy) -> None: ...


def test_memory_that_runs_out_is_not_the_payloads_fault():
    schema, value = Schema(heavy), Heavy(1)
    with pytest.raises(MemoryError):
        schema.decode('{"value":{"size":10}}')
    value.size = 10
    with pytest.raises(MemoryError):
        schema.encode((value,), {})

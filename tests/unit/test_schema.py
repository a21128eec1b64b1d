"""Typed payloads: a function's annotations are the schema, strict at both ends, for every kind of type users bring."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import functools
import json
import math
import pathlib
import uuid
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pydantic
import pytest
from hypothesis import given, strategies as st

from mainstay.core.errors import InvalidPayload
from mainstay.core.schema import Schema

if TYPE_CHECKING:
    from nowhere import Invisible

NOW = dt.datetime(2025, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


class Color(enum.Enum):
    RED = "red"


class Order(pydantic.BaseModel):
    number: int = pydantic.Field(alias="orderNumber")
    at: dt.datetime | None = None
    price: float = 1.0

    @pydantic.computed_field
    def label(self) -> str:
        return f"#{self.number}"


class StrictOrder(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")
    at: dt.datetime
    parts: tuple[int, ...] = ()


class Secret(pydantic.BaseModel):
    word: pydantic.SecretStr


@dataclasses.dataclass
class Basket:
    owner: str
    orders: list[Order] = dataclasses.field(default_factory=list)
    weight: float = 0.0
    extra: Any = None


@dataclasses.dataclass
class Picky:
    n: int

    def __post_init__(self):
        if self.n < 0:
            raise KeyError("negative")


class Partial(TypedDict, total=False):
    a: int
    b: str


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Shape(msgspec.Struct, rename="camel"):
    side_length: int


class Slug(str):
    __slots__ = ()


def resize(path: str, width: int = 800, *, mode: Literal["fit", "fill"] = "fit"): ...


def nothing(): ...


def untyped(a, b=None): ...


def one(value: Any): ...


RESIZE = "resize(path: str, width: int = 800, *, mode: Literal['fit', 'fill'] = 'fit')"


def taking(annotation):
    """A schema of a function with one parameter of this type."""

    def handler(value): ...

    handler.__annotations__ = {"value": annotation}
    return Schema(handler)


# Arguments


@pytest.mark.parametrize(
    ("args", "kwargs", "bound"),
    [
        (("a",), {}, {"path": "a"}),
        (("a", 3), {}, {"path": "a", "width": 3}),
        ((), {"width": 3, "path": "a"}, {"width": 3, "path": "a"}),
        (("a",), {"mode": "fill"}, {"path": "a", "mode": "fill"}),
    ],
)
def test_arguments_are_kept_by_name_without_defaults(args, kwargs, bound):
    assert json.loads(Schema(resize).encode(args, kwargs)) == bound


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, 'resize needs the argument "path"'),
        ((), {"width": 3}, 'resize needs the argument "path"'),
        (("a",), {"widht": 3}, 'resize has no argument "widht" (did you mean "width"?)'),
        (("a",), {"zzz": 3}, 'resize has no argument "zzz"'),
        (("a", 3, "fill"), {}, "resize takes 2 arguments by position, 3 were given"),
        (("a",), {"path": "b"}, 'resize got "path" twice, by position and by name'),
    ],
)
def test_a_call_that_cannot_be_is_refused_and_shows_the_signature(args, kwargs, message):
    with pytest.raises(InvalidPayload) as caught:
        Schema(resize).encode(args, kwargs)
    assert str(caught.value) == f"{message}\n  {RESIZE}"


@given(
    st.lists(st.integers(0, 9), max_size=4),
    st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), st.integers(0, 9), max_size=4),
)
def test_encoding_allows_exactly_what_python_allows(args, kwargs):
    def f(a: int, b: int = 0, *, c: int = 0): ...

    try:
        f(*args, **kwargs)
    except TypeError:
        with pytest.raises(InvalidPayload):
            Schema(f).encode(tuple(args), kwargs)
    else:
        assert f(**json.loads(Schema(f).encode(tuple(args), kwargs))) is None


def test_encoding_does_not_change_what_it_was_given():
    kwargs = {"width": 3}
    Schema(resize).encode(("a",), kwargs)
    assert kwargs == {"width": 3}


# There and back


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (str, "Zoë", '"Zoë"'),
        (int, -(2**63), "-9223372036854775808"),
        (float, 1.5, "1.5"),
        (float, 2, "2"),
        (bool, True, "true"),
        (int | None, None, "null"),
        (int | str, "2", '"2"'),
        (list[int], [1, 2], "[1,2]"),
        (dict[str, list[int]], {"a": [1]}, '{"a":[1]}'),
        (dict[int, str], {1: "a"}, '{"1":"a"}'),
        (tuple[int, str], (1, "a"), '[1,"a"]'),
        (tuple[int, ...], (1, 2), "[1,2]"),
        (set[int], {1}, "[1]"),
        (frozenset[str], frozenset("a"), '["a"]'),
        (Literal["a", 1], 1, "1"),
        (Color, Color.RED, '"red"'),
        (dt.datetime, NOW, '"2025-01-02T03:04:05Z"'),
        (dt.date, NOW.date(), '"2025-01-02"'),
        (dt.timedelta, dt.timedelta(minutes=1), '"PT60S"'),
        (uuid.UUID, uuid.UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        (decimal.Decimal, decimal.Decimal("1.10"), '"1.10"'),
        (bytes, b"\0x", '"AHg="'),
        (pathlib.PurePosixPath, pathlib.PurePosixPath("a/b"), '"a/b"'),
        (Slug, Slug("s"), '"s"'),
        (Basket, Basket("me", [Order(orderNumber=1)]), None),
        (list[Basket], [Basket("me", weight=2.5)], None),
        (Partial, {"b": "x"}, '{"b":"x"}'),
        (Pair, Pair(1), '[1,"r"]'),
        (Shape, Shape(3), '{"sideLength":3}'),
        (Order, Order(orderNumber=7, at=NOW), '{"orderNumber":7,"at":"2025-01-02T03:04:05Z","price":1.0}'),
        (Order | None, None, "null"),
        (list[Order], [Order(orderNumber=7)], '[{"orderNumber":7,"at":null,"price":1.0}]'),
        (dict[str, Order], {"a": Order(orderNumber=7)}, '{"a":{"orderNumber":7,"at":null,"price":1.0}}'),
        (StrictOrder, StrictOrder(at=NOW, parts=(1, 2)), '{"at":"2025-01-02T03:04:05Z","parts":[1,2]}'),
        (Annotated[int, msgspec.Meta(ge=0)], 0, "0"),
        (Any, {"a": [1, None, "x"]}, '{"a":[1,null,"x"]}'),
        (dict, {"a": {"b": 1}}, '{"a":{"b":1}}'),
    ],
)
def test_a_value_of_its_type_comes_back_equal_and_of_its_type(annotation, value, text):
    schema = taking(annotation)
    stored = schema.encode((value,), {})
    assert text is None or stored == f'{{"value":{text}}}'
    found = schema.decode(stored)
    assert found == {"value": value}
    assert type(found["value"]) is (float if annotation is float else type(value))


@pytest.mark.parametrize(
    ("annotation", "given", "arrives"),
    [
        (dt.datetime, "2025-01-02T03:04:05Z", NOW),
        (Color, "red", Color.RED),
        (Basket, {"owner": "me"}, Basket("me")),
        (Order, {"orderNumber": 7}, Order(orderNumber=7)),
        (list[int], (1, 2), [1, 2]),
        (tuple[int, ...], [1, 2], (1, 2)),
        (set[int], [1, 1], {1}),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (bytes, "AHg=", b"\0x"),
        (pathlib.PurePosixPath, "a/b", pathlib.PurePosixPath("a/b")),
        (Any, (1, (2,)), [1, [2]]),
    ],
)
def test_the_json_form_of_a_value_is_accepted_in_its_place(annotation, given, arrives):
    schema = taking(annotation)
    assert schema.decode(schema.encode_mapping({"value": given})) == {"value": arrives}


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int, "2", "payload.value: expected int, got str"),
        (int, True, "payload.value: expected int, got bool"),
        (int, 1.0, "payload.value: expected int, got float"),
        (bool, 1, "payload.value: expected bool, got int"),
        (str, 1, "payload.value: expected str, got int"),
        (str, None, "payload.value: expected str, got null"),
        (str, NOW, "payload.value: expected str, got datetime"),
        (str, decimal.Decimal(1), "payload.value: expected str, got decimal"),
        (list[int], [1, "2"], "payload.value[1]: expected int, got str"),
        (Literal["a"], "b", "payload.value: invalid enum value 'b'"),
        (Color, "blue", "payload.value: invalid enum value 'blue'"),
        (Annotated[int, msgspec.Meta(ge=0)], -1, "payload.value: expected int >= 0"),
        (Basket, {"owner": 1}, "payload.value.owner: expected str, got int"),
        (Basket, {}, "payload.value: object missing required field owner"),
        (Order, {"orderNumber": "x"}, "payload.value: orderNumber: Input should be a valid integer"),
        (Order, Order.model_construct(number="x"), "payload.value: orderNumber: Input should be a valid integer"),
        (list[Order], [{}], "payload.value[0]: orderNumber: Field required"),
        (StrictOrder, {"at": NOW.isoformat(), "more": 1}, "payload.value: more: Extra inputs are not permitted"),
        (Picky, {"n": -1}, "payload: 'negative'"),
        (float, math.nan, "payload.value is nan, and JSON has no such number"),
        (float | None, math.inf, "payload.value is inf"),
        (Basket, Basket("me", weight=math.nan), "payload.value.weight is nan"),
        (Order, Order(orderNumber=1, price=math.nan), "payload.value.price is nan"),
        (
            list[Basket],
            [Basket("me", [Order(orderNumber=2**64)])],
            "payload.value[0].orders[0].orderNumber is an integer beyond",
        ),
        (Basket, Basket("a\0"), "payload.value.owner has a NUL character at 1"),
        (str, "\ud800", "payload.value has a lone surrogate at 0"),
        (int, 2**63, "payload.value is an integer beyond 64 bits"),
        (int, 10**1_000_000, "payload.value is an integer beyond 64 bits"),
        (Basket, Basket("me", extra=object()), "payload.value.extra is of type object"),
        (dict[Any, int], {(1, 2): 1}, "payload.value has the key (1, 2) (tuple)"),
        (Secret, Secret(word="hush"), "payload.value loses data in JSON"),
        (Any, NOW, "payload.value is of type datetime"),
        (Any, {"a": {1, 2}}, "payload.value.a is of type set"),
        (Any, {1: 2}, "payload.value has the key 1 (int)"),
        (dict[str, Any], {"a": Order(orderNumber=1)}, "payload.value.a is of type Order"),
        (list, [b"x"], "payload.value[0] is of type bytes"),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else type(value).__name__,
)
def test_what_is_not_of_its_type_is_refused_with_its_place(annotation, value, message):
    with pytest.raises(InvalidPayload) as caught:
        taking(annotation).encode((value,), {})
    assert str(caught.value).startswith(message)
    assert str(caught.value).splitlines()[-1].startswith("  handler(value: ")


def test_unannotated_parameters_take_any_json():
    schema = Schema(untyped)
    assert schema.signature == "untyped(a, b=None)"
    assert schema.decode(schema.encode(([1, {"x": None}],), {"b": "y"})) == {"a": [1, {"x": None}], "b": "y"}


def test_defaults_are_neither_stored_nor_required_to_be_json():
    def handler(a: int = 1, b: Any = object(), c: list[int] = []): ...  # noqa: B006, B008

    schema = Schema(handler)
    assert schema.encode((), {}) == "{}"
    assert schema.decode("{}") == {}
    assert schema.decode('{"c":[1]}') == {"c": [1]}
    assert schema.signature == "handler(a: int = 1, b: Any = …, c: list[int] = [])"


def test_the_limit_of_a_payload_is_an_argument():
    schema = Schema(resize)
    with pytest.raises(InvalidPayload, match=r"1,048,587 bytes.*max_payload="):
        schema.encode(("x" * (1 << 20),), {})
    assert schema.encode(("x" * (1 << 20),), {}, limit=1 << 21)
    with pytest.raises(InvalidPayload, match="the limit is 10"):
        schema.encode_mapping({"path": "x"}, limit=10)


# Reading


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"path":"a","width":"2"}', "payload.width: expected int, got str"),
        ('{"path":"a","widht":2}', 'resize has no argument "widht" (did you mean "width"?)'),
        ('{"path":"a","colour":2}', 'resize has no argument "colour"'),
        ('{"width":2}', 'resize needs the argument "path"'),
        ("{}", 'resize needs the argument "path"'),
        ("[]", "payload: expected object, got array"),
        ("null", "payload: expected object, got null"),
        ("", "payload: "),
        ("{", "payload: "),
        ('{"path":"a"} more', "payload: "),
        ('{"path":"a","width":NaN}', "payload: "),
        ('{"path":"a","width":1e400}', "payload.width: "),
        ('{"path":"a","width":' + "1" * 100_000 + "}", "payload.width: "),
        ('{"path":"\ud800"}', "payload: "),
        ('{"path":"\\ud800"}', "payload: "),
        ('{"path":"a\0"}', "payload: "),
        ("[" * 100_000, "payload: "),
        ('{"path":' + "[" * 100_000, "payload"),
    ],
    ids=lambda text: text[:30],
)
def test_a_stored_payload_that_does_not_fit_is_refused(text, message):
    with pytest.raises(InvalidPayload) as caught:
        Schema(resize).decode(text)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(f"\n  {RESIZE}")


@given(st.text(alphabet='{}[]":,pathwidtmode0123456789.eE-+\\u nul"\0\ud800', max_size=60))
def test_reading_garbage_never_raises_anything_else(text):
    try:
        found = Schema(resize).decode(text)
    except InvalidPayload:
        return
    assert isinstance(found["path"], str)


def test_a_type_that_raises_what_it_likes_is_an_invalid_payload():
    with pytest.raises(InvalidPayload, match="negative"):
        taking(Picky).decode('{"value":{"n":-1}}')


def test_running_out_of_memory_is_not_the_payloads_fault():
    class Hungry:
        @classmethod
        def model_validate_json(cls, text):
            raise MemoryError

    with pytest.raises(MemoryError):
        taking(Hungry).decode('{"value":1}')


def test_a_function_without_parameters():
    schema = Schema(nothing)
    assert (schema.encode((), {}), schema.decode("{}"), schema.signature) == ("{}", {}, "nothing()")
    with pytest.raises(InvalidPayload, match='nothing has no argument "a"'):
        schema.decode('{"a":1}')


def test_what_was_decoded_is_the_callers_own():
    schema = Schema(nothing)
    schema.decode("{}")["a"] = 1
    assert schema.decode("{}") == {}


plain = st.fixed_dictionaries(
    {"path": st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))},
    optional={"width": st.integers(-(2**63), 2**63 - 1), "mode": st.sampled_from(["fit", "fill"])},
)


@given(plain)
def test_whatever_encodes_decodes_to_the_same(arguments):
    schema = Schema(resize)
    text = schema.encode((), arguments)
    assert schema.decode(text) == arguments == json.loads(text)
    assert schema.encode_mapping(arguments) == text


def test_a_mapping_is_from_names_to_values():
    for wrong in ([1], None, {1: 2}):
        with pytest.raises(InvalidPayload, match="must be a dict from argument names"):
            Schema(resize).encode_mapping(wrong)


# **kwargs


def test_a_function_may_take_more_than_it_names():
    def tag(path: str, width: int = 1, **more: int): ...

    schema = Schema(tag)
    text = schema.encode(("a",), {"x": 1, "width": 2, "y": 3})
    assert text == '{"path":"a","x":1,"width":2,"y":3}'
    assert schema.decode(text) == {"path": "a", "width": 2, "x": 1, "y": 3}
    assert schema.decode('{"path":"a"}') == {"path": "a"}
    assert schema.signature == "tag(path: str, width: int = 1, **more: int)"
    with pytest.raises(InvalidPayload, match="expected int, got str"):
        schema.encode(("a",), {"x": "1"})
    with pytest.raises(InvalidPayload, match="expected int, got str"):
        schema.decode('{"path":"a","x":"1"}')
    with pytest.raises(InvalidPayload, match='tag needs the argument "path"'):
        schema.decode('{"x":1}')


def test_untyped_extras_take_any_json():
    def tag(**more): ...

    schema = Schema(tag)
    assert schema.decode(schema.encode((), {"a": [1], "b": None})) == {"a": [1], "b": None}
    assert schema.decode("{}") == {}


# Definitions


def test_star_args_are_refused_when_the_job_is_defined():
    def handler(*paths: str): ...

    with pytest.raises(TypeError, match=r"handler\(\*paths\).*take a list"):
        Schema(handler)


def test_positional_only_parameters_are_refused_when_the_job_is_defined():
    def handler(path: str, /): ...

    with pytest.raises(TypeError, match=r"handler\(path, /\).*remove the '/'"):
        Schema(handler)


def test_a_decorator_that_wraps_properly_is_seen_through():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    schema = Schema(twice(resize))
    assert schema.signature == RESIZE
    assert schema.decode('{"path":"a"}') == {"path": "a"}


def test_methods_and_callable_objects_work():
    class Mailer:
        def send(self, to: str): ...

        def __call__(self, to: str): ...

    assert Schema(Mailer().send).decode('{"to":"me"}') == {"to": "me"}
    assert Schema(Mailer()).signature == "Mailer(to: str)"


def test_a_job_may_have_another_name_than_its_function():
    schema = Schema(resize, "image.resize")
    assert schema.signature == "image." + RESIZE
    assert schema.json_schema()["title"] == "payload"
    with pytest.raises(InvalidPayload, match=r'image\.resize needs the argument "path"'):
        schema.encode((), {})


def test_types_of_the_surrounding_function_are_found():
    @dataclasses.dataclass
    class Local:
        n: int

    def handler(value: Local, more: list[Local] | None = None): ...

    schema = Schema(handler)
    assert schema.decode('{"value":{"n":1},"more":[{"n":2}]}') == {"value": Local(1), "more": [Local(2)]}


def test_an_annotation_that_cannot_be_resolved_names_itself_and_the_fix():
    def handler(good: int, value: Invisible): ...

    with pytest.raises(
        TypeError, match=r"^handler\(good: int, value: Invisible\).*'Invisible' of value.*TYPE_CHECKING"
    ):
        Schema(handler).build()


def test_what_a_function_returns_does_not_matter():
    def handler(value: int) -> Invisible: ...

    assert Schema(handler).decode('{"value":1}') == {"value": 1}


def test_types_that_only_their_items_tell_apart_can_be_in_a_union():
    def handler(value: list[int] | tuple[str, ...]): ...

    schema = Schema(handler)
    for value in ([1], ("a", "b")):
        assert schema.decode(schema.encode((value,), {})) == {"value": value}


def test_building_twice_is_building_once():
    schema = Schema(resize)
    assert schema.build() is schema.build()


# For people and machines


def test_the_signature_is_what_people_would_write():
    def handler(
        a: int, b: str | None = None, c=1, *, d: dict[str, int], e: Order = None, f: float = 0.5, g: str = "x" * 50
    ): ...

    assert Schema(handler).signature == (
        "handler(a: int, b: str | None = None, c=1, *, d: dict[str, int], e: Order = None, f: float = 0.5, g: str = …)"
    )
    assert taking(Basket).signature == "handler(value: Basket)"
    assert taking(dict[str, Any]).signature == "handler(value: dict[str, Any])"


def test_the_json_schema_of_a_payload():
    assert Schema(resize).json_schema() == {
        "title": "resize",
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "width": {"type": "integer", "default": 800},
            "mode": {"enum": ["fill", "fit"], "default": "fit"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


def test_the_json_schema_knows_models_wherever_they_are():
    class Line(pydantic.BaseModel):
        part: Part

    class Part(pydantic.BaseModel):
        n: int

    Line.model_rebuild()

    def handler(line: Line, basket: Basket, place: pathlib.Path, more: list[Line] | None = None): ...

    found = Schema(handler).json_schema()
    assert found["properties"]["line"]["properties"]["part"] == {"$ref": "#/$defs/Part"}
    assert found["properties"]["basket"] == {"$ref": "#/$defs/Basket"}
    assert found["properties"]["place"]["type"] == "string"
    assert {"Part", "Basket"} <= found["$defs"].keys()
    json.dumps(found)


def test_extras_are_allowed_by_the_json_schema():
    def handler(a: int, **more): ...

    assert "additionalProperties" not in Schema(handler).json_schema()

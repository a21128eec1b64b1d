"""Plain payloads, results and texts: what goes in can be stored anywhere, or is refused at its exact place (B61, B19)."""

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import pathlib
import subprocess
import sys
import types
import uuid

import msgspec
import pydantic
import pytest
from hypothesis import given, strategies as st

from mainstay.core.codec import MAX_RESULT, encode_result
from mainstay.core.errors import InvalidPayload
from mainstay.core.payload import (
    DEPTH,
    MAX_BYTES,
    clean,
    decode_result,
    encode,
    loads,
    suspect,
)


class Level(enum.IntEnum):
    LOW = 1


class Shade(enum.Enum):
    DARK = "dark"


class Word(str):
    __slots__ = ()


@dataclasses.dataclass
class Point:
    x: float
    note: object = None


class Model(pydantic.BaseModel):
    size: float = pydantic.Field(default=1.0, alias="theSize")

    @pydantic.computed_field
    def double(self) -> float:
        return self.size * 2


class Tagged(msgspec.Struct, tag="tagged", rename="camel"):
    some_value: int


def nested(levels):
    value = None
    for _ in range(levels):
        value = [value]
    return value


def endless():
    value = []
    value.append(value)
    return value


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
payloads = st.dictionaries(texts, values, max_size=4)


# Plain payloads


@given(payloads)
def test_a_payload_comes_back_as_it_was_given(payload):
    text = encode(payload)
    assert json.loads(text) == payload
    assert list(json.loads(text)) == list(payload)
    text.encode()


def test_a_payload_is_compact_and_keeps_its_order_and_its_letters():
    assert encode({"b": 1, "a": [True, None, 1.5], "name": "Zoë 🚀"}) == '{"b":1,"a":[true,null,1.5],"name":"Zoë 🚀"}'
    assert encode({}) == "{}"


def test_any_mapping_will_do():
    assert encode(types.MappingProxyType({"a": 1})) == '{"a":1}'
    assert encode(collections.OrderedDict(a=1)) == '{"a":1}'


def test_what_json_knows_in_disguise_is_accepted():
    assert encode({"a": (1, 2), "b": Level.LOW, "c": Word("w"), "d": collections.Counter("x")}) == (
        '{"a":[1,2],"b":1,"c":"w","d":{"x":1}}'
    )


@pytest.mark.parametrize(
    "payload",
    [
        {"line1": 1, "2": {"3": 4}},
        {"null": 1, "true": {"false": 2}},
        {"hash": "1234567890123456789012345"},
        {"text": "\\u0000"},
        {"text": '"0":'},
        {"brackets": "[" * 500},
        {"quotes": '"[' * 300 + "\\"},
        {"least": -(2**63), "most": 2**63 - 1},
        {"rows": [{"n": [n]} for n in range(1_000)]},
        {"deep": nested(DEPTH - 1)},
    ],
)
def test_what_only_looks_suspicious_passes(payload):
    assert json.loads(encode(payload)) == payload


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"items": [1, 2, 3, {"price": math.nan}]}, r"^payload\.items\[3\]\.price is nan.*pass None"),
        ({"a": -math.inf}, r"^payload\.a is -inf"),
        ({"a": 1e308 * 10}, r"^payload\.a is inf"),
        ({"a": ["x\0y"]}, r"^payload\.a\[0\] has a NUL character at 1.*replace"),
        ({"unit price": {"a\0": 1}}, r"^payload\['unit price'\]\['a�'\] has a NUL"),
        ({"a": "x\ud800"}, r"^payload\.a has a lone surrogate at 1.*encod"),
        ({"\udc80": 1}, r"lone surrogate at 0"),
        ({"a": 2**63}, r"^payload\.a is an integer beyond 64 bits.*pass it as text"),
        ({"a": [-(2**63) - 1]}, r"^payload\.a\[0\] is an integer beyond 64 bits"),
        ({1: 2}, r"^payload has the key 1 \(int\).*str\(key\)"),
        ({"a": {"b": {2.5: 1}}}, r"^payload\.a\.b has the key 2.5 \(float\)"),
        ({"a": [{None: 1}]}, r"^payload\.a\[0\] has the key None"),
        ({"a": {True: 1}}, r"^payload\.a has the key True"),
        ({"a": {(1, 2): 1}}, r"^payload\.a has the key \(1, 2\)"),
        ({"a": dt.datetime(2025, 1, 1)}, r"^payload\.a is of type datetime.*pass value.isoformat\(\)"),  # noqa: DTZ001
        ({"a": {"b": {1, 2}}}, r"^payload\.a\.b is of type set.*sorted\(value\)"),
        ({"a": b"x"}, r"is of type bytes.*base64"),
        ({"a": decimal.Decimal(1)}, r"is of type Decimal.*str\(value\)"),
        ({"a": uuid.UUID(int=1)}, r"is of type UUID.*str\(value\)"),
        ({"a": pathlib.PurePath("x")}, r"Path.*str\(value\)"),
        ({"a": Shade.DARK}, r"is of type Shade.*value.value"),
        ({"a": array.array("i")}, r"is of type array.*value.tolist\(\)"),
        ({"a": Point(1)}, r"is of type Point.*pass a dict.*annotate"),
        ({"a": Model()}, r"is of type Model.*model_dump.*annotate"),
        ({"a": (n for n in "x")}, r"is of type generator.*list\(value\)"),
        ({"a": object()}, r"is of type object.*the id to load it by"),
        ({"a": nested(DEPTH)}, r"more than 100 levels deep"),
        ({"a": nested(50_000)}, r"more than 100 levels deep"),
        ({"a": endless()}, r"contains itself"),
        ([1], r"a payload is a dict .*not list"),
        ("text", r"a payload is a dict .*not str"),
        (None, r"a payload is a dict .*not NoneType"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else type(value).__name__,
)
def test_what_no_store_can_hold_is_refused_with_its_place_and_the_way_out(payload, message):
    with pytest.raises(InvalidPayload, match=message):
        encode(payload)


def test_a_million_digits_are_refused_at_once():
    with pytest.raises(InvalidPayload, match=r"payload\.n is an integer beyond 64 bits"):
        encode({"n": 10**1_000_000})


@pytest.mark.parametrize("before", range(40))
def test_a_typed_payload_is_suspect_wherever_a_long_integer_stands(before):
    """Only every 19th character is looked at first."""
    for text in (f'{{"{"x" * before}":{10**18}}}', f'{{"{"x" * before}":{10**18 - 1}}}'):
        assert suspect(text, text.encode(), 1_000) is ("9" not in text)


def test_brackets_in_texts_do_not_hide_depth():
    value = None
    for _ in range(DEPTH + 5):
        value = ["]", value, "["]
    with pytest.raises(InvalidPayload, match="levels deep"):
        encode({"a": value})


def test_ten_megabytes_are_refused_with_size_limit_and_way_out():
    with pytest.raises(
        InvalidPayload, match=r"10,000,008 bytes.*limit is 1,048,576.*reference.*max_payload="
    ) as caught:
        encode({"a": "x" * 10_000_000})
    assert len(str(caught.value)) < 300


def test_the_limit_is_counted_in_bytes_and_can_be_moved():
    assert len(encode({"a": "x" * (MAX_BYTES - 8)})) == MAX_BYTES
    with pytest.raises(InvalidPayload, match="limit is 1,048,576"):
        encode({"a": "x" * (MAX_BYTES - 7)})
    with pytest.raises(InvalidPayload, match="has 12 bytes"):
        encode({"a": "éé"}, limit=11)
    assert encode({"a": "éé"}, limit=12)
    assert encode({"a": "x" * MAX_BYTES}, limit=10 * MAX_BYTES)


def test_a_plain_enqueue_imports_nothing_heavy():
    code = (
        "import sys; from mainstay.core.payload import encode; from mainstay.core.schema import Schema\n"
        "def f(a: int): ...\n"
        "encode({'a': 1}); Schema(f)\n"
        "print([name for name in ('msgspec', 'typing', 'inspect', 'dataclasses', 'logging', 'datetime') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", _with_path(code)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000])
def test_garbage_is_refused(text):
    with pytest.raises(InvalidPayload, match="not readable JSON"):
        loads(text)


# Results


@given(values.filter(lambda value: value is not None))
def test_a_result_comes_back_as_it_was_returned(value):
    assert decode_result(encode_result(value)) == value


def test_no_result_is_no_text():
    assert encode_result(None) is None
    assert decode_result(None) is None


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ([math.nan, math.inf, {"a": -math.inf}], [None, None, {"a": None}]),
        ("a\0b", "a\ufffdb"),
        ({"k\0": ["\ud800", "ok"]}, {"k\ufffd": ["\ufffd", "ok"]}),
        ("\ud83d\ude00", "😀"),
        ({"a": 2**63, "b": 2**63 - 1}, {"a": str(2**63), "b": 2**63 - 1}),
        ([-(2**70), math.nan, "\0"], [str(-(2**70)), None, "\ufffd"]),
        ("\\u0000 12345678901234567890", "\\u0000 12345678901234567890"),
    ],
)
def test_what_no_store_can_hold_is_mended(value, stored):
    text = encode_result(value)
    text.encode()
    assert "\\u0000" not in text.replace("\\\\", "")
    assert decode_result(text) == stored


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (Point(1.5, Point(math.inf)), {"x": 1.5, "note": {"x": None, "note": None}}),
        (Model(theSize=2), {"theSize": 2.0, "double": 4.0}),
        ([Model()], [{"theSize": 1.0, "double": 2.0}]),
        (Tagged(3), {"type": "tagged", "someValue": 3}),
        (Point(1, Tagged(2**64)), {"x": 1, "note": {"type": "tagged", "someValue": str(2**64)}}),
        (Point(1, Model(theSize=math.nan)), {"x": 1, "note": {"theSize": None, "double": None}}),
        (dt.date(2025, 1, 2), "2025-01-02"),
        ([uuid.UUID(int=1), decimal.Decimal("1.10"), b"\0"], ["00000000-0000-0000-0000-000000000001", "1.10", "AA=="]),
        ({1: {2}, Shade.DARK: Level.LOW}, {"1": [2], "dark": 1}),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (types.MappingProxyType({"a": Word("w\0")}), {"a": "w\ufffd"}),
    ],
)
def test_typed_results_are_written_as_json(value, stored):
    assert decode_result(encode_result(value)) == stored


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"x": [1, object()]}, r"^result\.x\[1\] is of type object"),
        (Point(1, open), r"^result\.note is of type builtin_function_or_method"),
        ({"g": (n for n in "x")}, r"^result\.g is of type generator.*return list\(value\)"),
        ({(1, 2): 3}, r"^result has the key \(1, 2\)"),
        (endless(), "contains itself"),
        (nested(DEPTH + 1), "levels deep"),
        (Point(1, endless()), "contains itself"),
        (10**1_000_000, r"^result is an integer of 3,321,929 bits.*hex"),
        ("x" * MAX_RESULT, r"the result has 10,485,762 bytes.*limit is 10,485,760.*return a reference"),
        (["\0" * MAX_RESULT], "the result has"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_data_is_refused_with_its_place(value, message):
    with pytest.raises(InvalidPayload, match=message):
        encode_result(value)


def test_a_model_that_cannot_be_written_is_named():
    class Broken(pydantic.BaseModel):
        @pydantic.model_serializer
        def fail(self) -> dict[str, int]:
            raise RuntimeError("no")

    with pytest.raises(InvalidPayload, match=r"^result\.a \(Broken\) cannot be written.*no"):
        encode_result({"a": Broken()})


def test_the_limit_of_results_can_be_moved():
    assert encode_result("xx", limit=4) == '"xx"'
    with pytest.raises(InvalidPayload, match="5 bytes"):
        encode_result("xxx", limit=4)


def test_a_stored_result_that_is_damaged_says_so():
    with pytest.raises(InvalidPayload, match="stored result is not readable"):
        decode_result("{")


# Texts


@given(st.text(), st.integers(min_value=0, max_value=200))
def test_a_clean_text_can_be_stored_and_is_never_too_long(text, limit):
    found = clean(text, limit)
    found.encode()
    assert "\0" not in found
    assert len(found) <= limit


@given(texts)
def test_a_text_without_trouble_stays_as_it_is(text):
    assert clean(text, len(text)) == text


def test_nul_and_surrogates_are_replaced_and_pairs_are_joined():
    assert clean("a\0b\ud800c\udc80", 100) == "a\ufffdb\ufffdc\ufffd"
    assert clean("\ud83d\ude00", 100) == "😀"


def test_a_long_text_keeps_both_ends_and_says_what_is_missing():
    text = "start" + "x" * 12_345 + "end"
    found = clean(text, 1_000)
    assert found.startswith("start")
    assert found.endswith("end")
    kept, _, rest = found.partition("… [")
    missing = int(rest.partition(" characters left out] …")[0])
    assert len(kept) + missing + len(rest.partition("] …")[2]) == len(text)


def test_a_limit_too_small_for_the_mark_just_cuts():
    assert clean("abcdefgh", 3) == "abc"
    assert clean("abc", 0) == ""


def _with_path(code):
    return f"import sys; sys.path[:0] = {sys.path!r}\n{code}"

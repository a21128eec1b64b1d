"""Fields of a payload as one text: by dotted paths, or the hash of the whole payload."""

import pytest
from hypothesis import given, strategies as st

from mainstay import InvalidPayload, UsageError, by, by_payload
from mainstay.core.fields import field, rule

PAYLOAD = '{"id":7,"customer":{"id":"c-1","name":null},"tags":["a"],"open":true,"text":"a\\nb"}'
scalars = (
    st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=20) | st.integers(-9, 9) | st.booleans()
)


def test_a_path_reads_a_field():
    assert field(PAYLOAD, "id") == 7
    assert field(PAYLOAD, "customer.id") == "c-1"
    for path in ("nothing", "customer.nothing", "id.x", "tags.0"):
        with pytest.raises(LookupError):
            field(PAYLOAD, path)


def test_one_field_is_its_value_as_people_write_it():
    assert by("id").text("t", PAYLOAD) == "7"
    assert by("customer.id").text("t", PAYLOAD) == "c-1"
    assert by("open").text("t", PAYLOAD) == "true"


def test_several_fields_are_a_json_array():
    assert by("customer.id", "id").text("t", PAYLOAD) == '["c-1",7]'


@given(st.lists(scalars, min_size=2, max_size=2), st.lists(scalars, min_size=2, max_size=2))
def test_different_values_are_different_texts(one, other):
    import json

    texts = [by("a", "b").text("t", json.dumps({"a": a, "b": b})) for a, b in (one, other)]
    assert (texts[0] == texts[1]) == (json.dumps(one) == json.dumps(other))


def test_the_whole_payload_is_a_hash_whatever_the_order():
    first, second = by_payload.text("t", '{"a":1,"b":[2]}'), by_payload.text("t", '{"b":[2], "a":1}')
    assert first == second
    assert first != by_payload.text("t", '{"a":1,"b":[3]}')
    assert len(first) == 32


def test_a_rule_shows_its_paths():
    assert by("a", "b.c").paths == ("a", "b.c")
    assert repr(by("a", "b.c")) == "by('a', 'b.c')"
    assert repr(by_payload) == "by_payload"
    assert by("a") == rule(["a"]) != by("b")
    assert len({by("a"), rule(["a"]), by_payload}) == 2


@pytest.mark.parametrize(
    "paths", [(), ("",), ("a..b",), (".a",), ("a", ""), (3,), (None,), ("a\0b",), ("a\nb",), ("x" * 501,)]
)
def test_what_is_no_path_is_refused(paths):
    with pytest.raises(UsageError, match=r"by\('id'\)"):
        by(*paths)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nothing", "'nothing'.*missing: send it.*the payload has id, customer"), ("customer.nothing", "customer.nothing.*missing"),
        ("customer", "is an object: name a field inside"), ("tags", "is a list.*by_payload"), ("customer.name", "is null"),
        ("text", "printable characters: use by_payload"),
    ],
)  # fmt: skip
def test_a_field_that_gives_no_text_is_refused(path, words):
    with pytest.raises(InvalidPayload, match=words) as caught:
        by(path).text("mail", PAYLOAD)
    assert "payload of mail" in str(caught.value)

"""Templates of jobs that events create: values and texts in their places, and clear errors for what is not there."""

import pytest
from hypothesis import given, strategies as st

from mainstay import UsageError
from mainstay.core import templates

ROOT = {
    "event": "a.b",
    "data": {"id": 7, "on": True, "no": None, "list": [{"x": "é"}, 2], "o": {"k": [1]}},
    "headers": {"x-a": "h"},
}
ROOTS = ("data", "event", "headers")


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ({"a": "$.data.id"}, {"a": 7}),
        ({"a": ["$.data.list.0.x", "$.data.list.1"]}, {"a": ["é", 2]}),
        ({"a": {"b": "$.data"}}, {"a": {"b": ROOT["data"]}}),
        ({"a": "$$.data.id", "b": "costs $.5", "c": None, "d": 1.5}, {"a": "$.data.id", "b": "costs $.5", "c": None, "d": 1.5}),
        ({"a": "$.headers.x-a", "b": "$.event", "c": "$.data.no"}, {"a": "h", "b": "a.b", "c": None}),
    ],
)  # fmt: skip
def test_values_are_put_in_their_places(template, value):
    templates.check(template, ROOTS)
    assert templates.filled(template, ROOT) == value


@pytest.mark.parametrize(
    "path", ["data.x", "data.id.x", "data.list.2", "data.list.-1", "data.list.x", "data.list.9999999", "nothing"]
)
def test_what_is_not_there_is_named(path):
    with pytest.raises(templates.Missing) as caught:
        templates.filled({"a": f"$.{path}"}, ROOT)
    assert caught.value.args == (path,)


def test_texts_have_values_in_them():
    assert templates.text("i-{data.id}/{data.on}/{headers.x-a}", ROOT) == "i-7/true/h"
    for whole in ("{data.o}", "{data.list}", "{data.no}", "{data.x}"):
        with pytest.raises(templates.Missing):
            templates.text(whole, ROOT)


@pytest.mark.parametrize("wrong", ["$.dta.id", "$.", "$.data..id", "$.data.\n", "$." + "a" * 600])
def test_a_path_that_can_never_be_there_is_refused(wrong):
    with pytest.raises(UsageError):
        templates.check({"a": [wrong]}, ROOTS)


@pytest.mark.parametrize("wrong", ["{dta.id}", "{}", "{data.id", "data.id}", "{data.{id}}", 7, None])
def test_a_text_that_can_never_be_filled_is_refused(wrong):
    with pytest.raises(UsageError):
        templates.check_text(wrong, ROOTS)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_the_data_of_an_event_never_becomes_a_template(value):
    """A value that looks like a template is a value."""
    assert templates.filled({"a": "$.data"}, {"data": value}) == {"a": value}

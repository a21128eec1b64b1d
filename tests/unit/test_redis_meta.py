"""What a job was asked to be, as Redis keeps it: everything comes back as it went in, and no two names collide."""

import pytest
from hypothesis import given, strategies as st

from mainstay.core.draft import Draft
from mainstay.stores.redis import header

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["a\nb", "a:b", "\0", '"', " "])
PERHAPS = st.none() | NAMES


@given(
    type=NAMES, queue=NAMES, backoff=PERHAPS, parent=PERHAPS, key=PERHAPS, tenant=PERHAPS, ref=PERHAPS,
    tags=st.lists(NAMES, max_size=3), priority=st.integers(-1000, 1000), timeout=st.none() | st.integers(0),
)  # fmt: skip
def test_what_was_asked_comes_back(type, queue, tags, **given):
    draft = Draft(type, "{}", queue=queue, tags=tuple(tags), created_at=1_750_000_000_000, **given)
    lane, text = header.write(draft)
    found = header.read(text)
    assert header.of_lane(lane) == (queue, type)
    assert found.head == (type, queue, draft.priority, draft.max_attempts, draft.timeout, draft.keep, draft.backoff)
    assert found[1:] == (draft.created_at, draft.parent, draft.key, draft.tenant, draft.ref, draft.tags)


@given(NAMES, NAMES, NAMES, NAMES)
def test_lanes_of_different_names_differ(queue, type, other_queue, other_type):
    same = (queue, type) == (other_queue, other_type)
    assert (header.lane(queue, type) == header.lane(other_queue, other_type)) is same


@given(NAMES, NAMES)
def test_no_term_begins_another(one, other):
    """A term stands before an id: where one begins the other, a search would find the jobs of both."""
    if one != other:
        assert not header.term("t", one).startswith(header.term("t", other))


@pytest.mark.parametrize("field", ["key", "tenant", "ref", "parent"])
def test_a_job_is_found_by_what_it_has(field):
    assert header.terms(Draft("work", "{}")) == []
    assert len(header.terms(Draft("work", "{}", **{field: "x"}))) == 1


def test_a_tag_given_twice_is_one_term():
    assert header.terms(Draft("work", "{}", tags=("a", "a", "b"))) == [header.term("#", "a"), header.term("#", "b")]

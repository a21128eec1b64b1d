"""The header of a job in Redis: everything comes back as it went in, and no two names collide."""

import pytest
from hypothesis import given, strategies as st

from mainstay.core.draft import Draft
from mainstay.core.export import JobRecord
from mainstay.core.job import Claimed, Job
from mainstay.stores.redis import header, record

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
    assert found == {name: getattr(draft, name) for name in found}


def test_a_header_of_schema_1_is_read():
    text = '["mail","default",5,3,300000,null,null]\n1750000000000 "p"\n["k",null,"r",["a","b"]]'
    assert header.read(text) == {
        "type": "mail", "queue": "default", "priority": 5, "max_attempts": 3, "timeout": 300_000, "keep": None,
        "backoff": None, "created_at": 1_750_000_000_000, "parent": "p", "key": "k", "tenant": None, "ref": "r",
        "tags": ("a", "b"), "version": 1, "schedule": None, "tick": None,
        "keep_cancelled": None, "keep_dead": None, "keep_last": None, "trace": None,
    }  # fmt: skip


def test_a_new_column_of_a_draft_is_stored_and_read_without_a_line_here(monkeypatch):
    """As if a draft and a job had one column more, with a default."""

    class Wider(Draft):
        __slots__ = ("region",)

        def __init__(self, type, payload, **given):
            super().__init__(type, payload, **{"region": "here"} | given)

    names = ("parent", *header.RARE, "region")
    monkeypatch.setattr(header, "OTHERS", ("region",))
    monkeypatch.setattr(header, "_unusual", lambda draft: tuple(getattr(draft, name) for name in names))
    monkeypatch.setattr(header, "_USUAL", (None, None, None, None, (), "here"))
    monkeypatch.setattr(header, "_DEFAULTS", header._DEFAULTS | {"region": "here"})
    usual, other = header.write(Wider("a", "{}"))[1], header.write(Wider("a", "{}", region="there", tags=("t",)))[1]
    assert usual.endswith("\n")
    assert header.read(usual)["region"] == "here"
    assert (header.read(other)["region"], header.read(other)["tags"]) == ("there", ("t",))


@pytest.mark.parametrize("kind", [JobRecord, Job, Claimed])
def test_every_column_of_a_job_is_kept(kind):
    """In the record, the header, a text beside it, or derived from those."""
    text = header.write(Draft("work", "{}"))[1]
    fields = dict.fromkeys(record.FIELDS) | {"state": "q", "seq": "", "header": text}
    columns = record.columns(fields | dict.fromkeys(record.TEXTS) | {"id": "x"})
    assert set(kind._fields) <= columns.keys()


def test_every_column_of_a_draft_is_sent():
    ours = {"on_conflict", "undeclared", "accepted", "after"}  # they tell how to enqueue
    assert set(Draft.__slots__) - ours <= {*JobRecord._fields}


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

"""Every store has every verb of the contract, with its signature; every record of a job is made of the one list of columns."""

import inspect

import pytest

from mainstay.core.draft import Draft
from mainstay.core.export import JobRecord
from mainstay.core.job import Claimed, Job
from mainstay.stores import open_store
from mainstay.stores.contract import Store

VERBS = [name for name, found in vars(Store).items() if inspect.isfunction(found) and not name.startswith("_")]
URLS = {
    "sqlite": "sqlite:///:memory:",
    "postgres": "postgresql://nobody@localhost/none",
    "redis": "redis://localhost/0",
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("scheme", URLS)
def test_every_store_has_the_verb_with_its_signature(scheme, verb):
    wanted = [*inspect.signature(getattr(Store, verb)).parameters.values()][1:]
    found = [*inspect.signature(getattr(open_store(URLS[scheme]), verb)).parameters.values()]
    assert [(each.name, each.default) for each in found] == [(each.name, each.default) for each in wanted]


@pytest.mark.parametrize("scheme", URLS)
def test_what_is_no_verb_is_no_attribute(scheme):
    with pytest.raises(AttributeError):
        open_store(URLS[scheme]).fly  # noqa: B018


# Fields that no column holds: found by a query, or meant for the store alone.
OTHER = {
    Job: {"error", "code"},
    Claimed: {"seq", "cancelling", "rank"},
    Draft: {"on_conflict", "undeclared", "accepted", "after"},  # parents are rows of their own
}


@pytest.mark.parametrize("record", OTHER, ids=lambda record: record.__name__)
def test_a_record_has_only_columns_of_a_job(record):
    fields = set(getattr(record, "_fields", record.__slots__))
    assert fields - set(JobRecord._fields) == OTHER[record]


def test_what_a_producer_chooses_is_shown_on_the_job():
    assert set(Draft.__slots__) - OTHER[Draft] - set(Job._fields) == {"lock", "lock_until"}

"""What the first connection of a process asks before it is used."""

import pytest

from mainstay.stores import open_store
from mainstay.stores.postgres import schema

pytestmark = pytest.mark.engines("postgres")


def test_pooler_and_schema_are_looked_at_in_one_round_trip(engine_url, monkeypatch):
    with open_store(engine_url) as store:
        store.types()
    asked, execute = [], schema.execute
    monkeypatch.setattr(schema, "execute", lambda *given: (asked.append(given[1]), execute(*given))[1])
    with open_store(engine_url) as store:
        store.types()
        store.types()
    assert len(asked) == 1


def test_a_schema_of_the_first_version_has_no_other_columns():
    assert schema._versions(1) == (1, 1, 0)
    assert schema._versions(7, 2) == (7, 2, 0)

"""Stores of schema 1, as the code of that time has left them."""

import pytest

from tests.migrations.loading import loaded


@pytest.fixture
def old(engine, tmp_path):
    """The URL of a store of schema 1."""
    with loaded(engine, tmp_path) as url:
        yield url

"""An application in memory, and the kit that runs its jobs."""

import pytest

from mainstay import Mainstay


@pytest.fixture
def app():
    return Mainstay("sqlite:///:memory:")


@pytest.fixture
def kit(app):
    with app.testing() as kit:
        yield kit

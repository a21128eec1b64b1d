"""The pytest plugin: the fixture `mainstay`. Installed with the package; imports nothing until a test uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .kit import Kit


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting `mainstay_app`, with which a project names its application once."""
    parser.addini("mainstay_app", "The applications that the fixture `mainstay` uses: module:attribute, …", type="args")


@pytest.fixture
def mainstay(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """A `Kit`: a store in memory and a clock to move, in place of those of your application: `mainstay.use(app)`."""
    from ..load_app import load_app
    from .kit import Kit

    kit = Kit()
    for name in request.config.getini("mainstay_app"):
        kit.use(load_app(name))
    yield kit
    kit.restore()

"""The pytest plugin: the fixture `mainstay`. Installed with the package; loads nothing until a test asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..app import Mainstay
    from .kit import Kit


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a project name its application once."""
    parser.addini("mainstay_app", "The applications that the fixture `mainstay` uses: module:attribute, …", type="args")


@pytest.fixture
def mainstay(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """A store in memory and a clock to move, in place of your application's own: `mainstay.use(app)`."""
    from .kit import Kit

    kit = Kit()
    for name in request.config.getini("mainstay_app"):
        kit.use(_application(name))
    yield kit
    kit.restore()


def _application(name: str) -> Mainstay:
    import importlib

    module, _, attribute = name.partition(":")
    found: Mainstay = getattr(importlib.import_module(module), attribute or "app")
    return found

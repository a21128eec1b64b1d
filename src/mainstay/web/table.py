"""The table of all operations, and which of them a path belongs to."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from starlette.routing import compile_path

from . import api
from .operations import OPERATIONS, Operation

if TYPE_CHECKING:
    import re

JSON = "application/json"


@functools.cache
def operations() -> list[Operation]:
    """Return every operation, in the order in which their paths are tried: fixed names before parts that vary."""
    for module in pkgutil.iter_modules(api.__path__):
        importlib.import_module(f"{api.__name__}.{module.name}")
    return sorted(OPERATIONS.values(), key=lambda each: (each.path.count("{"), each.path, each.method))


@functools.cache
def _reads() -> list[tuple[re.Pattern[str], Operation]]:
    found = [each for each in operations() if each.method == "GET" and each.media == JSON]
    return [(compile_path(each.path)[0], each) for each in found]


def reading(path: str) -> tuple[Operation, dict[str, Any]] | None:
    """Return the operation that reads a path as JSON, and the parts of the path; None if there is none."""
    for pattern, each in _reads():
        if found := pattern.match(path):
            return each, found.groupdict()
    return None

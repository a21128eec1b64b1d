"""The description of the API itself."""

from __future__ import annotations

import functools
from typing import Any

from ..call import Call
from ..encode import Fixed
from ..openapi import described
from ..operations import OPERATIONS, operation
from ..roles import ANYBODY


@operation("GET", "/api/openapi.json", role=ANYBODY, tenants=True)
def read_description(call: Call) -> dict[str, Any]:
    """Return this description of the API, in OpenAPI 3.1."""
    return _described()


@functools.cache
def _described() -> dict[str, Any]:
    return Fixed(described(OPERATIONS.values()))

"""The body of a request as it came, and not larger than it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .problems import Refused

if TYPE_CHECKING:
    from starlette.requests import Request

    from ..app import Mainstay

SPARE = 64 * 1024  # bytes of a body beside the payload


async def read_body(app: Mainstay, request: Request) -> bytes:
    """Return the body of a request; raise `Refused` for one that is larger than a job may be."""
    most, found = app.max_payload + SPARE, bytearray()
    async for part in request.stream():
        found += part
        if len(found) > most:
            raise Refused(413, "too_large", f"a body has up to {most:,} bytes")
    return bytes(found)

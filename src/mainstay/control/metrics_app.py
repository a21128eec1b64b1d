"""Metrics over HTTP, as an ASGI application without dependencies."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..core.errors import StoreError
from .metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Message = dict[str, Any]
    Asgi = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

PLAIN = "text/plain; charset=utf-8"


def metrics_app(metrics: Callable[[], str]) -> Asgi:
    """Return an application that answers GET and HEAD with the metrics, 503 while the store cannot be reached, and other methods with 405."""

    async def answer(
        scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await _respond(scope["method"], send)

    async def _respond(method: str, send: Callable[[Message], Awaitable[None]]) -> None:
        status, kind, text = 405, PLAIN, "ask with GET\n"
        if method in ("GET", "HEAD"):
            try:
                status, kind, text = 200, CONTENT_TYPE, await asyncio.to_thread(metrics)
            except StoreError as error:
                status, text = 503, f"{type(error).__name__}\n"  # its message may name a host
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(text.encode())).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else text.encode()})

    return answer


async def _live(receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]) -> None:
    """Say yes to the start and the end of a server."""
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return

"""Middleware: generator functions that run around each attempt, where its handler runs."""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from inspect import isasyncgenfunction
from typing import Any


def with_middleware(function: Any, middlewares: tuple[Any, ...], is_async: bool) -> Any:
    """Return a handler inside its middleware, the first one outermost. One that is async runs around async handlers only."""
    layers = [
        (asynccontextmanager(each), True) if isasyncgenfunction(each) else (contextmanager(each), False)
        for each in middlewares
        if is_async or not isasyncgenfunction(each)
    ]
    if not layers:
        return function
    return _around_async(function, layers) if is_async else _around(function, layers)


def _around(function: Any, layers: list[tuple[Any, bool]]) -> Any:
    def call(**arguments: Any) -> Any:
        with ExitStack() as stack:
            for enter, _ in layers:
                stack.enter_context(enter())
            return function(**arguments)

    return call


def _around_async(function: Any, layers: list[tuple[Any, bool]]) -> Any:
    async def call(**arguments: Any) -> Any:
        async with AsyncExitStack() as stack:
            for enter, awaited in layers:
                if awaited:
                    await stack.enter_async_context(enter())
                else:
                    stack.enter_context(enter())
            return await function(**arguments)

    return call

"""Serves a site by itself, with uvicorn: `mainstay serve`."""

from __future__ import annotations

import re
import signal
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from ..core.errors import ConfigError, UsageError
from . import origin
from .asgi import application

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

    from .site import Site

GRACE = 3  # seconds that calls may take after a stop
PORT = 8642


class Server(uvicorn.Server):
    """A server that ends its open streams when it stops; uvicorn alone would wait for them."""

    def __init__(self, site: Site, prefix: str = "") -> None:
        self._site = site
        super().__init__(uvicorn.Config(
            mounted(site, prefix), lifespan="off", log_level="warning", access_log=False, server_header=False,
            proxy_headers=False, timeout_graceful_shutdown=GRACE,
        ))  # fmt: skip

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then wait for what is left."""
        self._site.stop()
        await super().shutdown(sockets)


def mounted(site: Site, prefix: str) -> ASGIApp:
    """Return the application of a site below a prefix, for a proxy that does not take it away."""
    return Starlette(routes=[Mount(prefix, application(site))]) if prefix else application(site)


def check_prefix(prefix: str) -> None:
    """Raise `UsageError` for a prefix that is no plain path."""
    if prefix and not re.fullmatch(r"(/(?!\.{1,2}(/|$))[\w.~-]+)+", prefix, re.ASCII):
        raise UsageError(
            f"--prefix {prefix!r}: give a path of letters, digits and .-_~ that begins with a slash and does not end with one, e.g. /tools/jobs"
        )


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens; `UsageError` says what to do if it cannot."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        reason, *_ = (getattr(error, "strerror", None) or str(error)).split(" (while attempting")  # the address again
        why = f"cannot listen on {host} port {port}: {reason}"
        raise UsageError(f"{why}; --port 0 takes a free port, --host names another address") from None


def check_open(host: str, tokens: bool) -> bool:
    """Return whether callers of this machine need no token. Another address without any token is refused."""
    if not tokens and not origin.is_loopback(host):
        raise ConfigError(
            f"on {host} everybody in reach could see and change all jobs, because there is no token yet: "
            "mainstay token create NAME --role admin makes one"
        )
    return not tokens


def link(host: str, listening: socket.socket, prefix: str) -> str:
    """Return the address of the dashboard."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104  (only compared)
    return f"http://{shown}:{listening.getsockname()[1]}{prefix}/"


@contextmanager
def serving(site: Site, listening: socket.socket, prefix: str = "") -> Iterator[Server]:
    """Serve in a thread inside a `with`."""
    server = Server(site, prefix)
    thread = threading.Thread(target=server.run, args=([listening],), name="mainstay-serve", daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join()


def until_signalled(site: Site, listening: socket.socket, prefix: str = "") -> None:
    """Serve until SIGTERM or Ctrl-C; a second one ends the process at once."""
    stop = threading.Event()

    def asked(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, asked)
    with serving(site, listening, prefix):
        stop.wait()

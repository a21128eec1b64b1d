"""Faults of the server and of the way to it, each given by one call: restarts, kills, terminated sessions, broken connections."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.servers.postgres import Postgres
from tests.servers.proxy import Proxy
from tests.servers.redis import DURABLE, Redis

from . import address
from .waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random

    Strike = Callable[[], float | None]  # answers for how many more seconds the fault lasts, if it does

LISTENER = "application_name = 'mainstay listener'"
PATIENCE = 30.0  # seconds for a listener to come back: the poll stands in meanwhile
NOTICE = 11.0  # seconds after which TCP gives up a half-open connection, by our own settings of it
DOWN = (0.0, 1.5)  # seconds for which a server stays down
DELAY = (0.5, 3.0)


def server(engine: str) -> Any:
    """A server of the campaign's own, to be mistreated."""
    if engine.startswith("postgres"):
        return Postgres(engine.removeprefix("postgres"))
    return Redis(engine, **DURABLE, auto_aof_rewrite_percentage="0")


@contextmanager
def server_of(engine: str, folder: Path) -> Iterator[Any]:
    """A server of the campaign's own, known to all its processes."""
    with server(engine) as started:
        address.write(folder, started.url())
        yield started


@contextmanager
def restart(engine: str, folder: Path, random: Random) -> Iterator[Strike]:
    """PostgreSQL is shut down at once, Redis killed; after a while it is there again."""
    with server_of(engine, folder) as target:
        yield lambda: target.restart(random.uniform(*DOWN))  # and is there again when this returns


@contextmanager
def terminate(engine: str, folder: Path, random: Random) -> Iterator[Strike]:
    """Every session of PostgreSQL is terminated, or every connection of Redis closed."""
    with server_of(engine, folder) as target:

        def strike() -> None:
            target.terminate()

        yield strike


@contextmanager
def listener(engine: str, folder: Path, random: Random) -> Iterator[Strike]:
    """The sessions that listen are terminated, and nothing else."""
    with server_of(engine, folder) as target:

        def strike() -> None:
            if not until(lambda: target.terminate(LISTENER) > 0, PATIENCE):
                raise RuntimeError(f"nobody has listened for {PATIENCE:.0f} s: no session with {LISTENER}")

        yield strike


@contextmanager
def connections(engine: str, folder: Path, random: Random) -> Iterator[Strike]:
    """A connection is dropped, delayed or left half-open, in turn; sometimes all of them."""
    with server_of(engine, folder) as target, Proxy(target.port) as proxy:
        address.write(folder, proxy.url(target.url()), target.url())

        def drop(share: float) -> float:
            proxy.drop(share)
            return 0.0

        def halt(share: float) -> float:
            proxy.halt(share, NOTICE)
            return NOTICE

        def delay(share: float) -> float:
            seconds = random.uniform(*DELAY)
            proxy.delay(seconds, share)
            return seconds

        yield lambda: random.choice([drop, halt, delay])(random.choice([0.0, 0.0, 0.3, 1.0]))


@contextmanager
def nothing(engine: str, folder: Path, random: Random) -> Iterator[Strike]:
    """The server is well. Redis has to write its file all the same: that is what the audit reads."""
    if engine.startswith(("sqlite", "postgres")):
        yield lambda: None
    else:
        with server_of(engine, folder):
            yield lambda: None


OUTAGES = {"": nothing, "restart": restart, "terminate": terminate, "listener": listener, "connections": connections}

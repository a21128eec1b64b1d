"""What keeps the store healthy: leases, orphans, promotion, retention, types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...core.job import TypeInfo
from ..contract import Orphan, Renewal
from . import claim, header

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.job import WorkerInfo
    from .connect import Server

PRUNED = 500  # jobs removed in one call: others wait meanwhile


def register(server: Server, worker: WorkerInfo, judged: int | str) -> None:
    """Register a worker; its lease is as long as it says."""
    said = header.dumps((worker.host, worker.pid, worker.slots, worker.queues, worker.types))
    server.run("register", [judged, worker.id, said, worker.expires_at - worker.started_at])


def renew(server: Server, worker: str, judged: int | str, lease: int, stopping: bool = False) -> Renewal:
    """Renew a lease; return whether it holds and which jobs were asked to stop."""
    alive, *found = server.run("renew", [judged, worker, lease, int(stopping)])
    return Renewal(alive == 1, list(zip(found[::2], found[1::2], strict=True)))


def deregister(server: Server, worker: str) -> None:
    """Unregister a worker."""
    server.run("deregister", [worker])


def orphans(server: Server, judged: int | str, grace: int, limit: int) -> list[Orphan]:
    """Jobs to be taken away, after burying the workers whose lease ran out."""
    rows = server.run("orphans", [judged, grace, limit])
    return [Orphan(claim.of_row(row), row[9], row[10] == 1) for row in rows]


def prune(server: Server, judged: int | str, limit: int) -> int:
    """Delete what retention has released, a chunk at a time."""
    gone = 0
    while gone < limit:
        chunk = min(PRUNED, limit - gone)
        found = server.run("prune", [judged, chunk])
        gone += found
        if found < chunk:
            break
    return gone


def register_types(server: Server, types: Sequence[TypeInfo]) -> None:
    """Make types known."""
    pairs = [text for info in types for text in (info.name, json.dumps(info._asdict()))]
    if pairs:
        server.read("HSET", "type", *pairs)


def types(server: Server) -> list[TypeInfo]:
    """Every type ever declared."""
    found: list[str] = server.read("HVALS", "type")
    return sorted((TypeInfo(**json.loads(text)) for text in found), key=lambda info: info.name)

"""What gives the space of deleted jobs back to the disk of a PostgreSQL server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract import Compacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from .store import PostgresStore


def compact(store: PostgresStore, report: Callable[[int, int], None]) -> Compacted:
    """Say what to run: the server uses the space again, and only the owner of the tables may rewrite them."""
    tables = ", ".join(f"{store.dialect.schema}.{table}" for table in ("job", "body", "action"))
    return Compacted(
        advice="PostgreSQL uses the space of deleted jobs again by itself (autovacuum). "
        f"To give it back to the disk, stop the workers and run: VACUUM FULL {tables}"
    )

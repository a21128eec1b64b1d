"""What `mainstay doctor` prints about a PostgreSQL store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import schema

if TYPE_CHECKING:
    from .store import PostgresStore


def diagnostics(store: PostgresStore) -> dict[str, str]:
    """Return engine, versions, durability level and size."""
    db = store.db
    with db.checkout() as wire:
        connection = wire.connection
        names = ("server_version", "fsync", "synchronous_commit", "max_connections")
        found = {name: connection.execute(f"SHOW {name}", prepare=False).fetchone() for name in names}
        size = connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c "
            "WHERE c.relnamespace = to_regnamespace($1::text) AND c.relkind = 'r'",
            [f'"{db.load.schema}"'], prepare=False,
        ).fetchone()  # fmt: skip
        version, readable_from, _ = schema.versions(connection, db.load)
    shown = {name: str(row[0]) if row else "" for name, row in found.items()}
    return {
        "engine": f"PostgreSQL {shown['server_version'].split(' ')[0]}",
        "server": db.place,
        "schema": f"{version} in {db.load.schema}",
        "readable from": str(readable_from),
        "fsync": shown["fsync"],
        "synchronous_commit": shown["synchronous_commit"],
        "durability": _durability(shown["fsync"], shown["synchronous_commit"]),
        "pooler": "yes: statements are not prepared" if db.pooled else "no",
        "connections": f"{db.limit} a process, and one for a worker's notifier; the server has {shown['max_connections']}",
        "size": str(size[0] or 0) if size else "0",
    }


def _durability(fsync: str, synchronous: str) -> str:
    if fsync == "off":
        return "process crash: fsync is off, a power cut of the server can lose or damage everything"
    if synchronous == "off":
        return (
            "process crash: synchronous_commit is off, a crash of the server can lose the last jobs that were accepted"
        )
    if synchronous in ("remote_write", "remote_apply"):
        return f"power cut: an accepted job is on the disk and sent to the synchronous standbys ({synchronous})"
    return "power cut: an accepted job is on the server's disk when enqueue returns"

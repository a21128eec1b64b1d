"""What `mainstay doctor` prints about a PostgreSQL store, and how it gives space back to the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results import Compacted
from ..schema import SEALED
from . import schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from .store import PostgresStore

_SETTINGS = "SELECT name, current_setting(name) FROM unnest('{server_version,fsync,synchronous_commit,max_connections}'::text[]) AS u(name)"
_SIZE = (
    "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c "
    "WHERE c.relnamespace = to_regnamespace($1::text) AND c.relkind = 'r'"
)

# Of an idle primary nothing comes, so the time of the last transaction says nothing while all that came is replayed.
_BEHIND = """
SELECT CASE WHEN NOT pg_is_in_recovery() THEN NULL
            WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN 0
            ELSE greatest(0, extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::bigint END
"""


def behind(store: PostgresStore) -> int | None:
    """Return how many milliseconds this server is behind its primary; None if it is none."""
    with store.db.checkout() as wire:
        ((found,),) = schema.execute(wire.connection, _BEHIND)
    return None if found is None else int(found)


_MARK = (
    "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END)::text"
)


def change_mark(store: PostgresStore) -> str:
    """Return the end of the server's write-ahead log."""
    with store.db.checkout() as wire:
        ((found,),) = schema.execute(wire.connection, _MARK)
    return str(found)


def diagnostics(store: PostgresStore) -> dict[str, str]:
    """Return engine, versions, durability level and size."""
    db = store.db
    with db.checkout() as wire:
        settings = dict(schema.execute(wire.connection, _SETTINGS))
        ((size,),) = schema.execute(wire.connection, _SIZE, f'"{db.dialect.schema}"')
        version, readable_from, _ = schema.versions(wire.connection, db.dialect)
    return {
        "engine": f"PostgreSQL {settings['server_version'].split(' ')[0]}",
        "server": db.place,
        "schema": f"{version} in {db.dialect.schema}",
        "readable from": str(readable_from % SEALED),
        "fsync": settings["fsync"],
        "synchronous_commit": settings["synchronous_commit"],
        "durability": _durability(settings["fsync"], settings["synchronous_commit"]),
        "pooler": "yes: statements are not prepared" if db.pooled else "no",
        "connections": f"{db.limit} a process, and a worker's own: claims, renewals, chores, notifier; the server has {settings['max_connections']}",
        "size": str(size or 0),
        "worker locks": store.local_workers.problem(),
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


def compact(store: PostgresStore, report: Callable[[int, int], None]) -> Compacted:
    """Say what to run: the server uses the space again, and only the owner of the tables may rewrite them."""
    tables = ", ".join(f"{store.dialect.schema}.{table}" for table in ("job", "body", "action"))
    return Compacted(
        advice="PostgreSQL uses the space of deleted jobs again by itself (autovacuum). "
        f"To give it back to the disk, stop the workers and run: VACUUM FULL {tables}"
    )

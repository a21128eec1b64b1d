"""After a handler: roll back the transaction that it left open, because its locks hold up everyone."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any


def let_go(tx: object) -> None:
    """Roll back an open transaction on a sync connection."""
    try:
        left = _roll_back(_found(tx))
        if isawaitable(left):  # an async connection, whose loop the handler has ended already
            left.close()  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001, S110  (closed meanwhile, or of an unknown kind: then nothing is open here)
        pass


async def alet_go(tx: object) -> None:
    """Roll back an open transaction on an async connection."""
    try:
        left = _roll_back(_found(tx))
        if isawaitable(left):
            await left
    except Exception:  # noqa: BLE001, S110  (as above)
        pass


def _found(tx: object) -> Any:
    from .detect import unwrapped

    return unwrapped(tx)


def _roll_back(tx: Any) -> Any:
    """Start a rollback if a transaction is open; return what must be awaited, if anything."""
    if hasattr(tx, "in_atomic_block"):  # Django ends its own blocks
        over = tx.connection is None or tx.in_atomic_block or tx.get_autocommit()
        return None if over else tx.rollback()
    if hasattr(tx, "in_transaction"):  # sqlite3, aiosqlite, SQLAlchemy
        inside = tx.in_transaction() if callable(tx.in_transaction) else tx.in_transaction
        return tx.rollback() if inside else None
    if hasattr(tx, "is_in_transaction"):  # asyncpg
        return tx.execute("ROLLBACK") if tx.is_in_transaction() else None
    return tx.rollback() if tx.info.transaction_status else None  # psycopg: 0 is idle

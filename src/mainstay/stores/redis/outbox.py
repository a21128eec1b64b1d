"""`tx=` on Redis: refused, with the alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ...core.errors import TransactionUnsupported

if TYPE_CHECKING:
    from .store import RedisStore


def outbox(_store: RedisStore) -> NoReturn:
    """Raise, and name the alternatives."""
    raise TransactionUnsupported(
        "tx= cannot be used here: Redis shares no transaction with a database, so a job cannot commit with your data. "
        "Commit first and enqueue after it, with key= so that doing it twice makes one job; or keep the jobs where the data "
        "is: a postgresql:// or sqlite:// store takes tx=."
    )

"""No transaction of a user's database reaches into Redis: said loudly, with the ways there are."""

from __future__ import annotations

from typing import NoReturn

from ...core.errors import TransactionUnsupported


def refuse() -> NoReturn:
    """Raise, and tell what to do instead."""
    raise TransactionUnsupported(
        "tx= cannot be here: Redis shares no transaction with a database, so a job cannot commit with your data there. "
        "Commit first and enqueue after it, with key= so that doing it twice makes one job; or keep the jobs where the data "
        "is: a postgresql:// or sqlite:// store takes tx=."
    )

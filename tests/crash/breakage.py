"""Known-bad variants of the code, patched in from outside: the campaign must catch each, or it proves nothing."""

from __future__ import annotations

GUARD = "AND token = ?9"


def unfenced() -> None:
    """Let any attempt end a running job, whoever holds it by now."""
    from mainstay.stores.sqlite import sql

    text = sql.load("finish")
    if GUARD not in text:
        raise RuntimeError(f"finish.sql has no {GUARD!r}: breakage.py no longer knows the statement")
    sql._cache["finish"] = text.replace(GUARD, "AND ?9 > 0")


VARIANTS = {"": lambda: None, "unfenced": unfenced}


def apply(name: str) -> None:
    """Break this process's copy of the code in the named way; the empty name breaks nothing."""
    VARIANTS[name]()

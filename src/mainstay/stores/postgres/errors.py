"""Errors of PostgreSQL and psycopg as ours, with what to do about them."""

from __future__ import annotations

import struct

import psycopg

from ...core import errors

_UNFIT = (UnicodeEncodeError, OverflowError, struct.error)
_MIGRATE = "`mainstay migrate up` creates and updates its tables, `mainstay migrate sql` prints how"
_BUSY = (errors.StoreBusy, "Another transaction was in the way; try again")
_AWAY = (errors.StoreUnavailable, "The server is starting, stopping or failing over; mainstay goes on when it is back")
_READ_ONLY = (
    errors.StoreReadOnly,
    "This server takes no writes now (a standby, or default_transaction_read_only): connect to the primary",
)
_DAMAGED = (
    errors.StoreCorrupt,
    "The database is damaged: stop the workers, look at the server's log, restore a backup",
)
_MISSING = (errors.SchemaMismatch, f"mainstay's tables are not there as they should be: {_MIGRATE}")
_DENIED = (
    errors.StoreReadOnly,
    f"The role lacks a right on mainstay's schema: grant it, or as its owner: {_MIGRATE}",
)
_FULL = (errors.StoreFull, "Free some space on the server's disk; nothing accepted was lost")
_CROWDED = (
    errors.StoreUnavailable,
    "The server has no connection left: raise max_connections, lower ?connections=, or put a pooler in front of it",
)

# By SQLSTATE, or by its class: its first two characters.
_KINDS: dict[str, tuple[type[errors.MainstayError], str]] = {
    "25006": _READ_ONLY,
    "40": _BUSY,
    "40003": (errors.StoreUnavailable, "Whether it was written is not known; sending it again does no harm"),
    "55P03": _BUSY,
    "57014": (errors.StoreBusy, "The server's statement_timeout ended it; try again"),
    "57P": _AWAY,
    "08": _AWAY,
    "53100": _FULL,
    "53300": _CROWDED,
    "53": (errors.StoreUnavailable, "The server lacks memory or another resource; mainstay goes on when it has it"),
    "58030": (errors.StoreUnavailable, "The server could not read or write a file: check its disk"),
    "58P01": _DAMAGED,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
    "42501": _DENIED,
    "42P01": _MISSING,
    "42703": _MISSING,
    "3F000": _MISSING,
    "22": (errors.UsageError, "A value cannot be stored"),
    "54000": (errors.UsageError, "A value is too long to be looked up by; shorten the key, the reference or the tag"),
    "28": (errors.StoreUnavailable, "Check the user and the password in the URL, and the server's pg_hba.conf"),
    "3D000": (errors.StoreUnavailable, "Create the database first: createdb NAME, or check its name in the URL"),
}
# Parts of the messages of refused connections, which have no SQLSTATE.
_WORDS = {
    "password authentication failed": "28",
    "no pg_hba.conf entry": "28",
    "no password supplied": "28",
    "does not exist": "3D000",
    "too many": "53300",
    "remaining connection slots": "53300",
    "session is read-only": "25006",
    "server is in hot standby": "25006",
}
_UNREACHED = (
    errors.StoreUnavailable,
    "Check that the server runs and that the URL names it; mainstay goes on when it is back",
)


def mapped(error: BaseException, place: str) -> BaseException:
    """Return the error of ours for an error of psycopg; return any other error unchanged."""
    if isinstance(error, _UNFIT):
        return errors.UsageError(f"a value cannot be stored: {error}")
    if not isinstance(error, psycopg.Error):
        return error
    kind, advice = _kind(error)
    return kind(f"{place}: {_said(error)}. {advice}".rstrip(". ") + ".")


def translate(error: BaseException, place: str) -> None:
    """Raise the error of ours for an error of psycopg; return if the error is not psycopg's."""
    fault = mapped(error, place)
    if fault is not error:
        raise fault from error


def _kind(error: psycopg.Error) -> tuple[type[errors.MainstayError], str]:
    state = error.sqlstate
    return _without_state(error) if state is None else by_state(state)


def by_state(state: str) -> tuple[type[errors.MainstayError], str]:
    """Return our class of error for an SQLSTATE, and what to do."""
    return _KINDS.get(state) or _KINDS.get(state[:3]) or _KINDS.get(state[:2]) or (errors.StoreError, "")


def _without_state(error: psycopg.Error) -> tuple[type[errors.MainstayError], str]:
    if isinstance(error, psycopg.DataError):
        return errors.UsageError, "A value cannot be stored"
    if not isinstance(error, psycopg.OperationalError):
        return errors.StoreError, ""
    text = str(error)
    return next((_KINDS[state] for words, state in _WORDS.items() if words in text), _UNREACHED)


def _said(error: psycopg.Error) -> str:
    """Return the server's message on one line, without hint and statement."""
    text = error.diag.message_primary or str(error)
    return " ".join(text.split()).rstrip(".") or type(error).__name__


def broken(error: BaseException | None) -> bool:
    """Return whether every connection must be opened anew: the server became read-only, went away, or has other tables.

    A connection that timed out counts too: whatever stopped it has probably stopped the others.
    """
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return True
    state = getattr(error, "sqlstate", None) or ""
    return isinstance(error, psycopg.Error) and (state in ("25006", "0A000") or state.startswith("57P"))

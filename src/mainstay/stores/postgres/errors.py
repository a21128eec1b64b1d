"""Errors of PostgreSQL and psycopg as ours, with what to do about them."""

from __future__ import annotations

import struct

import psycopg

from ...core import errors

_UNFIT = (UnicodeEncodeError, OverflowError, struct.error)
_MIGRATE = "`mainstay migrate up` creates and updates its tables, `mainstay migrate sql` prints how"
# SQLSTATEs, or their classes: the first two or three characters.
_TABLE: tuple[tuple[str, type[errors.MainstayError], str], ...] = (
    ("40 55P03", errors.StoreBusy, "Another transaction was in the way; try again"),
    ("40003", errors.StoreUnavailable, "Whether it was written is not known; sending it again does no harm"),
    ("57014", errors.StoreBusy, "The server's statement_timeout ended it; try again"),
    ("57P 08", errors.StoreUnavailable, "The server is starting, stopping or failing over; mainstay goes on when it is back"),
    ("53100", errors.StoreFull, "Free some space on the server's disk; nothing accepted was lost"),
    ("53300", errors.StoreUnavailable,
     "The server has no connection left: raise max_connections, lower ?connections=, or put a pooler in front of it"),
    ("53", errors.StoreUnavailable, "The server lacks memory or another resource; mainstay goes on when it has it"),
    ("58030", errors.StoreUnavailable, "The server could not read or write a file: check its disk"),
    ("58P01 XX001 XX002", errors.StoreCorrupt,
     "The database is damaged: stop the workers, look at the server's log, restore a backup"),
    ("25006", errors.StoreReadOnly,
     "This server takes no writes now (a standby, or default_transaction_read_only): connect to the primary"),
    ("42501", errors.StoreReadOnly, f"The role lacks a right on mainstay's schema: grant it, or as its owner: {_MIGRATE}"),
    ("42P01 42703 3F000", errors.SchemaMismatch, f"mainstay's tables are not there as they should be: {_MIGRATE}"),
    ("22", errors.UsageError, "A value cannot be stored"),
    ("54000", errors.UsageError, "A value is too long to be looked up by; shorten the key, the reference or the tag"),
    ("28", errors.StoreUnavailable, "Check the user and the password in the URL, and the server's pg_hba.conf"),
    ("3D000", errors.StoreUnavailable, "Create the database first: createdb NAME, or check its name in the URL"),
)  # fmt: skip
_KINDS = {state: (kind, advice) for states, kind, advice in _TABLE for state in states.split()}
# Parts of the messages of refused connections, which have no SQLSTATE.
_WORDS = {
    "password authentication failed": "28", "no pg_hba.conf entry": "28", "no password supplied": "28",
    "does not exist": "3D000", "too many": "53300", "remaining connection slots": "53300",
    "session is read-only": "25006", "server is in hot standby": "25006",
}  # fmt: skip
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
    kind, advice = _by_state(error.sqlstate) if error.sqlstate else _without_state(error)
    text = error.diag.message_primary or str(error) or type(error).__name__  # without hint and statement
    return kind(_sentence(place, text, advice))


def foreign(error: BaseException, state: str, place: str) -> BaseException:
    """Return the error of ours for an error of another driver."""
    kind, advice = _by_state(state)
    return kind(_sentence(place, str(error), advice))


def _sentence(place: str, text: str, advice: str) -> str:
    return f"{place}: {' '.join(text.split()).rstrip('.')}. {advice}".rstrip(". ") + "."


def translate(error: BaseException, place: str) -> None:
    """Raise the error of ours for an error of psycopg; return if the error is not psycopg's."""
    fault = mapped(error, place)
    if fault is not error:
        raise fault from error


def _by_state(state: str) -> tuple[type[errors.MainstayError], str]:
    """Return our class of error for an SQLSTATE, and what to do."""
    return _KINDS.get(state) or _KINDS.get(state[:3]) or _KINDS.get(state[:2]) or (errors.StoreError, "")


def _without_state(error: psycopg.Error) -> tuple[type[errors.MainstayError], str]:
    if isinstance(error, psycopg.DataError):
        return errors.UsageError, "A value cannot be stored"
    if not isinstance(error, psycopg.OperationalError):
        return errors.StoreError, ""
    text = str(error)
    return next((_KINDS[state] for words, state in _WORDS.items() if words in text), _UNREACHED)


def broken(error: BaseException | None) -> bool:
    """Return whether every connection must be opened anew: the server became read-only, went away, or has other tables.

    A connection that timed out counts too: whatever stopped it has probably stopped the others.
    """
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return True
    state = getattr(error, "sqlstate", None) or ""
    return isinstance(error, psycopg.Error) and (state in ("25006", "0A000") or state.startswith("57P"))

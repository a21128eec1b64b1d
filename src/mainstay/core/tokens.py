"""Tokens of the HTTP API and sessions: what they look like, and what of them is stored (docs/decisions/0046)."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Any, NamedTuple

from .clock import HOUR, MINUTE
from .errors import UsageError
from .suggest import did_you_mean

VIEWER, OPERATOR, ADMIN = "viewer", "operator", "admin"
ROLES = (VIEWER, OPERATOR, ADMIN)  # each with all that the one before may do
PREFIX = "mst"
MOST = 1_000  # tokens of an installation
NAMED = 100  # characters of a name
NOTED = MINUTE  # between two notes of a token's last use
SESSION_LASTS = 12 * HOUR  # after its last use
SESSION_NOTED = 10 * MINUTE  # between two notes that a session is used
MOST_SESSIONS = 50  # of one token: a new one ends the one that would end first
_TEXT = re.compile(PREFIX + r"_([0-9a-f]{10})_([0-9a-f]{64})")


class NewText(NamedTuple):
    """A token as it is shown once: its id, and its whole text."""

    id: str
    text: str


def new_text() -> NewText:
    """Return a random token: 256 bits are its secret."""
    name = secrets.token_hex(5)
    return NewText(name, f"{PREFIX}_{name}_{secrets.token_hex(32)}")


def new_session() -> str:
    """Return the random text of a session."""
    return secrets.token_urlsafe(32)


def id_of(text: str) -> str | None:
    """Return the id in the text of a token; None for a text that is no token."""
    found = _TEXT.fullmatch(text)
    return found[1] if found else None


def digest(text: str) -> str:
    """Return what is stored of a token or a session. They are random, so that a plain hash cannot be guessed."""
    return hashlib.sha256(text.encode()).hexdigest()


def matches(text: str, stored: str) -> bool:
    """Whether a text is the one of which this was stored, in a time that says nothing about it."""
    return hmac.compare_digest(digest(text), stored)


def checked_role(role: Any) -> str:
    """Return a role; raise for what is none."""
    if role not in ROLES:
        near = did_you_mean(role, ROLES) if isinstance(role, str) else ""
        raise UsageError(f"role={role!r:.40}{near}: give one of {', '.join(ROLES)}")
    return str(role)


def checked_token_name(name: Any) -> str:
    """Return the name of a token: under it, its bearer is in the audit trail."""
    if not isinstance(name, str) or not name.strip() or len(name) > NAMED or not name.isprintable():
        raise UsageError(f"name={name!r:.60}: say who or what uses the token, in up to {NAMED} printable characters")
    return name.strip()

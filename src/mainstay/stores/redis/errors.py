"""Errors of a Redis server and of connections as errors of ours, which say what to do."""

from __future__ import annotations

import re

from ...core import errors
from .wire import LOST, Refused

Kind = tuple[type[errors.StoreError], str]
UNREACHABLE: Kind = (
    errors.StoreUnavailable,
    "Check the URL and that the server runs. Whether this call happened is unknown; the same call again does no harm",
)
_REFUSED = "The server refuses this user and password: check the URL"
_NO_RIGHT = "This user lacks a right: mainstay needs ~{mainstay}:* (the prefix) and +@all -@dangerous +info"
_MOVING = "The cluster is moving these keys to another node: try again"
# What to do, by the words of the server's error. The word is at its beginning; in a script's error it is further on.
_ADVICE: dict[type[errors.StoreError], dict[str, str]] = {
    errors.StoreFull: {
        "OOM": "Its maxmemory is used up: raise it, or shorten retention (keep=). Waiting jobs still run; only new ones are "
        "refused",
        "MISCONF": "The server cannot write its files and refuses writes: check its disk and its log",
    },
    errors.StoreReadOnly: {
        "READONLY": "This is a replica: put the primary into the URL, or name your sentinels (redis+sentinel://…)",
        "NOPERM": _NO_RIGHT,
        "ACL failure": _NO_RIGHT,
        "user executing the script can't": _NO_RIGHT,  # Redis 6.2
    },
    errors.StoreUnavailable: {
        "LOADING": "The server is loading its data after a restart: try again soon",
        "NOAUTH": "The server asks for a password: redis://:password@host or user:password@host",
        "WRONGPASS": _REFUSED,
        "invalid username-password": _REFUSED,
        "CLUSTERDOWN": "The cluster does not serve every slot: check its nodes",
        "TRYAGAIN": _MOVING,
        "ASK": _MOVING,
        "MASTERDOWN": "The replica has lost its primary: check both",
        "NOREPLICAS": "min-replicas-to-write is not met: check the replicas",
        "MOVED": "This server is part of a cluster: write redis+cluster://host:port/",
        "max number of clients": "The server has all the connections it allows: raise maxclients, or use fewer workers",
    },
    errors.StoreBusy: {"BUSY": "Another program's script has held the server for too long: see SCRIPT KILL"},
    errors.StoreError: {"CROSSSLOT": "Please report this: all keys of mainstay should have one hash tag"},
}
_KINDS: dict[str, Kind] = {word: (kind, advice) for kind, found in _ADVICE.items() for word, advice in found.items()}
_WORD = re.compile(r"\b(" + "|".join(_KINDS) + r")\b")


class Unknown(errors.StoreError):
    """The server does not know this script: it was restarted, or its script cache was cleared."""


def mapped(error: BaseException, where: str) -> BaseException:
    """Return the same failure as one of ours; one that is neither the server's nor the connection's is returned unchanged."""
    if isinstance(error, (UnicodeEncodeError, OverflowError)):
        return errors.UsageError(f"a value cannot be stored: {error}")
    if not isinstance(error, (Refused, *LOST)):
        return error
    kind, advice = _kind(error)
    return kind(f"{where}: {str(error).rstrip('. ')}. {advice}".rstrip(". ") + ".")


def _kind(error: BaseException) -> Kind:
    found = _WORD.search(str(error))
    if found:
        return _KINDS[found[1]]
    return UNREACHABLE if isinstance(error, LOST) else (errors.StoreError, "")

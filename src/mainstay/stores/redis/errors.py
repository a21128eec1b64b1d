"""Errors of a Redis server and of the driver as errors of ours, which say what to do."""

from __future__ import annotations

import re

from redis import exceptions as theirs

from ...core import errors

Kind = tuple[type[errors.StoreError], str]
UNREACHABLE: Kind = (
    errors.StoreUnavailable,
    "Check the URL and that the server runs. Whether this call happened is unknown; the same call again does no harm",
)

# By the word with which the server's error begins; in a script's error the word is further on.
_KINDS: dict[str, Kind] = {
    "OOM": (
        errors.StoreFull,
        "Its maxmemory is used up: raise it, or shorten retention (keep=). Waiting jobs still run; only new ones are refused",
    ),
    "READONLY": (
        errors.StoreReadOnly,
        "This is a replica: put the primary into the URL, or name your sentinels (redis+sentinel://…)",
    ),
    "MISCONF": (
        errors.StoreFull,
        "The server cannot write its files and refuses writes: check its disk and its log",
    ),
    "LOADING": (errors.StoreUnavailable, "The server is loading its data after a restart: try again soon"),
    "BUSY": (errors.StoreBusy, "Another program's script has held the server for too long: see SCRIPT KILL"),
    "NOAUTH": (errors.StoreUnavailable, "The server asks for a password: redis://:password@host or user:password@host"),
    "WRONGPASS": (errors.StoreUnavailable, "The server refuses this user and password: check the URL"),
    "NOPERM": (
        errors.StoreReadOnly,
        "This user lacks a right: mainstay needs ~{mainstay}:* (the prefix) and +@all -@dangerous +info",
    ),
    "CLUSTERDOWN": (errors.StoreUnavailable, "The cluster does not serve every slot: check its nodes"),
    "TRYAGAIN": (errors.StoreUnavailable, "The cluster is moving these keys to another node: try again"),
    "MASTERDOWN": (errors.StoreUnavailable, "The replica has lost its primary: check both"),
    "NOREPLICAS": (errors.StoreUnavailable, "min-replicas-to-write is not met: check the replicas"),
    "MOVED": (errors.StoreUnavailable, "This server is part of a cluster: write redis+cluster://host:port/"),
    "CROSSSLOT": (errors.StoreError, "Please report this: all keys of mainstay should have one hash tag"),
}
_WORD = re.compile(r"\b(" + "|".join(_KINDS) + r")\b")
_CLIENTS = (
    errors.StoreUnavailable,
    "The server has all the connections it allows: raise maxclients, or use fewer workers",
)

_PHRASES: tuple[tuple[str, Kind], ...] = (
    ("max number of clients", _CLIENTS),
    ("invalid username-password", _KINDS["WRONGPASS"]),
    ("ACL failure", _KINDS["NOPERM"]),
    ("user executing the script can't", _KINDS["NOPERM"]),  # Redis 6.2
)


def mapped(error: BaseException, where: str) -> BaseException:
    """Return the same failure as one of ours; one that is not the driver's is returned unchanged."""
    if isinstance(error, (UnicodeEncodeError, OverflowError, theirs.DataError)):
        return errors.UsageError(f"a value cannot be stored: {error}")
    if not isinstance(error, (theirs.RedisError, OSError)):
        return error
    kind, advice = _kind(error)
    return kind(f"{where}: {str(error).rstrip('. ')}. {advice}".rstrip(". ") + ".")


def _kind(error: BaseException) -> Kind:
    """Classes of redis-py come first: some drop the word that the server sent. Then the word."""
    text = str(error)
    for phrase, kind in _PHRASES:
        if phrase in text:
            return kind
    for known, word in _CLASSES:
        if isinstance(error, known):
            return _KINDS[word]
    found = _WORD.search(text)
    if found is not None:
        return _KINDS[found[1]]
    if isinstance(error, (theirs.ConnectionError, theirs.TimeoutError, theirs.RedisClusterException, OSError)):
        return UNREACHABLE
    return errors.StoreError, ""


_CLASSES: tuple[tuple[type[Exception], str], ...] = (
    (theirs.BusyLoadingError, "LOADING"),
    (theirs.NoPermissionError, "NOPERM"),
    (theirs.AuthenticationError, "NOAUTH"),
    (theirs.ReadOnlyError, "READONLY"),
    (theirs.OutOfMemoryError, "OOM"),
    (theirs.ClusterDownError, "CLUSTERDOWN"),
    (theirs.MovedError, "MOVED"),  # before AskError: redis-py derives it from that
    (theirs.AskError, "TRYAGAIN"),
)


class Unknown(errors.StoreError):
    """The server does not know this script: it was restarted, or its script cache was cleared."""

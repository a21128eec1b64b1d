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
_REFUSED = "The server refuses this user and password: check the URL"
_NO_RIGHT = "This user lacks a right: mainstay needs ~{mainstay}:* (the prefix) and +@all -@dangerous +info"
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
        "TRYAGAIN": "The cluster is moving these keys to another node: try again",
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
_CLASSES: dict[type, str] = {  # of redis-py, which drops the word from their texts
    theirs.BusyLoadingError: "LOADING", theirs.NoPermissionError: "NOPERM", theirs.AuthenticationError: "NOAUTH",
    theirs.ReadOnlyError: "READONLY", theirs.OutOfMemoryError: "OOM", theirs.ClusterDownError: "CLUSTERDOWN",
    theirs.MovedError: "MOVED", theirs.AskError: "TRYAGAIN",
}  # fmt: skip


class Unknown(errors.StoreError):
    """The server does not know this script: it was restarted, or its script cache was cleared."""


def mapped(error: BaseException, where: str) -> BaseException:
    """Return the same failure as one of ours; one that is not the driver's is returned unchanged."""
    if isinstance(error, (UnicodeEncodeError, OverflowError, theirs.DataError)):
        return errors.UsageError(f"a value cannot be stored: {error}")
    if not isinstance(error, (theirs.RedisError, OSError)):
        return error
    kind, advice = _kind(error)
    return kind(f"{where}: {str(error).rstrip('. ')}. {advice}".rstrip(". ") + ".")


def _kind(error: BaseException) -> Kind:
    found = _WORD.search(str(error))
    word = found[1] if found else next((_CLASSES[each] for each in type(error).__mro__ if each in _CLASSES), None)
    if word:
        return _KINDS[word]
    if isinstance(error, (theirs.ConnectionError, theirs.TimeoutError, theirs.RedisClusterException, OSError)):
        return UNREACHABLE
    return errors.StoreError, ""

"""Versions of a store's schema: which code may use which store, and what to tell a user when they do not fit.

A store records its `version` and `readable_from`, the oldest version whose code may still use it. So the old code keeps
working between `mainstay migrate up` and the end of a deploy. Schema 1 has no `readable_from`.

An encrypted installation adds `SEALED` to it: every program reads it when it connects, so those without keys are refused at no cost.
"""

from __future__ import annotations

import os

from ..core.errors import ConfigError, SchemaMismatch
from . import KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    class Migrations(Protocol):
        """The migrations of one store, for `mainstay migrate`."""

        where: dict[str, str]  # the store, and the schema or prefix in it
        needed: int  # the version of this code

        def found(self) -> tuple[int, int, int]:
            """Return version, readable_from, and how many steps of the next migration are done; version 0: no schema."""

        def pending(self, since: int) -> list[str]:
            """Return the names of the migrations after a version."""

        def up(self, report: Callable[[str], None]) -> list[int]:
            """Run the steps that are missing and return the versions that were reached. Reports each step."""

        def sql(self, since: int) -> str | None:
            """Return the statements after a version; None: the engine has no SQL."""


SEALED = 1_000_000


def without_seal(readable_from: int, place: str) -> int:
    """Return `readable_from` without the mark of an encrypted installation; raise if there are no keys here."""
    if readable_from < SEALED:
        return readable_from
    if not os.environ.get(KEYS):
        raise ConfigError(
            f"{place} is encrypted: set {KEYS} here, as for its other programs (mainstay encryption --help)"
        )
    return readable_from - SEALED


def readable(version: int, readable_from: int, known: int, place: str, elsewhere: str) -> bool:
    """Return whether code that knows schema `known` may use the store; False: it must be upgraded first.

    Raises when the store is too new for this code.
    """
    readable_from = without_seal(readable_from, place)
    if version <= known:
        return version == known
    if readable_from > known:
        raise SchemaMismatch(
            f"{place} has schema {version}, which mainstay can use from schema {readable_from} on; this mainstay knows "
            f"{known}. Upgrade mainstay here (pip install -U mainstay), or use another {elsewhere}."
        )
    return True


def number(name: str) -> int:
    """Return the version to which a migration of this name leads. Numbers may be left out."""
    return int(name[:4])


def later(names: Sequence[str], version: int) -> list[str]:
    """Return those migrations that lead beyond a version, in their order."""
    return [name for name in names if number(name) > version]


def outdated(version: int, needed: int, place: str) -> SchemaMismatch:
    """The error for a store that is upgraded by `mainstay migrate up` only."""
    return SchemaMismatch(
        f"{place} has schema {version}, this mainstay needs {needed}. Run `mainstay migrate up`; "
        "`mainstay migrate status` shows what it will do."
    )


def unversioned(place: str) -> SchemaMismatch:
    """The error for a store that is in use and does not say its version."""
    return SchemaMismatch(
        f"{place} has data of mainstay, but no schema version, so it is not safe to use. Restore a backup. If somebody "
        "emptied the store while programs used it, stop every program, and remove what is left."
    )


def check_stopped(workers: Sequence[str], version: int, needed: int, place: str) -> None:
    """Raise when workers run that cannot use the schema of version `needed`."""
    if workers:
        raise SchemaMismatch(
            f"{place} has schema {version}, this mainstay needs {needed}, and {len(workers)} worker(s) of the older version "
            f"run there ({', '.join(sorted(workers)[:3])}). Their jobs are safe. Stop them, then run `mainstay migrate up`. "
            "A worker that was killed counts until its lease ends, some seconds later."
        )

"""Maintenance: remove what retention no longer keeps, and check whether what completed jobs did still holds."""

from __future__ import annotations

import time
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Annotated

import msgspec

from ...control.reconcile import reconcile
from ...control.records import Reconciliation
from ...redacting import in_archives
from ...settings_file import load_settings
from ...upkeep.archive import open_archive
from ...upkeep.prune import prune_expired
from ..call import Call
from ..operations import Body, operation
from ..roles import ADMIN

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 20.0  # that a call may take
COUNTED = 10_000  # jobs whose retention is over that a preview counts


class Prune(Body, frozen=True, kw_only=True):
    """With `dry_run`, nothing is removed."""

    dry_run: bool = False


class Removed(msgspec.Struct, kw_only=True):
    """How many ended jobs were to be removed, and were. `more`: time was over before all were; repeat the call."""

    matched: int
    removed: int
    more: bool


class Check(Body, frozen=True, kw_only=True):
    """Which completed jobs to check: of these types, that ended within a time; and how many ended jobs to look at."""

    types: list[str] = msgspec.field(default_factory=list)
    since: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 10_000


@operation("POST", "/api/prune", role=ADMIN)
def prune(call: Call, body: Prune) -> Removed:
    """Remove ended jobs whose retention is over, for 20 seconds at most. They are archived first if the settings name an archive."""
    app = call.app
    if body.dry_run:
        found = len(app.store.expired(app.clock.now(), COUNTED))
        return Removed(matched=found, removed=0, more=found == COUNTED)
    where, on = load_settings(only=("archive",)).archive, _until(SECONDS)
    with closing(open_archive(where, in_archives())) if where else nullcontext() as archive:
        matched, removed = prune_expired(app.store, app.clock, archive, call.who.actor, lambda _: on())
    return Removed(matched=matched, removed=removed, more=not on())


@operation("POST", "/api/reconcile", role=ADMIN)
def check_completed(call: Call, body: Check) -> Reconciliation:
    """Check by the `verify=` of their types whether what completed jobs did still holds, for 20 seconds at most. It needs the application's code."""
    return reconcile(call.app, body.types, body.since, body.limit, _until(SECONDS))


def _until(seconds: float) -> Callable[[], bool]:
    """Return a function that returns whether there is time left."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end

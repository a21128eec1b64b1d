"""Move an installation from one store to another: row by row, resumable, and compared at the end.

Each batch is stored together with a mark of how far the move is, so a killed move continues where it stopped. While the mark
exists, no worker starts on the target. From the beginning of the move on, none starts on the source.
"""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.clock import DAY, SystemClock
from ..core.errors import Conflict, MainstayError
from ..core.export import PARTS
from ..core.masking import masked
from . import MARK, MOVED

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.clock import Clock
    from .contract import Store

    Report = Callable[[str, str, int, int], None]  # phase, part, rows so far, rows in total (0: not known yet)

BATCH = 500
LONG = 10_000 * DAY  # past its timeout: no job ever is this far
_FOLLOWING = dict(zip(PARTS, [*list(PARTS)[1:], ""], strict=True))  # "": everything is copied
SOURCE = "move.source"


class MoveDiffers(MainstayError):
    """The copy differs from the source."""


class Digest(NamedTuple):
    """The number of rows and the sum of their hashes, which does not depend on their order."""

    rows: int
    checksum: int


def shown(store: Store) -> str:
    """Return the store's URL as its user wrote it, without the password."""
    return masked(store.url).removesuffix("mode=existing").rstrip("?&")  # our commands add it


def closed(store: Store) -> str | None:
    """Return why no worker may start on this store (a move into it is unfinished, or its jobs have moved), or None."""
    if store.setting(MARK) is not None:
        return f"a move into {shown(store)} has not finished: run the same `mainstay move` again"
    moved = store.setting(MOVED)
    if moved is None:
        return None
    return (
        f"the jobs of {shown(store)} move or have moved to {moved}: start workers there and enqueue there. "
        f"To use this store again: mainstay move --reopen {shown(store)}"
    )


def reopen(store: Store) -> None:
    """Let workers start here again."""
    store.set_setting(MOVED, None)


def move(
    source: Store, target: Store, report: Report, force: bool = False, batch: int = BATCH, clock: Clock | None = None
) -> dict[str, Digest]:
    """Copy everything from `source` to `target`, compare, and close the source; return the digest of each part."""
    if not force:
        now = (clock or SystemClock()).now()
        _refuse_running(source, now)
        _refuse_running(target, now)
    mark = _begin(source, target)
    source.set_setting(MOVED, shown(target))  # from here on no worker starts there
    wanted = {part: digest(source, part, report, batch) for part in PARTS}
    _copy(source, target, mark, wanted, report, batch)
    found = {part: digest(target, part, report, batch, wanted[part].rows) for part in PARTS}
    _compare({part: digest(source, part, report, batch, wanted[part].rows) for part in PARTS}, found)
    target.set_setting(MARK, None)
    return found


def _refuse_running(store: Store, now: int) -> None:
    store.orphans(now, LONG, 1)  # removes expired workers: no other process may be left to do it
    live = len(store.workers())
    if live:
        raise Conflict(
            f"{live} worker(s) are registered at {shown(store)}: stop them first and wait until they have left; one that was "
            "killed is gone when its lease is over, within seconds. "
            "With --force the jobs are copied anyway, and jobs that run meanwhile may run at both places."
        )


def _begin(source: Store, target: Store) -> dict[str, Any]:
    """Return the mark to continue from: of an earlier move from the same source, or of a new one into an empty store."""
    name = source.setting(SOURCE)
    if name is None:
        name = os.urandom(12).hex()
        source.set_setting(SOURCE, name)
    if name == target.setting(SOURCE):
        raise Conflict("source and target are the same store")
    text = target.setting(MARK)
    if text is None:
        _refuse_used(source, target)
        text = _mark(name, next(iter(PARTS)), None, 0)
        target.set_setting(MARK, text)
    mark: dict[str, Any] = json.loads(text)
    if mark["source"] != name:
        raise Conflict(
            f"{shown(target)} holds a part of another installation, of a move from elsewhere that has not finished: "
            "finish that one, or name another store"
        )
    return mark


def _refuse_used(source: Store, target: Store) -> None:
    if not any(target.export_rows(part, None, 1).rows for part in ("jobs", "actions", "types")):
        return
    if source.setting(MOVED) == shown(target):
        raise Conflict(f"{shown(source)} has moved to {shown(target)} already: start workers there")
    raise Conflict(f"{shown(target)} is not empty: move into a store of its own")


def _copy(
    source: Store, target: Store, mark: dict[str, Any], wanted: dict[str, Digest], report: Report, batch: int
) -> None:
    part, after, rows = mark["part"], mark["after"], mark["rows"]
    text = json.dumps(mark)
    while part:
        exported = source.export_rows(part, after, batch)
        rows += len(exported.rows)
        report("copying", part, rows, wanted[part].rows)
        following = (part, exported.after, rows) if exported.after else (_FOLLOWING[part], None, 0)
        was, text = text, _mark(mark["source"], *following)
        target.import_rows(part, exported.rows, was, text)
        part, after, rows = following


def _mark(source: str, part: str, after: str | None, rows: int) -> str:
    return json.dumps({"source": source, "part": part, "after": after, "rows": rows})


def digest(store: Store, part: str, report: Report, batch: int = BATCH, total: int = 0) -> Digest:
    """Return the number of rows and the checksum of a part."""
    rows = checksum = 0
    exported = store.export_rows(part, None, batch)
    while True:
        for row in exported.rows:
            text = repr(tuple(row)).encode("utf-8", "surrogatepass")
            checksum += int.from_bytes(blake2b(text, digest_size=8).digest())
        rows += len(exported.rows)
        if exported.after is None:
            return Digest(rows, checksum % (1 << 64))
        report("comparing" if total else "reading", part, rows, total)
        exported = store.export_rows(part, exported.after, batch)


def _compare(wanted: dict[str, Digest], found: dict[str, Digest]) -> None:
    differs = [
        f"{part} ({wanted[part].rows} at the source, {found[part].rows} at the target)"
        for part in PARTS
        if wanted[part] != found[part]
    ]
    if differs:
        raise MoveDiffers(
            f"the copy differs from the source in {', '.join(differs)}: something wrote to one of them meanwhile. "
            "Stop every worker and producer, empty the target and move again."
        )

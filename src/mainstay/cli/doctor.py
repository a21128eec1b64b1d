"""What is here: `version`, `config` and `doctor`, which checks whether jobs can run well.

Each line of `doctor` is ok, warn or fail, with the fix for what is not ok.
"""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import __version__
from ..control.findings import differences, served, trouble
from ..control.health import HEALTHY, UNHEALTHY, checks
from ..control.held import scheduled, stopped
from ..control.workers import live
from ..core.errors import MainstayError, StoreUnavailable
from ..core.masking import masked
from ..stores import open_store
from . import exits
from .options import command, on_store, shaped
from .output import plural, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..app import Mainstay
    from ..control.records import Component
    from ..core.job import Count, WorkerInfo
    from .options import Target
    from .output import Cell, Output

OK, WARN, FAIL = "ok", "warn", "fail"
STYLES = {OK: "good", WARN: "warn", FAIL: "bad"}
CAP = 10_000
DURABILITY = {  # the setting that decides it, and the fix
    "synchronous": "remove ?synchronous=normal from the URL",
    "fsync": "set fsync = on and synchronous_commit = on in postgresql.conf",
    "synchronous_commit": "set synchronous_commit = on in postgresql.conf",
    "appendfsync": "set appendonly yes and appendfsync always in redis.conf",
}
FIXED_SQLITE = "use a Python with SQLite 3.51.3 or newer (3.50.7 and 3.44.6 have the fix too); until then keep backups"


@command("mainstay version\nmainstay version --json")
@shaped("Print only the version of mainstay.")
def version(output: Output) -> None:
    """Show the versions of mainstay, Python and SQLite."""
    with open_store("sqlite:///:memory:") as store:
        sqlite = store.diagnostics()["engine"].removeprefix("SQLite ")
    found = {"mainstay": __version__, "python": platform.python_version(), "sqlite": sqlite}
    output.give(lambda: found, [__version__], lambda: output.line(" · ".join(map(" ".join, found.items()))))


@command("mainstay config\nmainstay config --json\nMAINSTAY_URL=sqlite:///other.db mainstay config")
@on_store("No effect: all of the output is data.")
def config(target: Target, output: Output) -> None:
    """Show the configuration in force and where each value comes from.

    The command line comes first, then the environment, the settings file and the default.
    """
    rows = [row if row[0] != "url" else _url(target, row) for row in target.settings().explain()]
    cells: list[list[Cell]] = [[(name, "bold"), _shown(value), (source, "dim")] for name, value, source in rows]
    output.give(
        lambda: [{"name": name, "value": value, "source": source} for name, value, source in rows], None,
        lambda: output.table(["NAME", "VALUE", "FROM"], cells),
    )  # fmt: skip


def _url(target: Target, row: tuple[str, Any, str]) -> tuple[str, Any, str]:
    """Return the URL in force: that of the application, if the settings name none."""
    try:
        url, source = target.location()
    except MainstayError:
        return row
    return ("url", masked(url), source) if source.startswith("the application") else row


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "–"
    return "–" if value in {None, ""} else str(value)


class Check(NamedTuple):
    """One line of the report."""

    level: str
    name: str
    text: str
    fix: str = ""


@command("mainstay doctor\nmainstay doctor --app jobs:app\nmainstay doctor --json")
@on_store("Print only the findings, not what is in order.")
def doctor(target: Target, output: Output) -> int:
    """Check this machine, the store and the application; print the fix for each finding.

    Exit code 0: everything is ok · 3: there are warnings · 1: something does not work.
    """
    checks = [*_machine(target), *_application(target), *_store(target)]
    shown = [check for check in checks if check.level != OK or not output.shape.quiet]
    output.give(lambda: [check._asdict() for check in checks], None, lambda: _print(output, shown))
    levels = {check.level for check in checks}
    return exits.FAILED if FAIL in levels else exits.PARTIAL if WARN in levels else exits.OK


def _print(output: Output, checks: list[Check]) -> None:
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        level = (f"{check.level:4}", STYLES[check.level])
        output.paragraph(level, f"  {check.name:{width}}  ", text=check.text, indent=1)
        if check.fix:
            output.paragraph(("→ ", "link"), text=check.fix, style="link", indent=width + 9)


# The machine --------------------------------------------------------------------------------------------------------------


def _machine(target: Target) -> Iterator[Check]:
    yield Check(OK, "python", f"{platform.python_version()} ({sys.executable})")
    try:
        matters = target.url().startswith("sqlite:")
    except MainstayError:  # no store is named
        matters = True
    if not matters:  # this Python's SQLite
        return
    with open_store("sqlite:///:memory:") as store:
        facts = store.diagnostics()
    if facts["wal-reset bug"] == "yes":
        text = f"{facts['engine']} has the WAL-reset bug: rarely, a checkpoint that meets a write damages the file"
        yield Check(WARN, "sqlite", text, FIXED_SQLITE)
    else:
        yield Check(OK, "sqlite", facts["engine"])


# The application ----------------------------------------------------------------------------------------------------------


def _application(target: Target) -> Iterator[Check]:
    try:
        spec = target.given_app or target.settings().app
        if not spec:
            yield Check(OK, "application", "none given; --app module:app checks it too")
            return
        app = target.application()
        names = sorted(app.registry)
        for type in app.registry.values():
            type.schema.build()
    except (MainstayError, TypeError) as error:  # the latter from a schema that cannot be built
        yield Check(FAIL, "application", str(error), getattr(error, "attempt", ""))
        return
    if names:
        yield Check(OK, "application", f"{spec} defines {plural(len(names), 'type')}: {', '.join(names)}")
    else:
        fix = "import the modules that hold its @app.job functions"
        yield Check(WARN, "application", f"{spec} defines no job", fix)


# The store ----------------------------------------------------------------------------------------------------------------


def _store(target: Target) -> Iterator[Check]:
    """Check the store; a store that cannot be opened gets one line."""
    try:
        with target.open() as app:
            yield from _opened(app, masked(target.url()), target.start())
    except MainstayError as error:
        if isinstance(error, StoreUnavailable) and "no such file" in str(error):
            yield Check(WARN, "store", exits.explained(error), "nothing to do: the first enqueue or worker creates it")
        else:
            yield Check(FAIL, "store", exits.explained(error), error.attempt)


def _opened(app: Mainstay, url: str, start: str) -> Iterator[Check]:
    from ..stores.local_workers import TRUST, WITHOUT_FILES
    from ..stores.move import closed

    facts, now = app.store.diagnostics(), app.clock.now()
    about = f"{facts['engine']}, {size(int(facts.get('size', 0)))}, schema {facts['schema']}, readable from {facts['readable from']}"
    yield Check(OK, "store", f"{url} ({about})")
    yield _durability(facts)
    why_closed = closed(app.store)
    if why_closed:
        yield Check(FAIL, "move", why_closed)
    for name in ("pooler", "connections", "role", "maxmemory"):
        if name in facts:
            yield Check(OK, name, facts[name])
    if facts.get("worker locks"):
        yield Check(WARN, "worker locks", f"{facts['worker locks']}. {WITHOUT_FILES}", TRUST)
    if facts.get("file system"):
        yield Check(OK, "file system", f"{facts['file system']}: local")
    for part in checks(app, start):
        if part.name != "store" or (part.status != HEALTHY and not why_closed):
            yield Check(_level(part), part.name, part.text, part.fix)
    yield from _serving(app, app.store.workers(), app.store.counts(CAP), now, start)


def _level(part: Component) -> str:
    """Return the level of a part of the installation's health: what stops no job from running well is a warning at most."""
    if part.status == HEALTHY:
        return OK
    return FAIL if part.status == UNHEALTHY and part.name == "disk" else WARN


def _durability(facts: dict[str, str]) -> Check:
    """Return the durability in force, with the settings that decide it."""
    level = facts.get("durability", "unknown")
    settings = [f"{name}={facts[name]}" for name in DURABILITY if name in facts]
    how = f"{level} ({', '.join(settings)})" if settings else level
    if level.startswith("power cut"):
        return Check(OK, "durability", how)
    fix = DURABILITY.get(next((name for name in DURABILITY if name in facts), ""), "")
    return Check(WARN, "durability", how, f"{fix}, if that is more than you can lose")


def _serving(app: Mainstay, workers: list[WorkerInfo], counts: list[Count], now: int, start: str) -> Iterator[Check]:
    """Check that live workers serve the types and the waiting jobs."""
    there = live(workers, now)
    idle = sorted({info.name for info in app.store.types()} - served(workers, now))
    if there and idle:
        text = f"registered, but served by no live worker: {', '.join(idle)}"
        yield Check(WARN, "types", text, "start a worker with that code; ignore types that no longer exist")
    for finding in differences(app.store.declarations(now)):
        yield Check(WARN, "signatures", finding.text, finding.fix)
    for finding in stopped(app.store, counts, now):
        yield Check(WARN, "rules", finding.text, finding.fix)
    for finding in scheduled(app.store, {info.name for info in app.store.types()}, failing=False):
        yield Check(WARN, "schedules", finding.text, finding.fix)
    for finding in trouble(counts, workers, now, start):
        yield Check(WARN, "jobs", finding.text, finding.fix)

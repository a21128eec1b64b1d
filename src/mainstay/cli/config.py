"""`version` and `config`."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from .. import __version__
from .options import command, shaped, targeted

if TYPE_CHECKING:
    from .output import Cell, Output
    from .target import Target


@command("mainstay version\nmainstay version --json")
@shaped
def version(output: Output) -> None:
    """Show the versions of mainstay, Python and SQLite."""
    from ..stores import open_store

    with open_store("sqlite:///:memory:") as store:
        sqlite = store.diagnostics()["engine"].removeprefix("SQLite ")
    found = {"mainstay": __version__, "python": platform.python_version(), "sqlite": sqlite}
    output.give(lambda: found, [__version__], lambda: output.line(" · ".join(map(" ".join, found.items()))))


@command("mainstay config\nmainstay config --json\nMAINSTAY_URL=sqlite:///other.db mainstay config")
@shaped
@targeted
def config(target: Target, output: Output) -> None:
    """Show the configuration in force and where each value comes from.

    The command line comes first, then the environment, the settings file and the default.
    """
    rows = target.settings().explain()
    cells: list[list[Cell]] = [[(name, "bold"), _shown(value), (source, "dim")] for name, value, source in rows]
    output.give(
        lambda: [{"name": name, "value": value, "source": source} for name, value, source in rows], None,
        lambda: output.table(["NAME", "VALUE", "FROM"], cells),
    )  # fmt: skip


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "–"
    return "–" if value in {None, ""} else str(value)

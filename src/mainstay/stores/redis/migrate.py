"""The migrations of the keys under a Redis prefix, for `mainstay migrate`: many bounded script calls.

Each call stores how far it came, so a killed migration goes on where it stopped, and no call holds the server for long.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..schema import check_stopped
from . import schema
from .connect import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
COUNT = 500  # entries a call: 1.4 ms with 200,000 jobs


class Migrations:
    """See `stores.schema.Migrations`."""

    needed = schema.VERSION

    def __init__(self, url: str) -> None:
        self._server = Server(url)
        self._prefix, self._shown = self._server.prefix, self._server.shown
        self.where = {"store": self._shown, "prefix": self._prefix}

    def found(self) -> tuple[int, int, int]:
        return schema.versions(self._exchange(schema.reading(self._prefix)))

    def pending(self, since: int) -> list[str]:
        names = [name.removesuffix(".lua") for name in sorted(os.listdir(FOLDER))]
        return [name for name in ["0001_initial", *names] if int(name[:4]) > since]

    def up(self, report: Callable[[str], None]) -> list[int]:
        before, readable_from, _ = self.found()
        if not before:
            schema.begin(self._exchange, self._prefix, self._shown)
        elif not schema.fits(before, readable_from, self._prefix, self._shown):
            self._upgrade(report)
        return list(range(before + 1, self.needed + 1))

    def sql(self, since: int) -> str | None:
        return None

    def _upgrade(self, report: Callable[[str], None]) -> None:
        told = None
        version, _, step = self.found()
        while version < self.needed:
            if told != (version, step):
                told = version, step
                report(f"{self.pending(version)[0]}: step {step + 1}")
            self._call(version)
            version, _, step = self.found()

    def _call(self, version: int) -> None:
        """Run the migration after this version for one call."""
        with open(os.path.join(FOLDER, self.pending(version)[0] + ".lua"), encoding="utf-8") as file:
            text = file.read()
        (workers,) = self._exchange([("EVAL", text, 1, self._prefix, COUNT, int(version >= schema.READABLE_FROM))])
        check_stopped(workers, version, self.needed, schema.named(self._prefix, self._shown))

    def _exchange(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        return self._server.commands(commands, checked=False)

"""The migrations of the keys under a Redis prefix, for `mainstay migrate`: many bounded script calls.

Each call stores how far it came, so a killed migration goes on where it stopped, and no call holds the server for long.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from ..schema import check_stopped
from . import schema
from .connect import Server

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = os.path.join(os.path.dirname(__file__), "migrations")
COUNT = 500  # entries a call: 1.4 ms with 200,000 jobs


class Migrations:
    """See `stores.schema.Migrations`."""

    needed = schema.VERSION

    def __init__(self, url: str) -> None:
        server = Server(url)
        self._prefix, self._shown = server.prefix, server.shown
        self._exchange = partial(server.commands, checked=False)
        self.where = {"store": self._shown, "prefix": self._prefix}

    def found(self) -> tuple[int, int, int]:
        return schema.versions(self._exchange(schema.reading(self._prefix)))

    def pending(self, since: int) -> list[str]:
        names = [name.removesuffix(".lua") for name in sorted(os.listdir(FOLDER))]
        return [name for name in ["0001_initial", *names] if int(name[:4]) > since]

    def up(self, report: Callable[[str], None]) -> list[int]:
        before, readable_from, _ = self.found()
        numbers = [int(name[:4]) for name in self.pending(before)]
        if not schema.usable(self._exchange, self._prefix, self._shown, before, readable_from):
            self._upgrade(report)
        return numbers

    def sql(self, since: int) -> str | None:
        return None

    def _upgrade(self, report: Callable[[str], None]) -> None:
        told = None
        while (found := self.found())[0] < self.needed:
            version, _, step = found
            (name, *_) = self.pending(version)
            if told != (name, step):
                told = name, step
                report(f"{name}: step {step + 1}")
            with open(os.path.join(FOLDER, name + ".lua"), encoding="utf-8") as file:
                call = ("EVAL", file.read(), 1, self._prefix, COUNT, int(version >= schema.READABLE_FROM))
            (workers,) = self._exchange([call])
            check_stopped(workers, version, self.needed, schema.named(self._prefix, self._shown))

"""The statements: one file each in `statements/`, read when first used, spelled for the schema they are to work in.

They join by `= ANY (ARRAY[x])` where one would write `= x`. Both go from the row at hand to the other's index; but an
equality also allows to walk the other's index from end to end, which seems as good while the statistics know of no rows,
and a plan is kept until they change. Written so, there is one way only. And nothing is sorted by the column of a table
after a join: the whole index would be walked for its order.
"""

from __future__ import annotations

import os
import re

from ...core.errors import ConfigError

FOLDER = os.path.join(os.path.dirname(__file__), "statements")
SCHEMA = "mainstay"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}", re.ASCII)
_PREFIX = re.compile(r"\bmainstay\.")


class Statements:
    """The texts of all statements in one schema; calling it with a name answers `statements/<name>.sql`."""

    def __init__(self, schema: str = SCHEMA) -> None:
        if not _NAME.fullmatch(schema):
            raise ConfigError(f"schema={schema!r}: give a plain name of letters, digits and _, such as mainstay")
        self.schema = schema
        self._cache: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """The text of one statement, without its comments."""
        text = self._cache.get(name)
        if text is None:
            with open(os.path.join(FOLDER, name + ".sql"), encoding="utf-8") as file:
                text = "".join(line for line in file if not line.startswith("--")).strip()
            text = self._cache[name] = self.with_schema(text)
        return text

    def with_schema(self, text: str) -> str:
        """A text that says `mainstay.job`, for this schema."""
        return text if self.schema == SCHEMA else _PREFIX.sub(f'"{self.schema}".', text)

"""The statements: one file each in `statements/`, read when first used, with the name of the schema filled in.

They join with `= ANY (ARRAY[x])` instead of `= x`. Both look up the other table's index for each row. But an equality also
lets the planner scan the whole index of the other table, which seems as cheap while the statistics know of no rows, and a
plan is kept until they change. With the array there is one possible plan. And no statement sorts by a table's column
after a join: the planner would scan the whole index for its order.
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
    """The texts of all statements in one schema; a call with a name returns the text of `statements/<name>.sql`."""

    def __init__(self, schema: str = SCHEMA) -> None:
        if not _NAME.fullmatch(schema):
            raise ConfigError(f"schema={schema!r}: give a plain name of letters, digits and _, such as mainstay")
        self.schema = schema
        self._cache: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """Return the text of one statement, without its comments."""
        text = self._cache.get(name)
        if text is None:
            with open(os.path.join(FOLDER, name + ".sql"), encoding="utf-8") as file:
                text = "".join(line for line in file if not line.startswith("--")).strip()
            text = self._cache[name] = self.with_schema(text)
        return text

    def with_schema(self, text: str) -> str:
        """Return a text that says `mainstay.job` with the name of this schema."""
        return text if self.schema == SCHEMA else _PREFIX.sub(f'"{self.schema}".', text)

"""The scripts: one file per verb in `statements/`, with the shared parts in front that its line `-- uses:` names."""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha1
from typing import NamedTuple

from . import record

FOLDER = os.path.join(os.path.dirname(__file__), "statements")
USES = "-- uses:"
MANY = "_many"


class Script(NamedTuple):
    """A script's text, and the digest by which a server that has run it knows it."""

    text: str
    sha: str


@cache
def load(name: str) -> Script:
    """Return the script `statements/<name>.lua`; with `_many` behind its name, the variant for workers with many lanes."""
    text = _text(name.removesuffix(MANY) + ".lua")
    uses = next(line for line in text.splitlines() if line.startswith(USES)).removeprefix(USES)
    if name.endswith(MANY):
        uses = uses.replace("few", "lane many")
    parts = [_text(os.path.join("parts", part + ".lua")) for part in uses.split()]
    text = record.with_positions("".join(parts) + text)
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


def _text(path: str) -> str:
    with open(os.path.join(FOLDER, path), encoding="utf-8") as file:
        return file.read()

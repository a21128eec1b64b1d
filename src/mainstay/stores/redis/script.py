"""The scripts: one file per verb in `statements/`, with the shared parts it names in front; read when first used."""

from __future__ import annotations

import os
from hashlib import sha1

from . import record

FOLDER = os.path.join(os.path.dirname(__file__), "statements")
USES = "-- uses:"
_cache: dict[str, Script] = {}


class Script:
    """A script's text, and the digest by which a server that has run it knows it."""

    __slots__ = ("sha", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.sha = sha1(text.encode(), usedforsecurity=False).hexdigest()


def load(name: str) -> Script:
    """Return the script `statements/<name>.lua`."""
    script = _cache.get(name)
    if script is None:
        script = _cache[name] = Script(assemble(_text(name + ".lua")))
    return script


def assemble(text: str) -> str:
    """Return a script with the parts in front that its line `-- uses:` names, and numbers for the fields of a record."""
    names = next(line for line in text.splitlines() if line.startswith(USES)).removeprefix(USES).split()
    parts = [_text(os.path.join("parts", name + ".lua")) for name in names]
    return record.with_positions("".join(parts) + text)


def _text(path: str) -> str:
    with open(os.path.join(FOLDER, path), encoding="utf-8") as file:
        return file.read()

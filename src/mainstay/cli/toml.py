"""Values as TOML that people edit, and the values that they leave there."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from ..core.errors import UsageError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile(r"[^\x20-\x7e]")


def line(name: str, value: Any) -> str:
    """Return a value as a line of TOML."""
    return f"{_key(name)} = {inline(value)}"


def loads(text: str) -> dict[str, Any]:
    """Return the values in a text; raise `UsageError` with the place of a mistake."""
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"this is not valid TOML: {error}") from error


def commented(text: str) -> str:
    """Return a text as comments."""
    return "".join(f"# {_printable(line)}".rstrip() + "\n" for line in text.split("\n"))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def inline(value: Any) -> str:
    """Return a value as TOML writes it in a line."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_key(name)} = {inline(each)}" for name, each in value.items() if each is not None) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(inline, value)) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    return '"' + _printable(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def _printable(text: str) -> str:
    """Return a text with every character escaped that could control a terminal or end a line."""
    return _CONTROL.sub(lambda found: found[0] if found[0].isprintable() else _escape(found[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

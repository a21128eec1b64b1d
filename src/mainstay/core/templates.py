"""Templates of jobs that events create: `"$.data.id"` stands for a value of the event, and `invoice-{data.id}` for a text with one in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

VALUE = "$."  # what a text starts with that stands for a value
LITERAL = "$$."  # and one that starts with `$.` itself
LONGEST = 500  # characters of a path
_IN_TEXT = re.compile(r"\{([^{}]*)\}")


class Missing(LookupError):
    """What a template takes is not there; the one argument is the path."""


def filled(template: Any, root: Mapping[str, Any]) -> Any:
    """Return a template with the values of an event in their places; raise `Missing` for one that is not there."""
    if isinstance(template, dict):
        return {name: filled(each, root) for name, each in template.items()}
    if isinstance(template, list):
        return [filled(each, root) for each in template]
    if isinstance(template, str) and template.startswith(LITERAL):
        return template[1:]
    return found(root, template[2:]) if isinstance(template, str) and template.startswith(VALUE) else template


def text(template: str, root: Mapping[str, Any]) -> str:
    """Return a text with the values of an event in the places of `{data.id}`; raise `Missing` for one that is not there."""
    return _IN_TEXT.sub(lambda part: _written(root, part[1]), template)


def found(root: Any, path: str) -> Any:
    """Return the value at a dotted path; a number names an entry of a list."""
    value = root
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and len(part) < 7 and int(part) < len(value):
            value = value[int(part)]
        else:
            raise Missing(path)
    return value


def _written(root: Mapping[str, Any], path: str) -> str:
    value = found(root, path)
    if value is None or isinstance(value, (dict, list)):
        raise Missing(path)
    return str(value).lower() if isinstance(value, bool) else str(value)


def check(template: Any, roots: Collection[str]) -> None:
    """Raise `UsageError` for a path in a template that begins with none of these."""
    for path in _paths(template):
        _check(path, f"{VALUE}{path}", roots)


def check_text(template: Any, roots: Collection[str]) -> None:
    """Raise `UsageError` for a text whose paths begin with none of these."""
    if not isinstance(template, str):
        raise UsageError(f"{template!r:.60}: give a text, such as invoice-{{data.id}}")
    for part in _IN_TEXT.finditer(template):
        _check(part[1], part[0], roots)
    if "{" in _IN_TEXT.sub("", template) or "}" in _IN_TEXT.sub("", template):
        raise UsageError(f"{template!r:.60}: a brace is not closed; write {{data.id}}")


def _paths(template: Any) -> Iterator[str]:
    if isinstance(template, (dict, list)):
        for each in template.values() if isinstance(template, dict) else template:
            yield from _paths(each)
    elif isinstance(template, str) and template.startswith(VALUE):
        yield template[2:]


def _check(path: str, written: str, roots: Collection[str]) -> None:
    parts = path.split(".")
    if len(path) > LONGEST or not path.isprintable() or not all(parts):
        raise UsageError(f"{written!r:.60}: write names with a dot between them, such as {VALUE}data.id")
    if parts[0] not in roots:
        there = ", ".join(roots)
        raise UsageError(f"{written!r:.60}{did_you_mean(parts[0], roots)}: a path begins with one of {there}")

"""Fields of a payload: the rule that names some, and their values as one text. Keys are made by such rules."""

from __future__ import annotations

from .errors import InvalidPayload, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

MOST = 500  # characters of a text made from fields
hashed: Callable[[str], str] | None = None  # in an encrypted installation, what stands for a text made from a payload


class by:  # noqa: N801  (users write it as a word: key=by("customer.id"))
    """Names fields of the payload, each by a dotted path: `by("requirementId")`, `by("customer.id", "day")`."""

    __slots__ = ("paths",)

    def __init__(self, *paths: str) -> None:
        if not paths:
            raise UsageError(
                "by() needs a field: by('id') or by('customer.id', 'day'); by_payload is the whole payload"
            )
        self.paths = tuple(map(_checked, paths))

    def text(self, type: str, payload: str) -> str:
        """Return the fields of a payload, given as JSON, as one text: the same for the same values.

        One field gives its value as people write it, several a JSON array, the whole payload its hash. Raises
        `InvalidPayload` where the payload of this type lacks a field.
        """
        return sealed(self.plain(type, payload))

    def plain(self, type: str, payload: str) -> str:
        """Return the same text as it is, also in an encrypted installation: for what is not stored."""
        if not self.paths:
            from .payload import fingerprint

            return fingerprint(payload)
        values = [_scalar(type, payload, path) for path in self.paths]
        found = values[0] if len(values) == 1 and isinstance(values[0], str) else _json(values)
        if not found or len(found) > MOST or not found.isprintable():
            _refuse(
                self.paths[0],
                type,
                f"is {found[:40]!r}, but a key has 1 to {MOST} printable characters: use by_payload",
            )
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, by) and other.paths == self.paths

    def __hash__(self) -> int:
        return hash(self.paths)

    def __repr__(self) -> str:
        return f"by({', '.join(map(repr, self.paths))})" if self.paths else "by_payload"


def sealed(text: str) -> str:
    """Return a text made from a payload as it may be stored."""
    return text if hashed is None else hashed(text)


def rule(paths: tuple[str, ...] | list[str]) -> by:
    """Return the rule with these paths; without any, the one of the whole payload."""
    made = by.__new__(by)
    made.paths = tuple(paths)
    return made


by_payload = rule(())


def field(payload: str, path: str) -> Any:
    """Return the value at a dotted path in a payload, given as JSON; raise `LookupError` if there is none."""
    from .payload import loads

    found = loads(payload)
    for name in path.split("."):
        found = (found if isinstance(found, dict) else {})[name]
    return found


def _checked(path: Any) -> str:
    """Return a path if it can name a field; else raise."""
    if not isinstance(path, str):
        raise UsageError(f"by({path!r}): a field is named by a text, such as by('id') or by('customer.id')")
    if len(path) > MOST or not path.isprintable() or not all(path.split(".")):
        raise UsageError(
            f"by({path[:40]!r}): write names with a dot between them, such as by('id') or by('customer.id')"
        )
    return path


def _scalar(type: str, payload: str, path: str) -> Any:
    """Return a field that can be a part of a text, or raise an error that says why it cannot."""
    try:
        found = field(payload, path)
    except LookupError:
        _refuse(path, type, "is missing: send it, or name another field" + _names(payload))
    if isinstance(found, (dict, list)):
        kind, other = ("an object", "a field inside of it") if isinstance(found, dict) else ("a list", "another field")
        _refuse(path, type, f"is {kind}: name {other}, or use by_payload")
    if found is None:
        _refuse(path, type, "is null: send a value, or name another field")
    return found


def _refuse(path: str, type: str, why: str) -> NoReturn:
    raise InvalidPayload(f"by({path!r}): the field {path!r} in the payload of {type} {why}")


def _names(payload: str) -> str:
    """Return the names that the payload has, for an error."""
    from .payload import loads

    found = loads(payload)
    names = ", ".join(list(found)[:8]) if isinstance(found, dict) else ""
    return f"; the payload has {names or 'no fields'}"


def _json(values: list[Any]) -> str:
    import json

    return json.dumps(values[0] if len(values) == 1 else values, ensure_ascii=False, separators=(",", ":"))

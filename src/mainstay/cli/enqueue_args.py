"""Parses the type, arguments and options of `mainstay enqueue`, for `fast_enqueue` and the full command.

`k=v`: a value that is valid JSON (a number, true, null, a list …) is parsed; anything else is text. An argument that the
type declares as `str` is always text. `k='"7"'` is always the text 7.
"""

from __future__ import annotations

from ..core.errors import SchemaMismatch, UsageError
from .exits import Hint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ..app import Mainstay
    from ..core.job import TypeInfo
    from ..handle import Handle

_TEXT = ("str", "str | None", "None | str", "Optional[str]")
_NAMES = {"in": "delay", "tag": "tags", "attempts": "retry"}


def send(
    app: Mainstay, type: str, words: Sequence[str], given: Mapping[str, Any], own: Iterable[TypeInfo] = (),
    force: bool = False,
) -> Handle[Any]:  # fmt: skip
    """Check the words against the registered types and the `own` ones, then enqueue."""
    known = known_types(app) | {info.name: info for info in own}
    if type not in known and known and not force:
        _check_name(type, known, words)
    payload = read(type, words, known.get(type))
    return app.enqueue(type, payload, **options(given))


def known_types(app: Mainstay) -> dict[str, TypeInfo]:
    """Return the types that workers have registered."""
    try:
        return {info.name: info for info in app.store.types()}
    except SchemaMismatch:  # the file has no tables yet; the enqueue itself refuses a schema that is too new
        return {}


def _check_name(type: str, known: Mapping[str, TypeInfo], words: Sequence[str]) -> None:
    from ..core.suggest import closest

    near = closest(type, known)
    if near is not None:
        raise Hint(
            f'no worker has ever served a job type "{type}" (did you mean "{near}"?); --force enqueues it anyway',
            " ".join(["mainstay enqueue", near, *words]),
        )


def read(type: str, words: Sequence[str], info: TypeInfo | None) -> dict[str, Any]:
    """Return the payload from `k=v` words, `-` (JSON on stdin) or `@file`."""
    if len(words) == 1 and (words[0] == "-" or words[0].startswith("@")):
        payload = _document(words[0])
    else:
        declared = parameters(info.signature) if info else {}
        payload = dict(_pair(word, declared) for word in words)
    if info is not None:
        _check_arguments(type, payload, info.signature, words)
    return payload


def _pair(word: str, declared: Mapping[str, tuple[str, bool]]) -> tuple[str, Any]:
    name, equals, text = word.partition("=")
    if not equals or not name:
        raise Hint(f"{word!r}: arguments are written name=value", f"mainstay enqueue TYPE name={word or 'value'}")
    return name, value(text, declared.get(name, ("", False))[0])


def value(text: str, annotation: str = "") -> Any:
    """Return a value of the command line: parsed if it is JSON, else as text."""
    if annotation in _TEXT and (text != "null" or annotation == "str"):
        return text
    import json

    try:
        return json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text


def _not_json(word: str) -> Any:
    raise ValueError(word)  # NaN and Infinity are text


def _document(word: str) -> dict[str, Any]:
    import json
    import sys

    try:
        text = sys.stdin.read() if word == "-" else _contents(word[1:])
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{word}: the arguments are not JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f'{word}: the arguments must be a JSON object like {{"path": "a.png"}}')
    return found


def _contents(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"@{path}: the file cannot be read: {error.strerror}") from None


# Arguments against the signature --------------------------------------------------------------------------------------


def parameters(signature: str) -> dict[str, tuple[str, bool]]:
    """Return name → (annotation, required) of a signature such as `name(path: str, width: int = 800)`."""
    return {_name(part): (_annotation(part), "=" not in part) for part in _parts(signature) if part[0] not in "*/"}


def _parts(signature: str) -> list[str]:
    inside = signature[signature.find("(") + 1 : signature.rfind(")")]
    return [part.strip() for part in _split(inside) if part.strip()]


def _name(part: str) -> str:
    return part.partition("=")[0].partition(":")[0].strip()


def _annotation(part: str) -> str:
    return part.partition(":")[2].partition("=")[0].strip()


def _split(text: str) -> list[str]:
    """Split at the commas outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        depth += (not quote) * ((character in "([{") - (character in ")]}"))
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _check_arguments(type: str, payload: Mapping[str, Any], signature: str, words: Sequence[str]) -> None:
    declared = parameters(signature)
    takes_more = any(part.startswith("**") for part in _parts(signature))
    for name in payload:
        if name not in declared and not takes_more:
            raise _no_argument(type, name, signature, words)
    missing = [name for name, (_, required) in declared.items() if required and name not in payload]
    if missing:
        again = " ".join(["mainstay enqueue", type, *words, *(f"{name}=…" for name in missing)])
        raise Hint(f"{type} needs {', '.join(missing)}\n{signature}", again)


def _no_argument(type: str, name: str, signature: str, words: Sequence[str]) -> Hint:
    from ..core.suggest import closest

    near = closest(name, parameters(signature))
    hint = f' (did you mean "{near}"?)' if near else ""
    corrected = [f"{near}{word[len(name) :]}" if word.startswith(f"{name}=") else word for word in words]
    kept = corrected if near else [word for word in words if not word.startswith(f"{name}=")]
    return Hint(f'{type} has no argument "{name}"{hint}\n{signature}', " ".join(["mainstay enqueue", type, *kept]))


# Options --------------------------------------------------------------------------------------------------------------


def options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the command as `app.enqueue` takes them."""
    found = {_NAMES.get(name, name): word for name, word in given.items() if word not in (None, ())}
    if "priority" in found:
        found["priority"] = _whole("--priority", found["priority"], -1000, 1000)
    if "retry" in found:
        found["retry"] = _whole("--attempts", found["retry"], 1, 1_000_000)
    if "delay" in found:
        found["delay"] = duration("--in", found["delay"])
    if "at" in found:
        found["at"] = _instant(found["at"])
    return found


def duration(flag: str, text: str) -> float:
    """Return a duration in seconds, from `90s 5m 2h 3d` or a number of seconds."""
    from ..core.clock import milliseconds

    try:
        return milliseconds(float(text) if text.replace(".", "", 1).isdecimal() else text) / 1000
    except (ValueError, OverflowError):
        raise UsageError(f"{flag} {text!r} is not a duration; write 90s, 5m, 2h or 3d") from None


def _whole(flag: str, text: str, low: int, high: int) -> int:
    digits = text.removeprefix("-")
    if not digits.isdecimal() or len(digits) > 9 or not low <= int(text) <= high:
        raise UsageError(f"{flag} {text!r} is not a whole number from {low:,} to {high:,}")
    return int(text)


def _instant(text: str) -> str:
    """Return an instant with its time zone; one without a zone is local time."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"--at {text!r} is not an instant; write 2026-01-31T09:30 (local) or 2026-01-31T09:30Z"
        ) from None

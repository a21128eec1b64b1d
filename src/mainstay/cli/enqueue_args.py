"""Parses the type, arguments and options of `mainstay enqueue`, for `fast_enqueue` and the full command.

`k=v`: a value that is valid JSON (a number, true, null, a list …) is parsed; anything else is text. An argument that the
type declares as `str` is always text. `k='"7"'` is always the text 7.
"""

from __future__ import annotations

from ..core.errors import Conflict, SchemaMismatch, UsageError
from ..stores import MOVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from ..app import Mainstay
    from ..core.job import TypeInfo
    from ..handle import Handle
    from ..stores.contract import Store

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
        _check_open(app.store)
        return {info.name: info for info in app.store.types()}
    except SchemaMismatch:  # the file has no tables yet; the enqueue itself refuses a schema that is too new
        return {}


def _check_open(store: Store) -> None:
    """Raise if the jobs of this store have moved: no worker would run another one."""
    if store.setting(MOVED) is not None:
        from ..stores.move import closed

        raise Conflict(closed(store) or "")


def _check_name(type: str, known: Mapping[str, TypeInfo], words: Sequence[str]) -> None:
    from ..core.suggest import closest

    near = closest(type, known)
    if near is not None:
        why = f'no worker has ever served a job type "{type}" (did you mean "{near}"?); --force enqueues it anyway'
        raise UsageError(why, " ".join(["mainstay enqueue", near, *words]))


def read(type: str, words: Sequence[str], info: TypeInfo | None) -> dict[str, Any]:
    """Return the payload from `k=v` words, `-` (JSON on stdin) or `@file`."""
    if len(words) == 1 and (words[0] == "-" or words[0].startswith("@")):
        payload = _document(words[0])
    else:
        declared = parameters(info.signature) if info else {}
        payload = dict(_pair(type, word, declared) for word in words)
    if info is not None:
        _check_arguments(type, payload, info.signature, words)
    return payload


def _pair(type: str, word: str, declared: Mapping[str, tuple[str, bool]]) -> tuple[str, Any]:
    name, equals, text = word.partition("=")
    if not equals or not name:
        takes = f"; {type} takes {', '.join(declared)}" if declared else ""
        again = f"mainstay enqueue {type} {next(iter(declared), 'name')}={word or 'value'}"
        raise UsageError(f"{word!r}: arguments are written name=value{takes}", again)
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

    try:
        with open(0 if word == "-" else word[1:], encoding="utf-8", closefd=word != "-") as file:
            found = json.load(file)
    except OSError as error:
        raise UsageError(f"{word}: the file cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{word}: the arguments are not JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f'{word}: the arguments must be a JSON object like {{"path": "a.png"}}')
    return found


def parameters(signature: str) -> dict[str, tuple[str, bool]]:
    """Return name → (annotation, required) of a signature such as `name(path: str, width: int = 800)`."""
    found = {}
    for part in _parts(signature):
        declared, default, _ = part.partition("=")
        name, _, annotation = declared.partition(":")
        found[name.strip()] = annotation.strip(), not default
    return {name: about for name, about in found.items() if name[0] not in "*/"}


def _parts(signature: str) -> list[str]:
    """Split the parameters at the commas outside brackets and quotes."""
    inside = signature[signature.find("(") + 1 : signature.rfind(")")]
    parts, depth, quote = [""], 0, ""
    for character in inside:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        depth += (not quote) * ((character in "([{") - (character in ")]}"))
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _check_arguments(type: str, payload: Mapping[str, Any], signature: str, words: Sequence[str]) -> None:
    declared = parameters(signature)
    takes_more = any(part.startswith("**") for part in _parts(signature))
    for name in payload:
        if name not in declared and not takes_more:
            raise _no_argument(type, name, signature, words)
    missing = [name for name, (_, required) in declared.items() if required and name not in payload]
    if missing:
        again = " ".join(["mainstay enqueue", type, *words, *(f"{name}=…" for name in missing)])
        raise UsageError(f"{type} needs {', '.join(missing)}\n{signature}", again)


def _no_argument(type: str, name: str, signature: str, words: Sequence[str]) -> UsageError:
    from ..core.suggest import closest

    near = closest(name, parameters(signature))
    hint = f' (did you mean "{near}"?)' if near else ""
    corrected = [f"{near}{word[len(name) :]}" if word.startswith(f"{name}=") else word for word in words]
    kept = corrected if near else [word for word in words if not word.startswith(f"{name}=")]
    return UsageError(
        f'{type} has no argument "{name}"{hint}\n{signature}', " ".join(["mainstay enqueue", type, *kept])
    )


def taken(given: Mapping[str, Any]) -> str:
    """Return what to say where the key was taken: one that the command gives, or one that the type declares."""
    key = given.get("key")
    return f"nothing new: this job has {f'the key {key!r}' if key else 'its key'} already"


def options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the command as `app.enqueue` takes them."""
    parse: dict[str, Callable[[Any], Any]] = {
        "priority": lambda word: whole("--priority", word, -1000, 1000), "at": lambda word: instant("--at", word),
        "attempts": lambda word: whole("--attempts", word, 1, 1_000_000), "in": lambda word: duration("--in", word),
        "period": lambda word: duration("--period", word),
    }  # fmt: skip
    return {
        _NAMES.get(name, name): parse[name](word) if name in parse else word
        for name, word in given.items() if word not in (None, ())
    }  # fmt: skip


def duration(flag: str, text: str, other: str = "") -> float:
    """Return a duration in seconds, from `90s 5m 2h 3d` or a number of seconds. `other` is a word that the option takes too."""
    from ..core.clock import milliseconds

    try:
        return milliseconds(float(text) if text.replace(".", "", 1).isdecimal() else text) / 1000
    except (ValueError, OverflowError):
        forms = f"90s, 5m, 2h, 3d or {other}" if other else "90s, 5m, 2h or 3d"
        raise UsageError(f"{flag} {text!r} is not a duration; write {forms}") from None


def whole(flag: str, text: str, low: int, high: int) -> int:
    """Return a whole number between two bounds."""
    digits = text.removeprefix("-")
    if not digits.isdecimal() or len(digits) > 9 or not low <= int(text) <= high:
        raise UsageError(f"{flag} {text!r} is not a whole number from {low:,} to {high:,}")
    return int(text)


def instant(flag: str, text: str) -> str:
    """Return an instant with its time zone; one without a zone is local time."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).astimezone().isoformat()
    except (ValueError, OverflowError, OSError):
        how = "write 2026-01-31T09:30 (local) or 2026-01-31T09:30Z"
        raise UsageError(f"{flag} {text!r} is not an instant; {how}") from None

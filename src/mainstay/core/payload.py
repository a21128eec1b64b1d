"""Payloads and results as text: JSON that every engine can store and every producer can write.

On the cold path of an untyped enqueue, so it imports `json` and what that brings. `schema` holds the typed half.
"""

from __future__ import annotations

import json

from .errors import InvalidPayload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

MAX_BYTES = 1 << 20  # of a payload, unless max_payload= says otherwise
DEPTH = 100  # the limit of nesting; parsers of other engines and languages allow little more
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_ZERO = ord("0")
_LONG = "0" * 19  # the shortest integer that may not fit 64 bits
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))

_INSTEAD = {
    **dict.fromkeys(("bytes", "bytearray"), "base64 text"),
    **dict.fromkeys(("date", "datetime", "time"), "value.isoformat()"),
    **dict.fromkeys(("Decimal", "UUID"), "str(value)"),
    **dict.fromkeys(("set", "frozenset"), "sorted(value) or list(value)"),
    **dict.fromkeys(("generator", "deque"), "list(value)"),
    "timedelta": "value.total_seconds()",
    "mappingproxy": "dict(value)",
    "coroutine": "what it returns when awaited",
}
_ANNOTATE = "annotate the parameter with its type and enqueue through the job"
_INSTEAD_OF_HAVING = {
    "__fspath__": "str(value)",
    "__members__": "value.value",  # of an Enum's class
    "tolist": "value.tolist()",  # of numpy, pandas, torch
    "model_dump": f'value.model_dump(mode="json"), or {_ANNOTATE}',
    "__dataclass_fields__": f"a dict, or {_ANNOTATE}",
    "__struct_fields__": f"a dict, or {_ANNOTATE}",
}


def encode(payload: Mapping[str, Any], limit: int = MAX_BYTES) -> str:
    """Return the payload as compact JSON in the given order; raise `InvalidPayload` that names the value and the remedy."""
    if not hasattr(payload, "keys") or not hasattr(payload, "__getitem__"):
        raise InvalidPayload(f"a payload is a dict from argument names to values, not {type(payload).__name__}")
    if type(payload) is not dict:
        payload = dict(payload)
    try:
        text = _ENCODE(payload)
        data = text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        Walk().value(payload, "payload")
        raise InvalidPayload(f"the payload is not JSON: {error}") from error
    if suspect(text, data, limit, plain=True):
        check_size(data, limit)
        Walk().value(payload, "payload")
    return text


def decode_result(text: str | None) -> Any:
    """Return what `codec.encode_result` wrote, as plain JSON values."""
    return None if text is None else loads(text, "result")


def fingerprint(text: str) -> str:
    """Return the same 32 characters for the same payload, whatever the order of its keys."""
    from hashlib import blake2b

    value = loads(text)
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return blake2b(canonical.encode(), digest_size=16).hexdigest()


def clean(text: str, limit: int) -> str:
    """Return the text as every store can hold it: no NUL, no lone surrogate (U+FFFD instead), at most `limit` characters."""
    if len(text) > limit:
        text = _cut(text, limit)
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def suspect(text: str, data: bytes, limit: int, plain: bool = False) -> bool:
    """Return whether the JSON may hold what is not allowed. It is fast; only a False is certain."""
    if len(data) > limit or ("\\" in text and "\\u0000" in text) or (len(data) > 2 * DEPTH and _deep(text)):
        return True
    if not plain and _ZERO not in data[18::19].translate(_DIGITS):  # a run of 19 digits has one at one of these places
        return False
    zeros = data.translate(_DIGITS).decode("latin-1")  # every digit a 0, so that one search finds any run of digits
    if _LONG in zeros:
        return True
    # Plain JSON only: `json` turns keys such as 1, None and True into texts without an error.
    return plain and ('0":' in zeros or '"null":' in text or '"true":' in text or '"false":' in text)


def check_size(data: bytes, limit: int, what: str = "payload") -> None:
    """Raise when the JSON is larger than the limit."""
    if len(data) > limit:
        way_out = "pass a reference to it, or raise max_payload=" if what == "payload" else "return a reference to it"
        raise InvalidPayload(
            f"the {what} has {len(data):,} bytes of JSON, the limit is {limit:,}: store the data elsewhere "
            f"(a file, a table, object storage) and {way_out}"
        )


class Walk:
    """Walks a value and refuses, with its exact place, what plain JSON cannot hold. Returns the value as JSON.

    Slow, so only for values under suspicion. `codec` derives one that knows typed values and one that mends.
    """

    verb = "pass"

    def value(self, value: Any, path: str, depth: int = 0) -> Any:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self.text(value, path)
        if isinstance(value, int):
            return self.integer(value, path)
        if isinstance(value, float):
            return self.number(value, path)
        return self.container(value, path, depth + 1)

    def container(self, value: Any, path: str, depth: int) -> Any:
        if depth > DEPTH:
            refuse(path, f"is nested more than {DEPTH} levels deep, or contains itself: {self.verb} a flatter value")
        if isinstance(value, dict):
            return {self.key(name, path): self.value(item, path + step(name), depth) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item, f"{path}[{place}]", depth) for place, item in enumerate(value)]
        return self.other(value, path, depth)

    def text(self, value: str, path: str) -> str:
        if "\0" in value:
            refuse(path, f'has a NUL character at {value.index(chr(0))}, which stores refuse: value.replace("\\0", "")')
        try:
            value.encode()
        except UnicodeEncodeError as error:
            why = f"has a lone surrogate at {error.start}, so it is not text"
            refuse(path, why + ': value.encode("utf-8", "replace").decode(), or read its source in the right encoding')
        return value

    def integer(self, value: int, path: str) -> Any:
        if not INT_MIN <= value <= INT_MAX:
            refuse(path, "is an integer beyond 64 bits, which other readers round: pass it as text")
        return value

    def number(self, value: float, path: str) -> float | None:
        if not -1.8e308 < value < 1.8e308:  # false for nan too
            refuse(path, f"is {value}, and JSON has no such number: pass None, or leave it out")
        return value

    def key(self, key: Any, path: str) -> str:
        if not isinstance(key, str):
            refuse(path, f"has the key {key!r:.40} ({type(key).__name__}): keys are text in JSON; use str(key)")
        return self.text(key, path + step(key))

    def other(self, value: Any, path: str, depth: int) -> Any:
        kind = type(value)
        known = (way for name, way in _INSTEAD_OF_HAVING.items() if hasattr(kind, name))
        instead = _INSTEAD.get(kind.__name__) or next(
            known, "text, numbers, lists and dicts, such as the id to load it by"
        )
        refuse(path, f"is of type {kind.__name__}, which JSON cannot carry: {self.verb} {instead}")


def step(key: Any) -> str:
    """Return one step of a path: `.price`, or `['unit price']`."""
    if isinstance(key, str) and key.isidentifier():
        return f".{key}"
    return f"[{clean(key, 40) if isinstance(key, str) else key!r:.40}]"


def refuse(path: str, why: str) -> NoReturn:
    """Raise `InvalidPayload` about one place."""
    raise InvalidPayload(f"{clean(path, 100)} {why}")


def _deep(text: str) -> bool:
    """Return whether the nesting exceeds the limit: remove the innermost brackets, level by level, without parsing."""
    # A flat object is recognised by searching for one character, which is much faster than counting it.
    if ("[" not in text and text.find("{", 1) < 0) or text.count("[") + text.count("{") <= DEPTH:
        return False
    outside = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])  # brackets in strings do not nest
    shape = outside.encode().translate(_BRACKETS, _NOT_BRACKETS)
    for _ in range(DEPTH):
        if not shape:
            return False
        shape = shape.replace(b"[]", b"")
    return bool(shape)


def _cut(text: str, limit: int) -> str:
    """Return the start and the end of a text, with a mark between them that says how much is missing."""
    kept = limit - len(f"… [{len(text)} characters left out] …")
    if kept <= 0:
        return text[:limit]
    head, tail = kept - kept // 2, kept // 2
    return f"{text[:head]}… [{len(text) - kept} characters left out] …{text[len(text) - tail :]}"


def loads(text: str, what: str = "payload") -> Any:
    """Return the value of a stored JSON text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        from .keyring import MARK

        if text.startswith(MARK):
            raise InvalidPayload(
                f"the stored {what} is encrypted, and cannot be decrypted here: its key is missing, or it is damaged",
                "mainstay encryption",
            ) from None
        raise InvalidPayload(f"the stored {what} is not readable JSON: {error}") from error


def readable(text: str) -> Any:
    """Return the value of a stored JSON text for people; the text itself if it cannot be read: what is damaged stays visible."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

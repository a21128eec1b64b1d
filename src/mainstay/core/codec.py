"""Typed values to JSON and back: the only module that knows msgspec. Imported when a type or a result needs it.

Models of pydantic are recognised by their methods, `model_validate_json` and `model_dump`; it is never imported.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from .annotations import is_plain
from .errors import InvalidPayload
from .payload import INT_MAX, INT_MIN, Walk, check_size, clean, refuse, suspect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_RESULT = 10 << 20  # bytes of JSON
SHORT = 200  # characters
UNSET = msgspec.UNSET
_CLOCKS, _MINUTE, _NO_OFFSET = (datetime, time), timedelta(minutes=1), timedelta()
_OFFSET = re.compile(r"[0-9][+-][0-9]{2}:[0-9]{2}\"")  # the end of a time with a UTC offset, whose seconds may be cut
_RISKY = re.compile(r'[0-9](?:[0-9]{18}|[+-][0-9]{2}:[0-9]{2}")')  # in JSON: a long integer, a time with a UTC offset
_DIGITS = frozenset("0123456789")
_asdict = msgspec.structs.asdict


class Codec:
    """Reads and writes the JSON object of one function's arguments, strictly. Arguments that are not given are left out."""

    def __init__(self, name: str, hints: Mapping[str, Any], required: frozenset[str], rest: Any = None) -> None:
        types = {field: _readable(hint) for field, hint in hints.items()}
        fields = [(field, hint) if field in required else (field, hint, UNSET) for field, hint in types.items()]
        self.struct = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=rest is None)
        self._optional = tuple(field for field in hints if field not in required)
        self._plain = frozenset(field for field, hint in hints.items() if is_plain(hint))
        self._decode = msgspec.json.Decoder(self.struct, dec_hook=_load).decode
        self._rest = None if rest is None else decoder(dict[str, rest])

    def load(self, text: str | bytes) -> dict[str, Any]:
        """Return the arguments; raise what msgspec, or a type's own validation, raises."""
        given: dict[str, Any] = _asdict(self._decode(text))
        for field in self._optional:
            if given[field] is UNSET:
                del given[field]
        if self._rest is not None:
            raw = _RAW.decode(text).items()
            given.update(self._rest(_PAYLOAD.encode({name: value for name, value in raw if name not in given})))
        return given

    def dump(self, given: dict[str, Any], limit: int) -> str:
        """Return JSON that loads as the same arguments; raise what `load` raises, or `InvalidPayload`.

        Writing and reading again is cheaper than checking, and proves the point: what the handler would get equals
        what was given. Only when it does not (a tuple became a list, a NaN became null) is every value looked at.
        """
        try:
            data = _PAYLOAD.encode(given)
            back = self.load(data)
        except MemoryError:
            raise
        except Exception:
            Typed(_open_argument).value(given, "payload")  # its message is better, if the values are the problem
            raise
        text = data.decode()
        if not _same(back, given) or suspect(text, data, limit):
            check_size(data, limit)
            self._examine(given, back)
        return text

    def _examine(self, given: dict[str, Any], back: dict[str, Any]) -> None:
        """Raise unless the values themselves, not only their JSON, have their declared types."""
        Typed(_open_argument).value(given, "payload")
        declared = {name: value for name, value in given.items() if name in self.struct.__struct_fields__}
        msgspec.convert(declared, self.struct, strict=True, str_keys=True, dec_hook=_load)
        for name, value in given.items():
            if name in self._plain:
                Walk().value(value, f"payload.{name}")
            elif _mistaken(value, back[name]):
                kinds = f"{type(value).__name__} and {type(back[name]).__name__}"
                refuse(
                    f"payload.{name}", f"can be {kinds}, which JSON does not tell apart: give them fields that differ"
                )
            elif not _survived(value, back[name]):
                refuse(f"payload.{name}", "loses data in JSON (a secret, an excluded field?): pass that part as text")

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, definitions included."""
        nested: dict[str, Any] = {}
        made = msgspec.json.schema(self.struct, schema_hook=lambda kind: _model_schema(kind, nested))
        definitions: dict[str, Any] = made.pop("$defs")
        top: dict[str, Any] = definitions.pop(made["$ref"].rpartition("/")[2])
        definitions.update(nested)
        return top | ({"$defs": definitions} if definitions else {})


def decoder(hint: Any) -> Callable[[str | bytes], Any]:
    """Return a function that reads JSON as a value of this type; raise `TypeError` if no JSON can be one."""
    decode: Callable[[str | bytes], Any] = msgspec.json.Decoder(_readable(hint), dec_hook=_load).decode
    return decode


def encode_result(value: Any, limit: int = MAX_RESULT) -> str | None:
    """Return as JSON what a handler returned, None for None; models, dataclasses, dates and the like included.

    What no store can hold is replaced, so that a job always ends: NaN and infinities become null; NUL characters and lone
    surrogates become U+FFFD; integers beyond 64 bits become text. What is not data at all raises `InvalidPayload`.
    """
    if value is None:
        return None
    data = b""
    try:
        data = _RESULT.encode(value)
        text = data.decode()
        if not suspect(text, data, limit) and not _OFFSET.search(text):
            return text
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001, S110 - a model's own code may raise anything; the walk below finds out where
        pass
    check_size(data, limit, "result")
    data = _RESULT.encode(Mend(_open).value(value, "result"))
    check_size(data, limit, "result")
    return data.decode()


def is_simple(text: str) -> bool:
    """Return whether `encode_simple` wrote what `encode_result` does. It is fast; only a True is certain."""
    if len(text) > SHORT or "\\u" in text:  # a NUL, among others
        return False
    # Most texts have none of these. The search alone takes longer than all the rest.
    may_match = "+" in text or "-" in text or not _DIGITS.isdisjoint(text[18::19])
    return not (may_match and _RISKY.search(text))


def reason(error: Exception) -> str:
    """Return what an error of msgspec means, with the place: `payload.width: expected int, got str`."""
    if isinstance(error, InvalidPayload):
        return str(error)
    text, _, where = (str(error) or type(error).__name__).partition(" - at `")
    place = where.rpartition("$")[2].rstrip("`")
    text = text.replace("`", "")
    if text.startswith(("Expected", "Object", "Invalid")):
        text = text[0].lower() + text[1:]
    return f"payload{place}: {text}"


class Typed(Walk):
    """A walk that also visits dataclasses, models, dates and everything else that msgspec or a hook can write."""

    def __init__(self, hook: Callable[[Any], Any]) -> None:
        self._hook = hook

    def key(self, key: Any, path: str) -> str:
        return self.text(key if isinstance(key, str) else self._written_key(key, path), path)

    def other(self, value: Any, path: str, depth: int) -> Any:
        kind = type(value)
        if isinstance(value, _CLOCKS):
            return self.clock(value, path)
        if isinstance(value, (set, frozenset)):
            return self.value(list(value), path, depth - 1)
        names: Any = getattr(kind, "__struct_fields__", None) or getattr(kind, "__dataclass_fields__", ())
        for name in names:  # first, for the path in errors; then as msgspec writes it, with renamed fields and tags
            self.value(getattr(value, name, None), f"{path}.{name}", depth)
        return self.value(self._written(value, path, depth), path, depth - 1)

    def clock(self, value: Any, path: str) -> str:
        """Return a time or datetime as text. Its offset is cut to minutes, which would make it another instant."""
        if _uneven(value):
            refuse(
                path,
                "has a UTC offset with seconds, which JSON dates cannot carry: pass value.astimezone(timezone.utc)",
            )
        return str(msgspec.to_builtins(value))

    def _written(self, value: Any, path: str, depth: int) -> Any:
        try:
            return msgspec.to_builtins(value, str_keys=True, builtin_types=_CLOCKS, enc_hook=self._hook)
        except MemoryError:
            raise
        except NotImplementedError:
            return super().other(value, path, depth)
        except Exception as error:  # noqa: BLE001 - a model's own code may raise anything
            refuse(path, f"({type(value).__name__}) cannot be written as JSON: {type(error).__name__}: {error}")

    def _written_key(self, key: Any, path: str) -> str:
        try:
            return str(*msgspec.to_builtins({key: None}, str_keys=True, enc_hook=self._hook))
        except Exception:  # noqa: BLE001 - whatever it is, it cannot be a key
            return super().key(key, path)


class Mend(Typed):
    """A walk that replaces what a store cannot hold instead of refusing it."""

    verb = "return"

    def text(self, value: str, path: str) -> str:
        return clean(value, len(value))

    def clock(self, value: Any, path: str) -> str:
        return str(
            msgspec.to_builtins(value.astimezone(UTC) if isinstance(value, datetime) and _uneven(value) else value)
        )

    def number(self, value: float, path: str) -> float | None:
        return value if -1.8e308 < value < 1.8e308 else None

    def integer(self, value: int, path: str) -> Any:
        try:
            return value if INT_MIN <= value <= INT_MAX else str(value)
        except ValueError:  # Python's own limit: the time to write an integer grows with the square of its length
            refuse(path, f"is an integer of {value.bit_length():,} bits, too long to write: return hex(value)")


def _uneven(value: datetime | time) -> bool:
    return bool((value.utcoffset() or _NO_OFFSET) % _MINUTE)


def _survived(value: Any, back: Any) -> bool:
    """Return whether a model was read back unchanged: pydantic writes a secret as asterisks without an error."""
    models = hasattr(value, "model_dump") and hasattr(back, "model_dump")
    return not models or bool(value.model_dump() == back.model_dump())


def _same(back: dict[str, Any], given: dict[str, Any]) -> bool:
    try:
        return bool(back == given)
    except Exception:  # noqa: BLE001 - a user's __eq__ may do anything; then the models count as different
        return False


def _open(value: Any, **how: Any) -> Any:
    """Convert what msgspec cannot write to something that it can write; `how` is for a model of pydantic."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, **how)
    for plain, convert in _OF_SUBCLASSES.items():
        if isinstance(value, plain):
            return convert(value)
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    if hasattr(value, "keys") and hasattr(value, "__getitem__"):
        return dict(value)
    raise NotImplementedError


class _Any(type):
    def __instancecheck__(cls, value: object) -> bool:
        return True  # msgspec asks about what `load` returned


class Choice(metaclass=_Any):
    """A union that msgspec does not read, such as `Path | str` or one of two dataclasses: the base of a class for each."""

    choices: tuple[Any, ...]

    @classmethod
    def load(cls, value: Any) -> Any:
        """Return the value as the first choice that writes back the same, or else as the first that takes it."""
        found: list[Any] = []
        for choice in cls.choices:
            try:
                made = msgspec.convert(value, choice, strict=True, str_keys=True, dec_hook=_load)
            except (ValueError, TypeError):
                continue
            if msgspec.to_builtins(made, str_keys=True, enc_hook=_open_argument) == value:
                return made
            found.append(made)
        if not found:
            names = " | ".join(getattr(choice, "__name__", str(choice)) for choice in cls.choices)
            raise TypeError(f"expected {names}, got {type(value).__name__}")
        return found[0]


def _readable(hint: Any) -> Any:
    """Return a type as msgspec can read it: with a `Choice` in place of each union that it cannot."""
    parts = get_args(hint)
    if not parts or get_origin(hint) in (Literal, Annotated):
        return hint
    if get_origin(hint) in (Union, UnionType):
        try:
            msgspec.json.Decoder(hint, dec_hook=_load)
        except TypeError:
            return _Any("Choice", (Choice,), {"choices": tuple(map(_readable, parts))})
        return hint
    changed = tuple(part if part is ... else _readable(part) for part in parts)
    return hint if changed == parts else get_origin(hint)[changed]


def _mistaken(value: Any, back: Any) -> bool:
    """Return whether a model was read back as another: two classes of a union have the same fields."""
    names = ("__dataclass_fields__", "__struct_fields__", "model_dump")
    return type(value) is not type(back) and all(any(hasattr(each, name) for name in names) for each in (value, back))


def _load(kind: Any, value: Any) -> Any:
    """Return an instance of a type that msgspec does not know."""
    if isinstance(kind, type) and issubclass(kind, Choice):
        return kind.load(value)
    if not isinstance(kind, type):  # a callable, a generic protocol
        raise TypeError(f"{kind} is not a type that a payload can carry")
    if isinstance(value, kind):
        return value
    if hasattr(kind, "model_validate_json"):
        return _model(kind, value)
    make: Any = kind
    if isinstance(value, str) and (issubclass(kind, str) or hasattr(kind, "__fspath__")):
        return make(value)
    if isinstance(value, (int, float)) and issubclass(kind, type(value)):
        return make(value)
    raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")


def _model(kind: Any, value: Any) -> Any:
    try:
        return kind.model_validate_json(_PAYLOAD.encode(value))  # in JSON mode, even a strict model reads dates
    except ValueError as error:
        if not hasattr(error, "errors"):
            raise
        first = error.errors()[0]  # of pydantic's messages, on one line
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from error


def _model_schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if issubclass(kind, Choice):
        hook = partial(_model_schema, definitions=definitions)
        parts, found = msgspec.json.schema_components(kind.choices, schema_hook=hook, ref_template="#/$defs/{name}")
        definitions.update(found)
        return {"anyOf": list(parts)}
    if not hasattr(kind, "model_json_schema"):
        return {"type": "string", "format": "path"} if hasattr(kind, "__fspath__") else {"title": str(kind)}
    made: dict[str, Any] = kind.model_json_schema()
    definitions.update(made.pop("$defs", {}))
    return made


_OF_SUBCLASSES: dict[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}
_open_argument = partial(_open, round_trip=True, warnings=False)  # it is read back, so computed fields are left out
_PAYLOAD = msgspec.json.Encoder(enc_hook=_open_argument)
_RESULT = msgspec.json.Encoder(enc_hook=_open)
encode_simple = _RESULT.encode  # as `encode_result` where `is_simple`, in a fifth of its time
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
load_plain = msgspec.json.Decoder().decode

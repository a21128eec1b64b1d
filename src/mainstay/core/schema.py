"""A function's parameters as the schema of its payload. Built when first needed: a decorator must cost nothing."""

from __future__ import annotations

import json
import sys
from functools import cached_property

from .errors import InvalidPayload
from .payload import MAX_BYTES, decode_result
from .suggest import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from inspect import Parameter
    from typing import Any

    from .codec import Codec

_VARARGS = 4  # the flag of a code object whose function takes *args


class Schema:
    """What a function takes: binds, checks, writes and reads payloads. A payload is a JSON object by parameter name.

    Strict at both ends: "2" is not an int. Types are resolved at first use, or by `build()`, which raises `TypeError`
    when an annotation cannot be resolved or cannot travel as JSON; a worker calls it before it takes any job.
    """

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self._function = function
        self._codec: Codec | None = None
        self._locals = _names_around(function)
        code = getattr(function, "__code__", None)
        if code is None or code.co_flags & _VARARGS or code.co_posonlyargcount:
            self._parameters()  # raises, unless a decorator's *args stand in front of the real ones

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], limit: int = MAX_BYTES) -> str:
        """Return the payload of a call, as JSON text that `decode` accepts."""
        codec = self._codec or self.build()
        given = self._gather(args, kwargs)
        if not given and not self._required:
            return "{}"
        try:
            return codec.dump(given, limit)  # this finds wrong names too
        except MemoryError:  # not the payload's fault
            raise
        except Exception as error:
            self._check_names(given)
            raise self._invalid(error) from error

    def encode_mapping(self, mapping: Mapping[str, Any], limit: int = MAX_BYTES) -> str:
        """Return the payload of a mapping by parameter name, checked like a call."""
        if not hasattr(mapping, "keys") or not all(isinstance(name, str) for name in mapping):
            raise self._invalid("the payload must be a dict from argument names to values")
        return self.encode((), mapping, limit)

    def decode(self, text: str) -> dict[str, Any]:
        """Return the keyword arguments for the function, converted to its types; raise `InvalidPayload` if they do not fit."""
        codec = self._codec or self.build()
        if text == "{}" and not self._required:
            return {}
        try:
            return codec.load(text)
        except MemoryError:  # not the payload's fault
            raise
        except Exception as error:  # a type's own validation may raise anything
            raise self._unreadable(text, error) from error

    def decode_result(self, text: str | None) -> Any:
        """Return a result as the declared return type; as plain JSON if none is declared, or it does not fit."""
        try:
            return None if text is None else self._result(text)
        except (ValueError, TypeError):  # of older code, or of a handler that returns what it does not declare
            return decode_result(text)

    def check_result(self, text: str) -> None:
        """Raise `InvalidPayload` for a result that does not fit the declared return type."""
        from types import NoneType

        from .codec import decoder, reason

        if self._returns in (None, NoneType):  # a handler that always asks may declare that it returns nothing
            return
        try:
            read = decoder(self._returns)
        except TypeError:  # nothing that JSON can hold
            return
        try:
            read(text)
        except MemoryError:  # not the result's fault
            raise
        except Exception as error:  # a type's own validation may raise anything
            raise InvalidPayload(reason(error)) from error

    @cached_property
    def _result(self) -> Callable[[str], Any]:
        from .annotations import is_plain
        from .codec import decoder

        try:
            return decode_result if self._returns is None or is_plain(self._returns) else decoder(self._returns)
        except TypeError:  # nothing that JSON can hold
            return decode_result

    @cached_property
    def _returns(self) -> Any:
        """The declared return type; None: there is none, or it names what exists for type checkers only."""
        from inspect import Parameter, signature

        from .annotations import resolve

        try:
            hint = signature(self._function).return_annotation
            declared = Parameter("returns", Parameter.KEYWORD_ONLY, annotation=hint)
            return resolve(self._function, [declared], self._locals)["returns"]
        except (TypeError, NameError):
            return None

    @cached_property
    def signature(self) -> str:
        """The function as people call it: `resize(path: str, width: int = 800)`."""
        from .annotations import spell

        return self.name + spell(self._parameters())

    def json_schema(self) -> dict[str, Any]:
        """Return the payload as JSON Schema, with defaults that are plain values."""
        made = self.build().schema()
        for parameter in self._parameters():
            if type(parameter.default) in (str, int, float, bool):
                made["properties"][parameter.name]["default"] = parameter.default
        return made

    def build(self) -> Codec:
        """Resolve the annotations; raise `TypeError` if they cannot be a payload's. Safe to call again."""
        if self._codec is None:
            parameters = self._parameters()
            named = [each for each in parameters if each.kind != each.VAR_KEYWORD]
            self._positional = tuple(each.name for each in named if each.kind == each.POSITIONAL_OR_KEYWORD)
            self._required = tuple(each.name for each in named if each.default is each.empty)
            self._all = frozenset(each.name for each in named)
            self._accepts_more = len(named) < len(parameters)
            self._codec = self._compile(parameters)
        return self._codec

    def _compile(self, parameters: list[Parameter]) -> Codec:
        from .annotations import resolve
        from .codec import Codec

        try:
            types = resolve(self._function, parameters, self._locals)
            rest = types.pop(parameters[-1].name) if self._accepts_more else None
            title = self.name if self.name.isidentifier() else "payload"
            return Codec(title, types, frozenset(self._required), rest)
        except Exception as error:
            raise TypeError(f"{self.signature} cannot be a job: {error}") from error

    def _parameters(self) -> list[Parameter]:
        from inspect import signature

        try:
            parameters = list(signature(self._function).parameters.values())
        except NameError as error:  # from Python 3.14 on, annotations are evaluated when asked for
            raise TypeError(f"{self.name}: an annotation cannot be resolved: {error}") from error
        for each in parameters:
            if each.kind == each.VAR_POSITIONAL:
                raise TypeError(f"{self.name}(*{each.name}): a payload holds arguments by name; take a list instead")
            if each.kind == each.POSITIONAL_ONLY:
                raise TypeError(f"{self.name}({each.name}, /): a payload holds arguments by name; remove the '/'")
        return parameters

    def _gather(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if not args:
            return kwargs if type(kwargs) is dict else dict(kwargs)  # nothing below changes it
        most = len(self._positional)
        if len(args) > most:
            raise self._invalid(f"{self.name} takes {most} arguments by position, {len(args)} were given")
        given = dict(zip(self._positional, args, strict=False))
        for name in given.keys() & kwargs.keys():
            raise self._invalid(f'{self.name} got "{name}" twice, by position and by name')
        return {**given, **kwargs}

    def _check_names(self, given: Mapping[str, Any]) -> None:
        for name in () if self._accepts_more else given:
            if name not in self._all:
                near = did_you_mean(name, self._all - given.keys())
                raise self._invalid(f'{self.name} has no argument "{name}"{near}')
        for name in self._required:
            if name not in given:
                raise self._invalid(f'{self.name} needs the argument "{name}"')

    def _unreadable(self, text: str, error: Exception) -> InvalidPayload:
        """Return the error for a payload that did not decode: about its names, if those are wrong."""
        try:
            given = json.loads(text)
            if isinstance(given, dict):
                self._check_names(given)
        except InvalidPayload as better:
            return better
        except (ValueError, RecursionError):
            pass
        return self._invalid(error)

    def _invalid(self, why: str | Exception) -> InvalidPayload:
        if isinstance(why, Exception):
            from .codec import reason

            why = reason(why)
        return InvalidPayload(f"{why}\n  {self.signature}")


def _names_around(function: Callable[..., Any]) -> dict[str, Any] | None:
    """Return the local names that a function's annotations mention, if it is defined in another function.

    Under `from __future__ import annotations` they are only text, which cannot be resolved later.
    """
    if "<locals>" not in getattr(function, "__qualname__", ""):
        return None
    function = getattr(function, "__wrapped__", function)
    frame, code = sys._getframe(1), getattr(function, "__code__", None)  # noqa: SLF001 - `inspect` is too slow to import here
    while frame.f_back is not None and code not in frame.f_code.co_consts:
        frame = frame.f_back
    try:
        mentioned = " ".join(note for note in function.__annotations__.values() if isinstance(note, str))
    except (AttributeError, NameError):  # from Python 3.14 on they are evaluated here, and know their own names
        return {}
    return {name: value for name, value in frame.f_locals.items() if name in mentioned}

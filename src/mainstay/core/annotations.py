"""The annotations of a function: resolved to types, and written for people. Imported when a schema is built."""

from __future__ import annotations

import inspect
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_JSON = (Any, object, dict, list, str, int, float, bool, NoneType)


def resolve(
    function: Callable[..., Any], parameters: Sequence[inspect.Parameter], local: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the type of each parameter, `Any` where none is given; raise `TypeError` for an annotation that is not a type."""
    space = getattr(inspect.unwrap(function), "__globals__", {})
    return {each.name: _type(each, space, dict(local or {})) for each in parameters}


def is_plain(hint: Any) -> bool:
    """Return whether values of a type are plain JSON, so that a date in such a place would arrive as text."""
    if get_origin(hint) in (dict, list, Union, UnionType):
        return all(is_plain(part) for part in get_args(hint))
    return any(hint is plain for plain in _JSON)


class _Verbatim(str):
    """A text that `inspect` writes without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def spell(parameters: Sequence[inspect.Parameter]) -> str:
    """Return the parameters as people write them: `(path: str, width: int = 800)`."""
    empty = inspect.Parameter.empty
    return str(inspect.Signature([
        each.replace(
            annotation=empty if each.annotation is empty else _Verbatim(_name(each.annotation)),
            default=empty if each.default is empty else _Verbatim(_value(each.default)),
        )
        for each in parameters
    ]))  # fmt: skip


def _type(parameter: inspect.Parameter, space: dict[str, Any], local: dict[str, Any]) -> Any:
    def holder() -> None: ...

    if parameter.annotation is parameter.empty:
        return Any
    # One at a time, so that the error can name it. The annotation of the return value does not matter.
    holder.__annotations__ = {"value": parameter.annotation}
    try:
        return get_type_hints(holder, space, local, include_extras=True)["value"]
    except Exception as error:
        raise TypeError(
            f"the annotation {_name(parameter.annotation)!r} of {parameter.name} cannot be resolved ({error}): define that "
            "type in the module, above the function, and import it outside of `if TYPE_CHECKING:`"
        ) from error


def _name(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and not get_args(annotation):
        return "None" if annotation is NoneType else annotation.__qualname__.rpartition("<locals>.")[2]
    return repr(annotation).replace("typing.", "").replace("NoneType", "None")


def _value(default: Any) -> str:
    """Return a default value if it is short enough to read, else an ellipsis."""
    plain = default is None or isinstance(default, (str, int, float, bool, list, dict, tuple))
    text = repr(default) if plain else ""
    return text if 0 < len(text) <= 40 else "…"

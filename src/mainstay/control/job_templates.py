"""The job that an event creates: its type, its arguments and options, with values of the event in their places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..core import templates
from ..core.errors import InvalidPayload, UsageError
from ..core.fields import sealed
from ..core.payload import encode, loads, readable
from ..core.suggest import did_you_mean
from ..options import Options, checked_name
from .rules import check_type

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..app import Mainstay
    from ..core.draft import Draft

TEMPLATES = ("key", "tenant", "ref")  # options that may have values of the event in them
NAMES = ("queue", "priority", "delay", "tags", *TEMPLATES)


def checked(app: Mainstay, type: Any, args: Any, options: Mapping[str, Any], roots: Collection[str]) -> dict[str, Any]:
    """Return the template of a job as it is stored: the arguments as JSON, which may be sealed."""
    if not isinstance(type, str):
        raise UsageError(f"type={type!r:.60}: give the name of a job type")
    check_type(app, checked_name(type))
    if args is not None and not isinstance(args, dict):
        raise UsageError(
            f'args={args!r:.60}: give an object, such as {{"invoice": "$.data.id"}}, or nothing for all data'
        )
    text = None if args is None else encode(args, app.max_payload)
    templates.check(args, roots)
    return {"type": type, "args": text, "options": _checked_options(options, roots)}


def check_names(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an option that the template of a job cannot have."""
    for name in options:
        if name not in NAMES:
            raise UsageError(f"there is no option {name!r}{did_you_mean(name, NAMES)}; there are: {', '.join(NAMES)}")


def _checked_options(options: Mapping[str, Any], roots: Collection[str]) -> dict[str, Any]:
    given = {name: value for name, value in options.items() if value is not None}
    check_names(given)
    for name in TEMPLATES:
        if name in given:
            templates.check_text(given[name], roots)
    Options({name: value for name, value in given.items() if name not in TEMPLATES})
    try:
        plain: dict[str, Any] = json.loads(json.dumps(given))
    except TypeError as error:
        raise UsageError(f"options: give texts, numbers and lists: {error}") from None
    return plain


def draft(app: Mainstay, values: Mapping[str, Any], root: Mapping[str, Any], whose: str, key: str | None) -> Draft:
    """Return the job for an event. `key` is taken for ever: the same event again creates nothing new."""
    try:
        options = {
            name: templates.text(value, root) if name in TEMPLATES else value
            for name, value in values["options"].items()
        }
        payload = root["data"] if values["args"] is None else templates.filled(loads(values["args"]), root)
    except templates.Missing as error:
        raise InvalidPayload(
            f"{whose} takes {error.args[0]}, which is not in the event: nothing was created. Send it, or change what is taken"
        ) from None
    if not isinstance(payload, dict):
        raise InvalidPayload(f"{whose} has no args, and the data of the event is no object: give args")
    return app.prepare(values["type"], payload, **_keyed(options, key))


def _keyed(options: dict[str, Any], key: str | None) -> dict[str, Any]:
    """Return options with a key: that of the event if it has one, because it has to hold."""
    if key is not None:
        return {**options, "key": key, "unique": "forever"}
    return {**options, "key": sealed(options["key"])} if "key" in options else options


def shown_args(text: str | None) -> Any:
    """Return stored arguments as people read them: a dict, or None without any; the text if it cannot be read."""
    return None if text is None else readable(text)

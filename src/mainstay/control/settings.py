"""Settings of the installation as data: JSON values with a description, for programs and people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..core.errors import NotFound, UsageError
from ..core.export import PRIVATE
from ..core.payload import clean
from ..core.suggest import did_you_mean
from ..core.thresholds import PREFIX as HEALTH, check_threshold
from .records import Change, SettingRecord
from .rules import instant

if TYPE_CHECKING:
    from ..flow import Flow

HIDDEN = (PRIVATE, "released by ")  # of mainstay itself
LONGEST, DESCRIBED, NAMED = 100_000, 1_000, 200  # characters of a value as JSON, a description and a name


def settings(app: Flow) -> list[SettingRecord]:
    """Return the settings, by name."""
    found: list[tuple[Any, ...]] = []
    after: str | None = None
    while True:
        batch = app.store.export_rows("settings", after, 1_000)
        found += batch.rows
        after = batch.after
        if after is None:
            return sorted(map(_record, (row for row in found if not row[0].startswith(HIDDEN))))


def _record(row: tuple[Any, ...]) -> SettingRecord:
    name, value, description, updated_at = row
    return SettingRecord(name, parsed(value), description, instant(updated_at))


def parsed(text: str) -> Any:
    """Return a value that is valid JSON, parsed; any other as text."""
    try:
        return json.loads(text)
    except ValueError:  # typed so, or set by other means
        return text


def setting(app: Flow, name: str, default: Any) -> Any:
    """Return the value of a setting, or the default if there is none."""
    text = app.store.setting(_checked(name))
    return default if text is None else parsed(text)


def set_setting(app: Flow, name: str, value: Any, description: str | None, actor: str, dry_run: bool) -> Change:
    """Set a setting."""
    text = _encoded(_checked(name), value)
    if name.startswith(HEALTH):
        check_threshold(name, value)
    if description is not None and len(str(description)) > DESCRIBED:
        raise UsageError(f"description: a text of up to {DESCRIBED} characters")
    before = app.store.setting(name)
    if not dry_run:
        described = None if description is None else clean(description, DESCRIBED)
        app.store.set_setting(name, text, described, app.clock.now(), actor)
    return Change("setting", name, None if before is None else {"value": parsed(before)}, {"value": parsed(text)})


def unset_setting(app: Flow, name: str, actor: str, dry_run: bool) -> Change:
    """Remove a setting."""
    before = app.store.setting(_checked(name))
    if before is None:
        known = [each.name for each in settings(app)]
        raise NotFound(f"there is no setting {name!r}{did_you_mean(name, known)}; app.settings() lists them")
    if not dry_run:
        app.store.set_setting(name, None, None, app.clock.now(), actor)
    return Change("setting", name, {"value": parsed(before)}, None)


def _checked(name: Any) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= NAMED or not name.isprintable():
        raise UsageError(f"{name!r:.60}: a setting's name has 1 to {NAMED} printable characters")
    if name.startswith(HIDDEN):
        raise UsageError(f"{name!r}: names that start with {name.split('.')[0]!r} belong to mainstay; choose another")
    return name


def _encoded(name: str, value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the setting {name} takes a JSON value (numbers, texts, lists, objects): {error}") from None
    if len(text) > LONGEST or "\\u0000" in text or "\0" in text or clean(text, LONGEST) != text:
        raise UsageError(f"the setting {name}: a value has up to {LONGEST:,} characters as JSON, and no NUL")
    return text

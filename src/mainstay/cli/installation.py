"""`settings`: the settings of the installation, which are data in the store; not those of `mainstay.toml`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..control.settings import parsed
from ..core.errors import NotFound
from ..core.suggest import did_you_mean
from ..redacting import redactor
from . import exits, records
from .changing import advised, report
from .groups import acting, group, subcommand
from .options import on_store
from .output import dumped
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..app import Mainstay
    from ..control.records import SettingRecord
    from .groups import By
    from .options import Target
    from .output import Cell, Output


@group(
    """
    mainstay settings
    mainstay settings get llm.model
    mainstay settings set llm.model small-2 --description "the model that extract asks"
    mainstay settings unset llm.model
    """
)
@on_store("Print only the names, one per line.")
def settings(target: Target, output: Output) -> None:
    """List, read and change the settings of the installation.

    They are values of your own, kept in the store: every worker reads them with app.setting("llm.model"). What mainstay itself is
    configured with is in mainstay config.
    """
    with target.open() as app:
        output.now, found = app.clock.now(), app.settings()
    none = "there are no settings: mainstay settings set NAME VALUE --description …"
    records.listed(output, found, "name", _print, none)


def _print(output: Output, found: list[SettingRecord]) -> None:
    rows: list[list[Cell]] = [
        [(each.name, "bold"), dumped(_value(each)), (_when(output, each), "dim"), (each.description or "", "dim")]
        for each in found
    ]
    output.table(["SETTING", "VALUE", "UPDATED", "DESCRIPTION"], rows, drop=(2,))


def _value(found: SettingRecord) -> Any:
    return setting_shown(found.name, {"value": found.value})["value"]


def setting_shown(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a setting has as people may see it: its name may say that its value is a secret."""
    shown: dict[str, Any] = redactor().value({"name": name, **values})
    return {each: shown[each] for each in values}


def _when(output: Output, each: SettingRecord) -> str:
    return "" if each.updated_at is None else output.when(json_records.instant(each.updated_at))


@subcommand(settings, "get", "mainstay settings get llm.model\nmainstay settings get llm.model --json")
@click.argument("name")
@on_store("Print only the value.")
def get_setting(target: Target, output: Output, name: str) -> int:
    """Print the value of a setting.

    A text is printed as it is, any other value as JSON.
    """
    with target.open() as app:
        found = find(app, name)
    value = _value(found)
    text = value if isinstance(value, str) else dumped(value)
    output.give(lambda: json_records.plain(found), [text], lambda: output.line(text))
    return exits.OK


def find(app: Mainstay, name: str) -> SettingRecord:
    """Return a setting, or raise with the closest name."""
    found = {each.name: each for each in app.settings()}
    if name not in found:
        raise NotFound(f"there is no setting {name}{did_you_mean(name, found)}", "mainstay settings")
    return found[name]


@subcommand(
    settings, "set",
    """
    mainstay settings set llm.model small-2 --description "the model that extract asks"
    mainstay settings set llm.retries 3
    mainstay settings set llm.provider '{"url": "https://api.example", "timeout": 30}' --dry-run
    """,
)  # fmt: skip
@click.argument("name")
@click.argument("value")
@click.option("--description", help="What it is for; without it, the description stays.")
@click.option("--text", is_flag=True, help="The value is a text, even if it is valid JSON such as 3 or true.")
@acting
@on_store("Print only the name of what changed, and no messages.")
def set_setting(
    target: Target, output: Output, by: By, name: str, value: str, description: str | None, text: bool
) -> int:
    """Set a setting.

    A value that is valid JSON (3, true, null, [1,2]) is parsed; anything else is text.
    """
    with target.open() as app, advised("settings", "settings set"):
        change = app.set_setting(
            name, value if text else parsed(value), description, actor=by.actor, dry_run=by.dry_run
        )
    told = f"the setting {name} is set." if change.changed else f"the setting {name} is as before."
    undo = (
        ["unset", name]
        if change.before is None
        else ["set", name, json.dumps(setting_shown(name, change.before)["value"], ensure_ascii=False)]
    )
    return report(output, [change], by, told, typed("settings", *undo, target=target))


@subcommand(settings, "unset", "mainstay settings unset llm.model --dry-run")
@click.argument("name")
@acting
@on_store("Print only the name of what changed, and no messages.")
def unset_setting(target: Target, output: Output, by: By, name: str) -> int:
    """Remove a setting."""
    with target.open() as app, advised("settings", "settings unset"):
        find(app, name)
        change = app.unset_setting(name, actor=by.actor, dry_run=by.dry_run)
    return report(output, [change], by, f"the setting {name} is removed.")

"""Finds the settings in force: arguments, `MAINSTAY_…` variables, the settings file, defaults, in this order.

The settings file is the nearest `mainstay.toml`, or `pyproject.toml` with `[tool.mainstay]`, from the current folder upwards.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .core.errors import ConfigError
from .core.settings import ARGUMENT, PREFIX, from_mapping, from_sources, from_variables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .core.settings import Settings

FILE, PROJECT = "mainstay.toml", "pyproject.toml"


def load_settings(*, only: Collection[str] = (), **arguments: Any) -> Settings:
    """Return the settings in force here; an argument that is None counts as not given. `ConfigError` names a mistake.

    With `only`, the others are not looked at: a mistake in them is none here.
    """
    return read_settings(arguments, os.environ, os.getcwd(), only)


def read_settings(
    arguments: Mapping[str, Any], environ: Mapping[str, str], folder: str, only: Collection[str] = ()
) -> Settings:
    """Return the settings of these arguments, these variables and the file nearest to this folder."""
    path, table = nearest(folder)
    if only:
        table = {name: value for name, value in table.items() if name in only}
        environ = {name: value for name, value in environ.items() if name.removeprefix(PREFIX).lower() in only}
    if isinstance(table.get("url"), str):
        table["url"] = _anchored(table["url"], os.path.dirname(path))
    if isinstance(table.get("archive"), str) and "://" not in table["archive"] and table["archive"].strip():
        table["archive"] = os.path.join(os.path.dirname(path), os.path.expanduser(table["archive"]))
    in_file = from_mapping(table, f"{path} [tool.mainstay]" if path.endswith(PROJECT) else path)
    return from_sources(from_mapping(arguments, ARGUMENT), from_variables(environ), in_file)


def nearest(folder: str) -> tuple[str, dict[str, Any]]:
    """Return the path and the content of the settings file nearest to a folder, from there upwards; empty if there is none."""
    here = os.path.abspath(folder)
    for path in (os.path.join(here, FILE), os.path.join(here, PROJECT)):
        table = _table(path)
        if table is not None:
            return path, table
    above = os.path.dirname(here)
    return ("", {}) if above == here else nearest(above)


def _table(path: str) -> dict[str, Any] | None:
    """Return the settings in a file; None if there is no such file, or if it is a project's without our table."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        if not os.path.isfile(path):
            return None
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if path.endswith(PROJECT) and b"mainstay" not in content:
        return None
    import tomllib

    try:
        table: Any = tomllib.loads(content.decode())
    except ValueError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    for part in ("tool", "mainstay") if path.endswith(PROJECT) else ():
        table = table.get(part) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def _anchored(url: str, folder: str) -> str:
    """Return the URL with a relative database beside the settings file, from whichever folder it is read."""
    path = url.removeprefix("sqlite:///")
    if path == url or path.startswith(("/", ":", "~")) or path[1:3] in (":/", ":\\"):
        return url
    folder = folder.replace("%", "%25").replace("?", "%3F")
    return f"sqlite:///{os.path.join(folder, path)}"

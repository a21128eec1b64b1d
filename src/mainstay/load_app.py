"""Loads the user's application by its name, `module:attribute`."""

from __future__ import annotations

import importlib
import os
import sys
from traceback import extract_tb
from typing import TYPE_CHECKING

from .app import Mainstay
from .core.errors import ConfigError, MainstayError

if TYPE_CHECKING:
    from types import ModuleType


def load_app(spec: str) -> Mainstay:
    """Return the application named `module:attribute`, from the current folder or the installed packages."""
    name, _, attribute = spec.partition(":")
    module = _module(name.removesuffix(".py").replace(os.sep, ".") if name.endswith(".py") else name, spec)
    found: object = module
    for part in (attribute or "app").split("."):
        if not hasattr(found, part):
            raise ConfigError(f"{name} has no {part!r} ({spec})", _apps(module, name))
        found = getattr(found, part)
    if not isinstance(found, Mainstay):
        kind = type(found).__name__
        raise ConfigError(f"{spec} is a {kind}, not a Mainstay application", _apps(module, name))
    return found


def _module(name: str, spec: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except MainstayError:
        raise
    except Exception as error:  # the user's module may raise anything
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise ConfigError(
                f"there is no module {missing!r} here ({spec})", f"cd to its folder, or --app folder.{spec}"
            ) from None
        raise _broken(name, error) from error


def _broken(name: str, error: Exception) -> ConfigError:
    """Return the error for code that failed while it was imported: what and where, in one line."""
    frames = [frame for frame in extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    place = f" ({os.path.relpath(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    if isinstance(error, SyntaxError):
        place = f" ({os.path.relpath(error.filename or name)}, line {error.lineno})"
    return ConfigError(f"importing {name} failed: {type(error).__name__}: {error}{place}", f'python -c "import {name}"')


def _apps(module: ModuleType, name: str) -> str:
    """Return how to name the applications that the module has."""
    found = [key for key, value in vars(module).items() if isinstance(value, Mainstay)]
    return " or ".join(f"--app {name}:{key}" for key in found) or f"app = Mainstay(…) in {name}, then --app {name}:app"

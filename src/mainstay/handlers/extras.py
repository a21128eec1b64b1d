"""The libraries that handlers need: checked when a handler is registered, imported when its first job runs."""

from __future__ import annotations

from importlib.util import find_spec

from mainstay import ConfigError


def needed(module: str, extra: str, handler: str) -> None:
    """Raise `ConfigError`, which names the extra to install, if a library is not there. It is not imported."""
    if find_spec(module) is None:
        raise ConfigError(f"mainstay.handlers.{handler} needs {module}: pip install 'mainstay[{extra}]'")

"""The HTTP API and the dashboard, as one ASGI application: `app.dashboard()`, or `mainstay serve`."""

from __future__ import annotations

from importlib.util import find_spec

from ..core.errors import ConfigError


def check_installed() -> None:
    """Raise `ConfigError`, which names the extra to install, if the libraries are missing."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise ConfigError("the dashboard and the HTTP API need two libraries: pip install 'mainstay[dashboard]'")

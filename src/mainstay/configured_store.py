"""The store of an application that was made without a URL."""

from __future__ import annotations

from .core.errors import ConfigError
from .stores import open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .core.clock import Clock
    from .stores.contract import Store


def configured_store(clock: Clock | None) -> Store:
    """Return the store that the environment or the settings file names; an error says which of them did."""
    import os

    url, source = os.environ.get("MAINSTAY_URL", ""), "the environment variable MAINSTAY_URL"
    if not url:
        from .settings_file import load_settings

        settings = load_settings()
        url, source = settings.url, settings.sources.get("url", "")
    try:
        return open_store(url, clock)
    except ConfigError as error:
        if source:
            error.add_note(f"the URL comes from {source}")
        raise

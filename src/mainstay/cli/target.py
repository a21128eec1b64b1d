"""The store, and for some commands the application, that a command works on."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from ..core.errors import ConfigError, StoreError, UsageError
from .exits import from_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..app import Mainstay
    from ..core.settings import Settings


class Target:
    """The URL and the application from the command line, the environment or the settings file."""

    def __init__(self, url: str | None, app: str | None) -> None:
        self.given_url, self.given_app = url, app

    def settings(self, **given: Any) -> Settings:
        """Return the settings; the command line, with other options that it gives, comes first."""
        from ..settings_file import load_settings

        return load_settings(url=self.given_url or None, app=self.given_app or None, **given)

    def url(self) -> str:
        """Return the URL of the store. The URL of an application given by --app comes before a configured one."""
        return self._located()[0]

    def _located(self) -> tuple[str, str]:
        """Return the URL of the store, and where it comes from."""
        if self.given_url:
            return self.given_url, ""
        if self.given_app:
            return self.application().store.url, f"the application {self.given_app}"
        if os.environ.get("MAINSTAY_URL"):  # checked before the settings file is searched: most calls end here
            return os.environ["MAINSTAY_URL"], "the environment variable MAINSTAY_URL"
        settings = self.settings()
        if settings.url:
            return settings.url, settings.sources["url"]
        if settings.app:
            return self.application().store.url, f"the application {settings.app}"
        raise UsageError("no store is given", "mainstay status --url sqlite:///jobs.db   (or set MAINSTAY_URL)")

    @contextmanager
    def located(self) -> Iterator[str]:
        """Give the URL of the store; an error of the store says where a URL comes from that the command line does not give."""
        url, source = self._located()
        try:
            yield url
        except (StoreError, ConfigError) as error:
            raise from_source(error, url, source) from error.__cause__

    @contextmanager
    def open(self, create: bool = False) -> Iterator[Mainstay]:
        """Open a store; a missing file is not created unless `create` is set."""
        from ..app import Mainstay

        with self.located() as url, closing(Mainstay(url if create else existing(url))) as app:
            yield app

    def wants_code(self) -> bool:
        """Whether to use the application: it is named, and the command line gives no URL."""
        if self.given_url or self.given_app:
            return bool(self.given_app)
        if os.environ.get("MAINSTAY_APP") or os.environ.get("MAINSTAY_URL"):
            return bool(os.environ.get("MAINSTAY_APP"))
        return bool(self.settings().app)

    def application(self) -> Mainstay:
        """Import and return the user's application."""
        from ..load_app import load_app

        return load_app(self.app_name())

    def app_name(self) -> str:
        """Return the name of the application; raise if none is named."""
        spec = self.given_app or self.settings().app
        if not spec:
            raise UsageError("this command runs your code; name the application", "mainstay worker --app module:app")
        return spec


def existing(url: str) -> str:
    """Return the URL with the option that creates nothing."""
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme not in ("sqlite", "postgresql", "postgres") or ":memory:" in url or "mode=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}mode=existing"

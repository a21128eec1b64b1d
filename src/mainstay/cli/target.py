"""The store, and for some commands the application, that a command works on."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..core.errors import MainstayError
from .exits import Hint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..app import Mainstay
    from ..core.settings import Settings


class Target:
    """The URL and the application from the command line, the environment or the settings file."""

    def __init__(self, url: str | None, app: str | None) -> None:
        self.given_url, self.given_app = url, app

    def settings(self) -> Settings:
        """Return the settings; the command line comes first."""
        from ..core.settings import Settings

        given = {"url": self.given_url, "app": self.given_app}
        return Settings.load(**{name: value for name, value in given.items() if value})

    def url(self) -> str:
        """Return the URL of the store. The URL of an application given by --app comes before a configured one."""
        if self.given_url:
            return self.given_url
        if self.given_app:
            return self.application().store.url
        if os.environ.get("MAINSTAY_URL"):  # checked before the settings file is searched: most calls end here
            return os.environ["MAINSTAY_URL"]
        settings = self.settings()
        if settings.url:
            return settings.url
        if settings.app:
            return self.application().store.url
        raise Hint("no store is given", "mainstay status --url sqlite:///jobs.db   (or set MAINSTAY_URL)")

    @contextmanager
    def open(self) -> Iterator[Mainstay]:
        """Open an existing store: a missing file is not created."""
        from ..app import Mainstay

        app = Mainstay(existing(self.url()))
        try:
            yield app
        finally:
            app.close()

    def wants_code(self) -> bool:
        """Whether to use the application: it is named, and the command line gives no URL."""
        if self.given_url or self.given_app:
            return bool(self.given_app)
        if os.environ.get("MAINSTAY_APP") or os.environ.get("MAINSTAY_URL"):
            return bool(os.environ.get("MAINSTAY_APP"))
        return bool(self.settings().app)

    def application(self) -> Mainstay:
        """Import and return the user's application."""
        spec = self.given_app or self.settings().app
        if not spec:
            raise no_application()
        return load(spec)


def no_application() -> Hint:
    """Return the error for a command that needs an application when none is named."""
    return Hint("this command runs your code; name the application", "mainstay worker --app module:app")


def existing(url: str) -> str:
    """Return the URL with the option that creates nothing."""
    scheme, _, _ = url.partition(":")
    if scheme not in ("sqlite", "postgresql", "postgres") or ":memory:" in url or "mode=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}mode=existing"


def load(spec: str) -> Mainstay:
    """Import `module:attribute` from the current folder or the installed packages and return the application."""
    from ..app import Mainstay

    name, _, attribute = spec.partition(":")
    module = _module(name.removesuffix(".py").replace(os.sep, ".") if name.endswith(".py") else name, spec)
    found = module
    for part in (attribute or "app").split("."):
        if not hasattr(found, part):
            raise Hint(f"{name} has no {part!r} (--app {spec})", _apps(module, name))
        found = getattr(found, part)
    if not isinstance(found, Mainstay):
        raise Hint(f"--app {spec} is a {type(found).__name__}, not a Mainstay application", _apps(module, name))
    return found


def _module(name: str, spec: str) -> object:
    import importlib

    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except MainstayError:
        raise
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise Hint(
                f"there is no module {error.name!r} here (--app {spec})", f"cd to its folder, or --app folder.{spec}"
            ) from None
        raise _broken(name, error) from error
    except Exception as error:  # the user's module may raise anything
        raise _broken(name, error) from error


def _broken(name: str, error: Exception) -> MainstayError:
    """Return the error for a module that fails to import: what happened and where, in one line."""
    place, trace = "", error.__traceback__
    while trace is not None:
        if "importlib" not in trace.tb_frame.f_code.co_filename:
            place = f" ({os.path.relpath(trace.tb_frame.f_code.co_filename)}, line {trace.tb_lineno})"
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        place = f" ({os.path.relpath(error.filename or name)}, line {error.lineno})"
    hint = Hint(f"importing {name} failed: {type(error).__name__}: {error}{place}", f'python -c "import {name}"')
    hint.__cause__ = error
    return hint


def _apps(module: object, name: str) -> str:
    """Return the applications that the module does have, as options to try."""
    from ..app import Mainstay

    found = [key for key, value in vars(module).items() if isinstance(value, Mainstay)]
    return " or ".join(f"--app {name}:{key}" for key in found) or f"app = Mainstay(…) in {name}, then --app {name}:app"

"""What a command works on: the store behind a URL, and for those that run code, the application."""

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
    """The URL and the application that a command was given, or that the environment and the settings file name."""

    def __init__(self, url: str | None, app: str | None) -> None:
        self.given_url, self.given_app = url, app

    def settings(self) -> Settings:
        """Everything that is configured, with what the command line says on top."""
        from ..core.settings import Settings

        given = {"url": self.given_url, "app": self.given_app}
        return Settings.load(**{name: value for name, value in given.items() if value})

    def url(self) -> str:
        """The store's URL; an explicit application's own URL counts before a configured one."""
        if self.given_url:
            return self.given_url
        if self.given_app:
            return self.application().store.url
        if os.environ.get("MAINSTAY_URL"):  # before the settings file is looked for: most calls end here
            return os.environ["MAINSTAY_URL"]
        settings = self.settings()
        if settings.url:
            return settings.url
        if settings.app:
            return self.application().store.url
        raise Hint("no store is named", "mainstay status --url sqlite:///jobs.db   (or set MAINSTAY_URL)")

    @contextmanager
    def open(self) -> Iterator[Mainstay]:
        """The store as it is, for commands that look or act: a file that is not there is never created."""
        from ..app import Mainstay

        app = Mainstay(existing(self.url()))
        try:
            yield app
        finally:
            app.close()

    def wants_code(self) -> bool:
        """Whether to work through the application: when it is named and no URL on the command line says otherwise."""
        if self.given_url or self.given_app:
            return bool(self.given_app)
        if os.environ.get("MAINSTAY_APP") or os.environ.get("MAINSTAY_URL"):
            return bool(os.environ.get("MAINSTAY_APP"))
        return bool(self.settings().app)

    def application(self) -> Mainstay:
        """The user's application, imported."""
        spec = self.given_app or self.settings().app
        if not spec:
            raise no_application()
        return load(spec)


def no_application() -> Hint:
    """What to say when code is needed and none is named."""
    return Hint("this command runs your code and needs to know it", "mainstay worker --app module:app")


def existing(url: str) -> str:
    """The same URL, with which nothing is created."""
    scheme, _, _ = url.partition(":")
    if scheme not in ("sqlite", "postgresql", "postgres") or ":memory:" in url or "mode=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}mode=existing"


def load(spec: str) -> Mainstay:
    """The application named `module:attribute`, from the current folder or the installed packages."""
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
    """The user's code failed while it was imported: where, in one line."""
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
    """The applications that the module does hold."""
    from ..app import Mainstay

    found = [key for key, value in vars(module).items() if isinstance(value, Mainstay)]
    return " or ".join(f"--app {name}:{key}" for key in found) or f"app = Mainstay(…) in {name}, then --app {name}:app"

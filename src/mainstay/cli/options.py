"""How commands are declared: their examples, and the options that they share, among them the store that they work on."""

from __future__ import annotations

import gc
import os
from contextlib import closing, contextmanager
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any

import click

from ..core.clock import SECOND, human
from ..core.errors import ConfigError, StoreError, UsageError
from ..core.masking import masked
from ..stores import existing
from .exits import from_source, say
from .output import Output, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..app import Mainstay
    from ..core.settings import Settings

    Command = Callable[..., Any]

url_option = click.option("--url", metavar="URL", help="The store, e.g. sqlite:///jobs.db. [env: MAINSTAY_URL]")
app_option = click.option("--app", metavar="MODULE:APP", help="Your application, e.g. jobs:app. [env: MAINSTAY_APP]")
LAG = SECOND  # of a replica: more is said
_FIELDS = click.option("--fields", metavar="A,B", default="", help="Print only these fields.")
_JSON = (
    click.option("--json", is_flag=True, help="Print JSON with all fields."),
    click.option("--jsonl", is_flag=True, help="Print JSON, one object per line."),
)


def targeted(function: Command) -> Command:
    """Add `--url` and `--app`; the command gets them as one `target`."""

    @wraps(function)
    @click.pass_context
    def with_target(context: click.Context, /, url: str | None, app: str | None, **rest: Any) -> Any:
        outer = (context.parent.obj if context.parent else None) or {}
        path = context.command_path.partition(" ")[2]
        return function(target=Target(url or outer.get("url"), app or outer.get("app"), path), **rest)

    return url_option(app_option(with_target))


def shaped(quiet_help: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--json`, `--jsonl`, `-q` and `--fields`; the command gets an `output`.

    `quiet_help` says what `-q` does, which differs between commands.
    """
    quiet_option = click.option("-q", "--quiet", is_flag=True, help=quiet_help)

    def made(function: Command) -> Command:
        @wraps(function)
        def with_output(json: bool, jsonl: bool, quiet: bool, fields: str, **rest: Any) -> Any:
            chosen = tuple(part.strip() for part in fields.split(",") if part.strip())
            if json and jsonl:
                raise click.UsageError("--json and --jsonl exclude each other")
            return function(output=Output(Shape(json, jsonl, quiet, chosen)), **rest)

        return with_options(*_JSON, quiet_option, _FIELDS)(with_output)

    return made


def on_store(quiet_help: str) -> Callable[[Command], Command]:
    """Return a decorator for a command that prints what a store has, or changes it: `shaped` and `targeted`."""
    return lambda function: shaped(quiet_help)(targeted(function))


def how_many(name: str, default: int, text: str, most: int = 100_000) -> Callable[[Command], Command]:
    """Return a decorator that adds `-n`: how many of something the command prints."""
    return click.option("-n", name, default=default, show_default=True, type=click.IntRange(1, most), help=text)


def with_options(*options: Command) -> Callable[[Command], Command]:
    """Return a decorator that adds options; the help lists them in this order."""
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)


class Example(click.Command):
    """A command whose help ends with examples."""

    examples: list[str]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in self.examples))


def command(examples: str) -> Callable[[Command], Example]:
    """Return a decorator that makes a command with examples in its help."""

    def made(function: Command) -> Example:
        found = click.command(function.__name__, cls=Example)(function)
        found.examples = [line.strip() for line in examples.strip().splitlines()]
        return found

    return made


def opened(url: str, create: bool = False) -> Mainstay:
    """Return an app on a store; a missing file is not created unless `create` is set.

    No garbage is collected while the driver is imported, for the reason that `__main__` gives.
    """
    gc.disable()
    try:
        from ..app import Mainstay

        return Mainstay(url if create else existing(url))
    finally:
        gc.enable()


class Target:
    """The URL and the application from the command line, the environment or the settings file."""

    def __init__(self, url: str | None, app: str | None, command: str = "status") -> None:
        self.given_url, self.given_app, self._command = url, app, command

    def settings(self, **given: Any) -> Settings:
        """Return the settings; the command line, with other options that it gives, comes first."""
        from ..settings_file import load_settings

        return load_settings(url=self.given_url or None, app=self.given_app or None, **given)

    def url(self) -> str:
        """Return the URL of the store. The URL of an application given by --app comes before a configured one."""
        return self.location()[0]

    def location(self) -> tuple[str, str]:
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
        other = 'or set MAINSTAY_URL, or put url = "…" into mainstay.toml'
        raise UsageError("no store is given", f"mainstay {self._command} --url sqlite:///jobs.db   ({other})")

    @contextmanager
    def located(self) -> Iterator[str]:
        """Give the URL of the store; an error of the store says where a URL comes from that the command line does not give."""
        url, source = self.location()
        try:
            yield url
        except (StoreError, ConfigError) as error:
            raise from_source(error, url, source) from error.__cause__

    @contextmanager
    def open(self, create: bool = False) -> Iterator[Mainstay]:
        """Open a store; a missing file is not created unless `create` is set."""
        with self.located() as url, closing(opened(url, create)) as app:
            yield app

    @contextmanager
    def reading(self) -> Iterator[Mainstay]:
        """Open a store only to look: the replica `read_url`, if the settings name one and the command line no URL."""
        replica = "" if self.given_url or self.given_app else self._read_url()
        if not replica:
            with self.open() as app:
                yield app
            return
        try:
            with closing(opened(replica)) as app:
                say_lag(app.store.behind())
                yield app
        except (StoreError, ConfigError) as error:
            raise from_source(error, replica, "the setting read_url") from error.__cause__

    def _read_url(self) -> str:
        """Return the URL of the replica; most installations have none, and no settings file is searched for it in vain twice."""
        if "MAINSTAY_URL" in os.environ and "MAINSTAY_READ_URL" not in os.environ:
            return ""
        return self.settings().read_url

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

        spec = self.app_name()
        try:
            return load_app(spec)
        except ConfigError as error:
            if not self.given_app:
                error.add_note(f"the application {spec} is named by {self.settings().sources['app']}")
            raise

    def words(self) -> list[str]:
        """Return the options of the command line that name the target, to type them again; not a URL with a password."""
        url = self.given_url if self.given_url and masked(self.given_url) == self.given_url else None
        return [word for name, value in (("--url", url), ("--app", self.given_app)) if value for word in (name, value)]

    def start(self) -> str:
        """Return the command that starts a worker here."""
        if self.given_app:
            return f"mainstay worker --app {self.given_app}"
        return "mainstay worker" if self.settings().app else "mainstay worker --app …"

    def app_name(self) -> str:
        """Return the name of the application; raise if none is named."""
        spec = self.given_app or self.settings().app
        if not spec:
            raise UsageError(
                "this command runs your code; name the application", f"mainstay {self._command} --app module:app"
            )
        return spec


def say_lag(behind: int | None) -> None:
    """Say how far the replica is behind, if that may surprise whoever reads."""
    if behind is None:
        say("read_url names a primary, not a replica")
    elif behind > LAG:
        say(f"from a replica that is {human(behind)} behind")

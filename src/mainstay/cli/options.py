"""The options that commands share."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from .output import Output, Shape
from .target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., Any]


def targeted(function: Command) -> Command:
    """Add `--url` and `--app`; the command gets them as one `target`."""

    @wraps(function)
    @click.pass_context
    def with_target(context: click.Context, /, url: str | None, app: str | None, **rest: Any) -> Any:
        outer = (context.parent.obj if context.parent else None) or {}
        return function(target=Target(url or outer.get("url"), app or outer.get("app")), **rest)

    return url_option(app_option(with_target))


def url_option(function: Command) -> Command:
    """Add `--url`, which the program and each command accept."""
    return click.option(
        "--url", metavar="URL", help="The store, e.g. sqlite:///jobs.db. [env: MAINSTAY_URL]"
    )(function)  # fmt: skip


def app_option(function: Command) -> Command:
    """Add `--app`, which the program and each command accept."""
    return click.option("--app", metavar="MODULE:APP", help="Your application, e.g. jobs:app. [env: MAINSTAY_APP]")(
        function
    )


def shaped(function: Command) -> Command:
    """Add `--json`, `--jsonl`, `-q` and `--fields`; the command gets an `output`."""

    @wraps(function)
    def with_output(json: bool, jsonl: bool, quiet: bool, fields: str, **rest: Any) -> Any:
        chosen = tuple(part.strip() for part in fields.split(",") if part.strip())
        if json and jsonl:
            raise click.UsageError("--json and --jsonl exclude each other")
        return function(output=Output(Shape(json, jsonl, quiet, chosen)), **rest)

    for option in reversed(_SHAPE):
        with_output = option(with_output)
    return with_output


_SHAPE = (
    click.option("--json", is_flag=True, help="Print JSON with all fields."),
    click.option("--jsonl", is_flag=True, help="Print JSON, one object per line."),
    click.option("-q", "--quiet", is_flag=True, help="Print ids only, and no messages."),
    click.option("--fields", metavar="A,B", default="", help="Print only these fields."),
)


class Example(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, *args: Any, examples: str = "", **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.examples = [line.strip() for line in examples.strip().splitlines()]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in self.examples))


def command(examples: str, **settings: Any) -> Callable[[Command], click.Command]:
    """Return a decorator that makes a command with examples in its help."""

    def made(function: Command) -> click.Command:
        name = function.__name__.strip("_")
        return click.command(name, cls=Example, examples=examples, **settings)(function)

    return made

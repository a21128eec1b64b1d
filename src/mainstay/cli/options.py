"""How commands are declared: their examples, and the options that they share."""

from __future__ import annotations

from functools import reduce, wraps
from typing import TYPE_CHECKING, Any

import click

from .output import Output, Shape
from .target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    Command = Callable[..., Any]

url_option = click.option("--url", metavar="URL", help="The store, e.g. sqlite:///jobs.db. [env: MAINSTAY_URL]")
app_option = click.option("--app", metavar="MODULE:APP", help="Your application, e.g. jobs:app. [env: MAINSTAY_APP]")
_SHAPE = (
    click.option("--fields", metavar="A,B", default="", help="Print only these fields."),
    click.option("-q", "--quiet", is_flag=True, help="Print only what scripts need, such as ids, and no messages."),
    click.option("--jsonl", is_flag=True, help="Print JSON, one object per line."),
    click.option("--json", is_flag=True, help="Print JSON with all fields."),
)


def targeted(function: Command) -> Command:
    """Add `--url` and `--app`; the command gets them as one `target`."""

    @wraps(function)
    @click.pass_context
    def with_target(context: click.Context, /, url: str | None, app: str | None, **rest: Any) -> Any:
        outer = (context.parent.obj if context.parent else None) or {}
        return function(target=Target(url or outer.get("url"), app or outer.get("app"), str(context.info_name)), **rest)

    return url_option(app_option(with_target))


def shaped(function: Command) -> Command:
    """Add `--json`, `--jsonl`, `-q` and `--fields`; the command gets an `output`."""

    @wraps(function)
    def with_output(json: bool, jsonl: bool, quiet: bool, fields: str, **rest: Any) -> Any:
        chosen = tuple(part.strip() for part in fields.split(",") if part.strip())
        if json and jsonl:
            raise click.UsageError("--json and --jsonl exclude each other")
        return function(output=Output(Shape(json, jsonl, quiet, chosen)), **rest)

    return reduce(lambda made, option: option(made), _SHAPE, with_output)


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

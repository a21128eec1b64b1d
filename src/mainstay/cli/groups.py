"""Commands with subcommands, and the options of commands that change something: who, why, and `--dry-run`."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from ..core.errors import UsageError
from ..core.suggest import closest
from .options import command, on_store, with_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from .options import Example

    Command = Callable[..., Any]


class By(NamedTuple):
    """Who changes something and why, and whether only to show what would change."""

    actor: str
    reason: str
    dry_run: bool


_ACTING = (
    click.option("--actor", default="", help="Who; default: the user of this terminal."),
    click.option("--dry-run", is_flag=True, help="Only print what would change."),
)


def acting(function: Command) -> Command:
    """Add `--actor`, `--reason` and `--dry-run`; the command gets them as one `by`."""

    @wraps(function)
    def with_actor(actor: str, dry_run: bool, reason: str = "", **rest: Any) -> Any:
        from .actions import actor as user

        return function(by=By(actor or user(), reason, dry_run), **rest)

    return with_options(*_ACTING)(with_actor)


def explaining(function: Command) -> Command:
    """Add `--reason` to a command that is `acting`."""
    return click.option("--reason", default="", help="Why; kept in the audit log.")(function)


def changes(quiet_help: str = "Print only the name of what changed, and no messages.") -> Callable[[Command], Command]:
    """Return a decorator for a command that changes a rule: it gets `target`, `output` and `by`. `quiet_help` says what `-q` does."""
    return lambda function: explaining(acting(on_store(quiet_help)(function)))


class Group(click.Group):
    """A command with subcommands; without one it lists what there is."""

    examples: list[str]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the subcommands in the order in which they are declared."""
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the subcommand that the first word names; the error for an unknown one says what to type."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            near = closest(args[0], self.commands)
            words = [near, *args[1:]] if near else ["show", *args] if "show" in self.commands else ["--help"]
            hint = f' (did you mean "{near}"?)' if near else f"; there are: {', '.join(self.commands)}"
            raise UsageError(
                f"{ctx.command_path} {args[0]}: there is no such subcommand{hint}", " ".join([ctx.command_path, *words])
            )
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in self.examples))


def group(examples: str) -> Callable[[Command], Group]:
    """Return a decorator that makes a command with subcommands; the function runs without one."""

    def made(function: Command) -> Group:
        @wraps(function)
        @click.pass_context
        def alone(context: click.Context, /, **given: Any) -> Any:
            if context.invoked_subcommand is None:
                return function(**given)
            _pass_on(context, given)
            return None

        found = click.group(function.__name__, cls=Group, invoke_without_command=True)(alone)
        found.examples = _lines(examples)
        return found

    return made


def _pass_on(context: click.Context, given: dict[str, Any]) -> None:
    """Let a subcommand know the store and the application that are named before it; other options go behind it."""
    named = {name: given.pop(name) for name in ("url", "app") if given.get(name)}
    context.obj = {**(context.obj or {}), **named}
    typed = [name for name in given if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    misplaced = [f"--{name}" for name in typed]
    if misplaced:
        raise click.UsageError(f"write {misplaced[0]} behind the subcommand {context.invoked_subcommand}")


def _lines(examples: str) -> list[str]:
    return [line.strip() for line in examples.strip().splitlines()]


def subcommand(group: Group, name: str, examples: str) -> Callable[[Command], Example]:
    """Return a decorator that makes a subcommand with examples in its help."""

    def made(function: Command) -> Example:
        found = command(examples)(function)
        found.name = name
        group.add_command(found, name)
        return found

    return made

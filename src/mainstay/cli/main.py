"""The program `mainstay`: imports each command when it is called, and turns errors into exit codes."""

from __future__ import annotations

import gc
import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from .. import redacting
from ..core.errors import UsageError
from ..core.suggest import closest
from . import exits
from .options import app_option, url_option

if TYPE_CHECKING:
    from collections.abc import Sequence

# Section → command → (module, summary). The help is made from this table, without importing any command.
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("demo", "See jobs succeed, fail, retry and recover, in ten seconds."),
        "doctor": ("doctor", "Check this machine, the store and the application; print the fix for each finding."),
        "config": ("doctor", "Show the configuration in force and where each value comes from."),
        "completion": ("completion", "Print what makes your shell complete commands, options and names."),
        "version": ("doctor", "Show the versions of mainstay, Python and SQLite."),
    },
    "Produce and run": {
        "enqueue": ("enqueue", "Accept a job durably and print its id."),
        "publish": ("subscriptions", "Publish an event: enqueue the jobs that subscribe to it, all or none."),
        "worker": ("worker", "Run jobs until a signal stops it; --drain: until none is due."),
        "serve": ("serve", "Serve the dashboard and the HTTP API."),
    },
    "Inspect": {
        "status": ("status", "Show what is waiting, running and failed, by type."),
        "health": ("health", "Show whether the installation is healthy, with an exit code for probes."),
        "alerts": ("alerts", "List what is wrong; the rules that find it; set or silence one; test the channels."),
        "stats": ("stats", "Show how many jobs ran, failed and died, and how long they waited and ran."),
        "history": ("stats", "Show which jobs ended in the last time: how, when, and how long they took."),
        "ls": ("jobs", "List jobs that match a search, newest first."),
        "show": ("show", "Show everything about one job."),
        "why": ("why", "Show why a job has not started, the true reason first."),
        "logs": ("logs", "Show what jobs have logged: one job, or all that match a search."),
        "watch": ("watch", "Follow one job until it ends, with its progress and its log."),
        "tail": ("tail", "Print what happens to jobs, as it happens."),
        "top": ("top", "Watch everything on one screen, and act on it by a key."),
        "audit": ("audit", "Show what operators did: to jobs, types, queues, limits and settings."),
        "dead": ("dead", "List dead jobs in groups by what they died of; act on a group."),
        "stuck": ("stuck", "List running jobs that are stuck, each with the command that helps."),
        "dupes": ("stuck", "List jobs that look like duplicates: same type and key, or arguments."),
        "reconcile": ("reconcile", "Check whether what completed jobs did still holds; change nothing."),
        "reviews": ("reviews", "List the jobs that wait for a person, the oldest job first."),
        "metrics": ("stats", "Print the metrics of the whole installation in Prometheus' text format."),
        "workers": ("workers", "List the workers; show what one runs; drain or stop it."),
    },
    "Act": {
        "retry": ("actions", "Run dead, cancelled or waiting jobs again, now."),
        "cancel": ("actions", "Cancel waiting jobs and ask running ones to stop."),
        "approve": ("actions", "Complete jobs in review."),
        "reject": ("actions", "End jobs in review as dead."),
        "delete": ("actions", "Remove jobs and their history."),
        "reprioritise": ("actions", "Give waiting, dead or cancelled jobs another priority."),
        "requeue": ("actions", "Move waiting, dead or cancelled jobs to another queue."),
        "reschedule": ("actions", "Let waiting jobs run later, at a time, or now."),
        "amend": ("actions", "Change arguments of waiting, dead or cancelled jobs."),
        "bulk": ("bulk", "List operations on many jobs that were stopped, or that go on now; resume one."),
        "keys": ("keys", "Show the keys that are taken for ever, or free one."),
    },
    "Control": {
        "pause": ("pause", "Start no more jobs of a type, a queue or everything; running jobs finish."),
        "resume": ("pause", "End a pause."),
        "disable": ("pause", "Let a type take no more jobs."),
        "enable": ("pause", "Let a disabled type take jobs again."),
        "types": ("job_types", "List types; show one; set what holds for its jobs over what the code declares."),
        "queues": ("queues", "List queues; set how deep one may be, how fair, how many of its jobs run."),
        "limits": ("limits", "List limits and who waits for them; set how many jobs run or start."),
        "schedules": ("schedules", "List what runs by the clock; show, add, change, pause, run or remove it."),
        "webhooks": (
            "webhooks",
            "List the endpoints that get events; add, show, change, enable or remove one; send an event.",
        ),
        "subscriptions": ("subscriptions", "List which jobs an event creates; add, enable, disable or remove one."),
        "incoming": (
            "incoming",
            "List the receivers of webhooks that create jobs; add, enable, disable or remove one.",
        ),
        "token": ("tokens", "List the tokens of the HTTP API; create or revoke one."),
        "breaker": ("breaker", "List breakers; open or close one."),
        "settings": ("installation", "List, read and change the settings of the installation."),
        "edit": ("edit", "Change a type, a queue, a limit, a setting or a job in your editor."),
    },
    "Maintain": {
        "migrate": ("migrate", "Bring a store's schema to the version of this mainstay, or print how."),
        "compact": ("migrate", "Make a SQLite file smaller after many jobs were deleted."),
        "move": ("migrate", "Copy every job, with its history, from one store to another."),
        "encryption": ("encryption", "Show which encryption keys are here and which are in use; make one; rotate."),
        "prune": ("prune", "Remove ended jobs and their history, a few at a time, so that workers go on."),
        "export": ("transfer", "Write jobs with their history to a file, as lines of JSON."),
        "import": ("transfer", "Read jobs from files that export or an archive has written."),
    },
}
# What people type who come from other programs, or guess.
MEANT = {
    "statistics": "stats", "throughput": "stats", "prometheus": "metrics", "ps": "workers", "htop": "top", "monitor": "top", "dashboard": "serve", "web": "serve", "ui": "serve", "api": "serve",
    "list": "ls", "jobs": "ls", "search": "ls", "find": "ls", "get": "show", "inspect": "show", "info": "show",
    "add": "enqueue", "push": "enqueue", "start": "worker", "run": "worker", "rm": "delete",
    "remove": "delete", "stop": "cancel", "kill": "cancel", "rerun": "retry", "run-again": "retry", "run_again": "retry", "result": "show", "output": "show", "log": "logs", "follow": "tail", "events": "tail", "attach": "watch", "wait": "watch", "decide": "reviews", "init": "migrate", "vacuum": "compact",
    "clean": "prune", "purge": "prune", "cleanup": "prune", "dump": "export", "backup": "export", "load": "import", "restore": "import",
    "prioritise": "reprioritise", "prioritize": "reprioritise", "reprioritize": "reprioritise", "priority": "reprioritise",
    "postpone": "reschedule", "delay": "reschedule", "snooze": "reschedule", "update": "amend", "modify": "amend", "operations": "bulk",
    "failures": "dead", "errors": "dead", "dlq": "dead", "duplicates": "dupes", "verify": "reconcile", "check": "reconcile", "hung": "stuck", "forget": "keys", "unlock": "keys", "locks": "keys",
    "incidents": "alerts", "alert": "alerts", "silence": "alerts",
    "unpause": "resume", "hold": "pause", "breakers": "breaker", "type": "types", "queue": "queues", "limit": "limits", "rates": "limits",
    "tokens": "token", "login": "token", "subscribe": "subscriptions", "subscription": "subscriptions", "emit": "publish", "receivers": "incoming", "inbound": "incoming",
    "webhook": "webhooks", "hooks": "webhooks", "endpoints": "webhooks", "setting": "settings", "schedule": "schedules", "cron": "schedules", "crontab": "schedules", "actions": "audit", "explain": "why", "set": "settings", "review": "reviews", "inbox": "reviews", "drain": "workers", "complete": "completion",
}  # fmt: skip
COMPLETING = "_MAINSTAY_COMPLETE"  # set by a shell that asks what fits the word at the cursor
COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}
FUNCTIONS = {"import": "import_"}  # of commands whose name is a word of Python
_EXCLUDED = re.compile(r"-[A-Za-z][A-Za-z._]*:")  # `-tag:eu` is a search term, not an option


class Program(click.Group):
    """The group of all commands, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of that name."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(
            import_module(f"mainstay.cli.{COMMANDS[cmd_name][0]}"), FUNCTIONS.get(cmd_name, cmd_name)
        )
        gc.enable()  # which `__main__` has disabled
        return (
            found if COMPLETING not in os.environ else import_module("mainstay.cli.completion").attach(found, cmd_name)
        )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return the commands that start so, without importing them, or the options."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        from click.shell_completion import CompletionItem

        named = {name: entry for name, entry in COMMANDS.items() if name.startswith(incomplete)}
        return [CompletionItem(name, help=summary) for name, (_, summary) in named.items()]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names; the error for an unknown one suggests the nearest."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = MEANT.get(args[0]) or closest(args[0], COMMANDS)
            again = " ".join(["mainstay", near, *args[1:]]) if near else "mainstay --help"
            hint = f' (did you mean "{near}"?)' if near else ""
            raise UsageError(f'there is no command "{args[0]}"{hint}', again)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. A reader that closes the pipe, as in `mainstay ls | head`, is not a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return _reader_gone()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for line in ("mainstay demo", "mainstay ls 'state:dead error:timeout' --url sqlite:///jobs.db"):
                formatter.write(f"  {line}\n")
        with formatter.section("Exit codes"):
            formatter.write_text(" · ".join(f"{code} {meaning}" for code, meaning in exits.MEANINGS.items()))


@click.command(cls=Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@url_option
@app_option
@click.option("--version", is_flag=True, help="Show the version.")
@click.option("--traceback", is_flag=True, help="Show the traceback of an error; accepted in any position.")
@click.pass_context
def program(context: click.Context, url: str | None, app: str | None, version: bool, traceback: bool) -> None:
    """Durable background jobs: enqueue, run, inspect and act.

    --url, MAINSTAY_URL or the settings file names the store. Your code is needed only to run jobs.
    """
    context.obj = {"url": url, "app": app}
    if version:
        from .. import __version__

        click.echo(f"mainstay {__version__}")
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code. An unexpected exception is reported as a bug, in one line."""
    words = [f" {word}" if _EXCLUDED.match(word) else word for word in argv if word != "--traceback"]
    traceback = "--traceback" in argv
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot print ✓ must not fail a command
    redacting.forget()
    if COMPLETING in os.environ:
        return int(import_module("mainstay.cli.completion").complete(program))
    try:
        return _run(words)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        exits.complain(error.format_message().rstrip("."), f"{context.command_path if context else 'mainstay'} --help")
        return exits.USAGE
    except (click.Abort, KeyboardInterrupt):
        return exits.INTERRUPTED
    except BrokenPipeError:
        return _reader_gone()
    except Exception as error:  # noqa: BLE001  (one line instead of a traceback)
        return exits.report(error, traceback)


def _run(words: Sequence[str]) -> int:
    code = program.main(args=list(words), prog_name="mainstay", standalone_mode=False)
    sys.stdout.flush()
    return code if isinstance(code, int) else exits.OK


def _reader_gone() -> int:
    """Discard the rest of stdout: Python would report an error when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return exits.OK

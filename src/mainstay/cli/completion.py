"""`completion`: shell completion. The shell asks `mainstay` itself, by an environment variable, what fits the word at the cursor.

What needs the store is left out if the store does not answer at once: a shell never waits, and never shows an error.
"""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)  # fmt: skip

from ..query import completed
from ..stores import existing
from .main import COMPLETING
from .options import command, shaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..app import Mainstay
    from .output import Output

    Names = Callable[[Mainstay, str], Iterable[str]]

SHELLS = {
    "bash": ("~/.bashrc", 'eval "$(mainstay completion bash)"'),
    "zsh": ("~/.zshrc", 'eval "$(mainstay completion zsh)"'),
    "fish": ("~/.config/fish/completions/mainstay.fish", "mainstay completion fish > ~/.config/fish/completions/mainstay.fish"),
}  # fmt: skip
PATIENCE = 1.0  # seconds for the store
MOST = 50  # ids
FILES = "file"  # what click calls a completion that the shell makes


@command("mainstay completion bash\nmainstay completion fish -q")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@shaped("Print only the script.")
def completion(output: Output, shell: str) -> None:
    """Print what makes your shell complete commands, options and names.

    Names are those of types, queues, schedules, jobs and workers. For bash and zsh, put eval "$(mainstay completion bash)" into ~/.bashrc, or zsh into ~/.zshrc. For fish, write the script to
    ~/.config/fish/completions/mainstay.fish.
    """
    from .main import program

    made = get_completion_class(shell)
    script = made(program, {}, "mainstay", COMPLETING).source() if made else ""
    file, line = SHELLS[shell]
    output.give(
        lambda: {"shell": shell, "file": file, "line": line, "script": script}, None, lambda: click.echo(script)
    )
    if output.tty:  # a shell that evaluates the script says nothing when it starts
        output.talk(f"put this into {file}: {line}" if shell != "fish" else f"to keep it: {line}")


class Bash(BashComplete):
    """Completion for bash, which takes the words of a search apart at their colons."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' item
    COMPREPLY=()
    for item in $(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" %(complete_var)s=bash_complete "$1" 2>/dev/null); do
        case $item in " file") compopt -o default; continue ;; *:) compopt -o nospace ;; esac
        COMPREPLY+=("$item")
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    @staticmethod
    def _check_version() -> None:
        """Leave out click's check, which starts a process."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the whole words before the cursor, and the one at the cursor."""
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)[1:]
        self._last = "" if line[-1:].isspace() or not words else words.pop()
        self._quoted = not line.endswith(self._last) or line.removesuffix(self._last).endswith(("'", '"'))
        return words, self._last

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return what bash puts in place of the part of the word that it knows; bash finds files by itself."""
        if item.type == FILES:
            return f" {FILES}"
        breaks = os.environ.get("COMP_BREAKS", "")
        cut = max((self._last.rfind(mark) + 1 for mark in ":=" if mark in breaks), default=0)
        return str(item.value)[0 if self._quoted else cut :]


add_completion_class(Bash)


# names ----------------------------------------------------------------------------------------------------------------
def _queues(app: Mainstay, start: str) -> list[str]:
    known = [info.queue for info in app.store.types()] + [rule.name for rule in app.store.rules(["queue"])]
    return sorted({*known, *(queue for worker in app.store.workers() for queue in worker.queues)})


def _settings(app: Mainstay, start: str) -> list[str]:
    return [setting.name for setting in app.settings()]


def _zones() -> list[str]:
    from zoneinfo import available_timezones

    return sorted(available_timezones())


# Kinds of names in the store: a function that returns those that may start so. Parts of mainstay add theirs.
KINDS: dict[str, Names] = {
    "types": lambda app, start: [info.name for info in app.store.types()],
    "queues": _queues,
    "workers": lambda app, start: [worker.id for worker in app.store.workers()],
    "jobs": lambda app, start: app.store.find(start.upper(), MOST),
    "reviews": lambda app, start: app.store.reviews(MOST),
    "limits": lambda app, start: [rule.name for rule in app.store.rules(["limit"])],
    "settings": _settings,
    "schedules": lambda app, start: [rule.name for rule in app.store.rules(["schedule"])],
    "webhooks": lambda app, start: [rule.name for rule in app.store.rules(["webhook"])],
    "subscriptions": lambda app, start: [rule.name for rule in app.store.rules(["subscription"])],
    "incoming": lambda app, start: [rule.name for rule in app.store.rules(["webhook_incoming"])],
    "tokens": lambda app, start: [rule.name for rule in app.store.rules(["token"])],
    "zones": lambda app, start: _zones(),
    "operations": lambda app, start: [each.id for each in app.bulk_operations()],
}
# The kind that a parameter takes, by its name; one of a command first.
TAKES = {
    "type": "types", "types": "types", "queue": "queues", "queues": "queues", "job": "jobs", "jobs": "search", "query": "search",
    "after": "jobs", "bulk resume operation": "operations", "bulk forget operation": "operations", "worker": "workers", "approve jobs": "reviews", "reject jobs": "reviews", "workers drain names": "workers",
    "workers stop names": "workers", "limits set name": "limits", "limits reset name": "limits", "settings get name": "settings",
    "settings set name": "settings", "settings unset name": "settings", "reviews after": "reviews", "edit kind": "kinds", "edit name": "edit",
    "search": "search", "tz": "zones", "files": FILES, "file": FILES, "path": FILES, "archive": FILES,
    **{f"schedules {verb} name": "schedules" for verb in ("show", "next", "set", "pause", "resume", "remove", "reset", "run")},
    **{f"webhooks {verb} id": "webhooks" for verb in ("show", "deliveries", "update", "enable", "disable", "remove", "rotate")}, "webhooks send to": "webhooks",
    **{f"{kind} {verb} name": kind for kind in ("subscriptions", "incoming") for verb in ("enable", "disable", "remove", "rotate")},
    "token revoke id": "tokens",
}  # fmt: skip
WORDS = {"kinds": ("type", "queue", "limit", "setting", "job")}  # beside names
ALSO = {"kinds": "reviews"}  # a kind of names beside words
VALUES = {"type": "types", "queue": "queues", "worker": "workers", "schedule": "schedules"}  # of the terms of a search
LISTED = ("types", "queues")  # parameters that take several names with commas


def attach(found: click.Command, path: str) -> click.Command:
    """Let the parameters of a command complete names."""
    for param in found.params:
        kind = TAKES.get(f"{path} {param.name}") or TAKES.get(param.name or "")
        if kind and not isinstance(param.type, click.Choice):
            param.shell_complete = partial(_complete, kind, param)  # type: ignore[method-assign]
    for name, each in getattr(found, "commands", {}).items():
        attach(each, f"{path} {name}")
    return found


def _complete(kind: str, param: click.Parameter, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    if kind == FILES:
        return [CompletionItem(incomplete, type=FILES)]
    if kind == "edit":
        kind = f"{ctx.params.get('kind')}s"
    if kind == "search":
        found = _search(ctx, incomplete)
    else:
        before, comma, last = incomplete.rpartition(",") if param.name in LISTED else ("", "", incomplete)
        names = [*WORDS.get(kind, ()), *_names(ctx, ALSO.get(kind, kind), last)]
        found = [before + comma + name for name in names if name.casefold().startswith(last.casefold())]
    return [CompletionItem(name) for name in found]


def _search(ctx: click.Context, incomplete: str) -> list[str]:
    """Return terms of a search, their names, then their values; and ids."""
    found = completed(incomplete, lambda name, start: _names(ctx, VALUES[name], start) if name in VALUES else ())
    is_id = incomplete and not incomplete.startswith("-") and ":" not in incomplete
    return found + (_names(ctx, "jobs", incomplete) if is_id else [])


def _names(ctx: click.Context, kind: str, start: str) -> list[str]:
    """Return the names of a kind that the store has; none if it does not answer at once."""
    found: list[str] = []

    def read() -> None:
        from ..app import Mainstay

        try:
            url = _url(ctx)
            if url and kind in KINDS:
                app = Mainstay(existing(url))
                found.extend(KINDS[kind](app, start))
        except Exception:  # noqa: BLE001, S110  (whatever it is, nobody can read it at a prompt)
            pass

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return found.copy()


def _url(ctx: click.Context | None) -> str | None:
    """Return the URL of the store, without importing an application."""
    while ctx is not None:
        if ctx.params.get("url"):
            return str(ctx.params["url"])
        ctx = ctx.parent
    from ..settings_file import load_settings

    return load_settings().url


def complete(program: click.Command) -> int:
    """Print what fits the word at the cursor; nothing if that fails."""
    try:
        program.main(args=[], prog_name="mainstay", complete_var=COMPLETING)
    except SystemExit:
        pass
    except Exception:  # noqa: BLE001, S110  (as above)
        pass
    return 0

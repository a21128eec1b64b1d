"""What commands print after a change of a rule: what it was and what it became, or would become."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..control import json_records
from ..core.errors import NotFound, UnknownType, UsageError
from ..redacting import redactor
from . import exits, rule_text
from .output import dumped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..control.records import Change
    from .groups import By
    from .output import Output

DECLARED = ("type", "queue", "limit", "schedule")  # kinds of rules that code declares too


# What the messages of the Python API call methods, and what is typed instead.
TYPED = {
    "; app.types() lists them": "", "; app.queues() lists them": "", "; app.limits() lists them": "",
    "; app.settings() lists them": "", "; app.schedules() lists them": "", "; app.webhooks.list() lists them": "", "; app.tokens.list() lists them": "",
    "; app.subscriptions.list() lists them": "", "; app.incoming.list() lists them": "", "app.limits() lists the limits": "mainstay limits lists them",
    "app.pause(type=…)": "mainstay pause --type", "app.pause(queue=…)": "mainstay pause --queue", "app.disable(type)": "mainstay disable",
    ", or None;": ", or none;",
    "event= (": "--event (", "type= (": "--type (",
    "data= belongs to event=: with type=,": "--data belongs to --event: with --type,",
}  # fmt: skip
OPTION = re.compile(r"\b(cron|every|tz|start|end|limit|jitter|catch_up|overlap)=(['\d]?)")


@contextmanager
def advised(listing: str, command: str) -> Iterator[None]:
    """Let an error about a name or a value say which command to type, instead of which method to call.

    `listing` lists the names that there are, `command` is the one that was typed.
    """
    try:
        yield
    except (UsageError, UnknownType, NotFound) as error:
        text = str(error)
        unknown = not isinstance(error, UsageError) or " is called " in text
        for method, instead in TYPED.items():
            text = text.replace(method, instead)
        if command.startswith("schedules"):
            text = OPTION.sub(lambda found: f"--{found[1].replace('_', '-')}{' ' if found[2] else ''}{found[2]}", text)
        advice = f"mainstay {listing}" if unknown else f"mainstay {command} --help"
        said = type(error)(text, error.attempt or advice)
        for note in getattr(error, "__notes__", ()):
            said.add_note(note)
        raise said from None


def report(
    output: Output, changes: Sequence[Change], by: By, told: str, then: str = "", declared: Mapping[str, Any] | None = None, same: str = "",
) -> int:  # fmt: skip
    """Print what changed, or would. Return the exit code.

    `told` says it in a sentence, or `same` if nothing changed; `then` is what to type to undo it.
    """
    rows = [row for change in changes for row in differences(change, declared or {})]
    changed = any(change.changed for change in changes)
    told = told if changed or not same else same

    def text() -> None:
        if rows:
            output.table(["", "BEFORE", "AFTER"], [[(name, "bold"), before, after] for name, before, after in rows])
        if by.dry_run and changed:
            output.talk(f"--dry-run: nothing changed. Without it: {told}")
        else:
            output.talk(told)
        if then and changed and not by.dry_run:
            output.talk(f"  to undo: {then}")

    output.give(lambda: _record(changes, by, changed), [changes[0].name] if changed else [], text)
    return exits.OK


def give_secret(output: Output, told: str, advice: str, undo: str, quiet: str, **made: str) -> int:
    """Print a secret that was made, this once, with the name of what it is for; with `-q` only `quiet`. Return the exit code."""
    width = max(map(len, made))
    text = "\n".join(f" {name:{width}}  {value}" for name, value in made.items())
    output.secret(quiet if output.shape.quiet else text, **made)
    output.talk(told)
    output.talk(advice)
    if undo:
        output.talk(f"  to undo: {undo}")
    return exits.OK


def _record(changes: Sequence[Change], by: By, changed: bool) -> dict[str, Any]:
    """Return the changes of one thing as a record: before the first and after the last."""
    first, last = changes[0], changes[-1]
    named = {"name": first.name} if first.kind == "setting" else {}
    before, after = (
        redactor().value({**named, **side}) if side and named else side for side in (first.before, last.after)
    )
    return {
        "kind": first.kind, "name": first.name, "before": json_records.plain(before), "after": json_records.plain(after),
        "changed": changed and not by.dry_run, "dry_run": by.dry_run, "actor": by.actor, "reason": by.reason,
    }  # fmt: skip


def differences(change: Change, declared: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the names whose values differ, each with the value before and after."""
    if change.kind in ("pause", "breaker", "triage"):
        return []  # the sentence says it
    sides = (
        [redactor().value({"name": change.name, **(side or {})}) for side in change[2:]]
        if change.kind == "setting"
        else change[2:]
    )
    before, after = (
        {name: value for name, value in (side or {}).items() if name not in ("disabled", "name")} for side in sides
    )
    return [
        (rule_text.called(name, change.kind), *(_side(side, name, change.kind, declared) for side in (before, after)))  # type: ignore[misc]
        for name in dict.fromkeys([*before, *after])
        if before.get(name, ...) != after.get(name, ...) and not _as_declared(change, name, declared)
    ]  # fmt: skip


def _as_declared(change: Change, name: str, declared: Mapping[str, Any]) -> bool:
    """Return whether a value of a schedule was and is what code declares: its job is set as a whole."""
    sides = [(side or {}).get(name, declared.get(name, ...)) for side in change[2:]]
    return change.kind == "schedule" and name in declared and sides == [declared[name]] * 2


def _side(values: Mapping[str, Any], name: str, kind: str, declared: Mapping[str, Any]) -> str:
    if name in values:
        return dumped(values[name]) if kind == "setting" else rule_text.value(name, values[name])
    if name in declared:
        return f"{rule_text.value(name, declared[name])} (declared)"
    return rule_text.NONE

"""`types`: lists types, shows one, and sets what holds for its jobs over what the code declares."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core import retention
from ..core.errors import NotFound, UsageError
from ..core.suggest import did_you_mean
from . import records, rule_text
from .breaker import opened
from .changing import advised, report
from .groups import changes, group, subcommand
from .options import on_store
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..app import Mainstay
    from ..control.records import BreakerRecord, Override, Pause, TypeRecord
    from .groups import By
    from .options import Target
    from .output import Cell, Output

NAMES = ("queue", "priority", "attempts", "timeout", "keep", *retention.NAMES)  # that `types set` takes
NUMBERS = ("priority", "attempts", "keep_last")


@group(
    """
    mainstay types
    mainstay types show extract
    mainstay types set extract timeout=2m attempts=5 --reason "the API is slow"
    mainstay types reset extract timeout
    """
)
@on_store("Print only the names, one per line.")
def types(target: Target, output: Output) -> None:
    """List types; show one; set what holds for its jobs over what the code declares.

    A type is listed once a worker has served it. A value that is set holds for jobs enqueued from now on, unless their
    producer chose another, and survives deploys.
    """
    with target.open() as app:
        output.now, found = app.clock.now(), app.types()
        breakers = {each.type: each for each in app.breakers()}
    records.give(output, [_record(each, breakers) for each in found], [each.name for each in found],
        lambda: _print_all(output, found, breakers),
    )  # fmt: skip
    if not found:
        output.talk("no worker has registered a type yet: mainstay worker --app …")


def _record(each: TypeRecord, breakers: dict[str, BreakerRecord]) -> dict[str, Any]:
    return {**json_records.plain(each), "breaker": json_records.plain(breakers.get(each.name))}


def _print_all(output: Output, found: Sequence[TypeRecord], breakers: dict[str, BreakerRecord]) -> None:
    rows: list[list[Cell]] = [
        [
            (each.name, "bold"), each.queue, state(each, breakers.get(each.name)), _limits(each), (str(len(each.set) or ""), "warn"),
            (each.description or "", "dim"),
        ]
        for each in found
    ]  # fmt: skip
    headers = ["TYPE", "QUEUE", "STATE", "LIMITS", "SET", "DESCRIPTION"]
    output.filled_table(headers, rows, always=(0, 1, 2))
    if any(each.set for each in found):
        output.line(
            ("SET: values that operators have set over what the code declares: types show TYPE", "dim"), indent=1
        )


def _limits(each: TypeRecord) -> str:
    return ", ".join(map(rule_text.short_limit, each.effective.get("limit") or ()))


def state(each: TypeRecord, breaker: BreakerRecord | None = None) -> Cell:
    """Return whether a type takes and starts jobs."""
    found = ["⊘ disabled"] * bool(each.disabled) + ["⏸ paused"] * bool(each.paused)
    if breaker is not None and breaker.state != "closed":
        found.append("⚡ resting" if breaker.state == "open" else "⚡ probing")
    return (", ".join(found), "warn") if found else ("ready", "dim")


# One type ---------------------------------------------------------------------------------------------------------------


@subcommand(types, "show", "mainstay types show extract\nmainstay types show extract --json")
@click.argument("type")
@on_store("Print only the name.")
def show(target: Target, output: Output, type: str) -> None:
    """Show one type: what its code declares, what operators set, what holds; its payload, pauses and breaker."""
    with target.open() as app:
        output.now = app.clock.now()
        found = find(app, type)
        breakers = {each.type: each for each in app.breakers()}
    output.give(
        lambda: _record(found, breakers),
        [found.name],
        lambda: _print_one(output, found, breakers.get(found.name), target),
    )


def find(app: Mainstay, name: str) -> TypeRecord:
    """Return the type of that name, or raise with the closest one."""
    found = app.types()
    for each in found:
        if each.name == name:
            return each
    hint = did_you_mean(name, [each.name for each in found])
    raise NotFound(f"no worker has registered a type {name}{hint}", "mainstay types")


def _print_one(output: Output, each: TypeRecord, breaker: BreakerRecord | None, target: Target) -> None:
    output.line((each.name, "bold"), "  ", state(each, breaker))
    if each.description:
        output.paragraph(text=each.description, indent=2)
    facts = [f"{word} {output.when(json_records.instant(at))}" for word, at in _instants(each) if at is not None]
    output.facts(*((fact, "dim") for fact in facts), indent=2)
    _print_holds(output, each, breaker, target)
    output.heading("values")
    output.table(
        ["", "DECLARED", "SET", "HOLDS", "BY"], [_value(output, each, name) for name in _names(each)], indent=3
    )
    _print_limits(output, each)
    if breaker is not None and breaker.failures is not None:
        _print_breaker(output, breaker)
    if each.stages:
        output.heading("stages")
        output.paragraph(text=" → ".join(each.stages), indent=3)
    _print_payload(output, each.schema)
    if each.set:
        output.line()
        output.line((f"→ {typed('types', 'reset', each.name, target=target)}   (all as declared)", "link"), indent=1)


def _instants(each: TypeRecord) -> list[tuple[str, Any]]:
    return [("registered", each.created_at), ("changed", each.updated_at), ("last seen", each.seen_at)]


def _print_holds(output: Output, each: TypeRecord, breaker: BreakerRecord | None, target: Target) -> None:
    """Print why the type takes or starts no jobs, each with what ends it."""
    for pause in each.paused:
        _print_hold(output, paused(output, pause), typed("resume", *pause_words(pause), target=target))
    if each.disabled:
        who = by(output, each.disabled)
        _print_hold(output, f"disabled{who}: it takes no jobs", typed("enable", each.name, target=target))
    if breaker is not None and breaker.state != "closed":
        text = f"the breaker is {breaker.state}, opened {opened(output, breaker)}"
        _print_hold(output, text, typed("breaker", "close", each.name, target=target))


def _print_hold(output: Output, text: str, fix: str) -> None:
    output.paragraph(("! ", "warn"), text=text, indent=2)
    output.line((f"→ {fix}", "link"), indent=4)


def paused(output: Output, pause: Pause) -> str:
    """Return who has paused what, when and why: `paused by ada 2h ago: gateway maintenance`."""
    what = {"type": "", "queue": f"the queue {pause.name} is "}.get(pause.of, "everything is ")
    who = f" by {pause.actor}" if pause.actor else ""
    return f"{what}paused{who} {output.when(json_records.instant(pause.at))}" + (
        f": {pause.reason}" if pause.reason else ""
    )


def pause_words(pause: Pause) -> list[str]:
    """Return the options that name a pause."""
    return [f"--{pause.of}", pause.name] if pause.of in ("type", "queue") else ["--all"]


def by(output: Output, override: Override) -> str:
    """Return who has set a value and when: ` by ada 2h ago`."""
    when = f" {output.when(json_records.instant(override.at))}" if override.at else ""
    return f" by {override.actor}{when}" if override.actor else when


def _names(each: TypeRecord) -> list[str]:
    usual = [name for name in NAMES if name not in retention.NAMES]  # few types have those
    names = dict.fromkeys([*usual, *each.declared, *each.set, *each.effective])
    return [name for name in names if name != "limit"]


def _value(output: Output, each: TypeRecord, name: str) -> list[Cell]:
    override = each.set.get(name)
    drift = name in each.drift
    return [
        name, (_text(each.declared, name), "dim" if drift else ""),
        (rule_text.value(name, override.value), "warn") if override else "", (_text(each.effective, name), "bold" if drift else ""),
        (by(output, override).removeprefix(" by "), "dim") if override else "",
    ]  # fmt: skip


def _text(values: Any, name: str) -> str:
    return rule_text.value(name, values[name]) if name in values else rule_text.NONE


def _print_limits(output: Output, each: TypeRecord) -> None:
    """Print the limits of the type; those that an operator has added are marked."""
    given, override = each.effective.get("limit") or (), each.set.get("limit")
    added = {spec.get("name") for spec in override.value or ()} if override else set()
    rows: list[list[Cell]] = [
        [(spec.get("name", ""), "bold"), rule_text.limit(spec), ("set" + by(output, override), "warn") if override and spec.get("name") in added else ""]
        for spec in given
    ]  # fmt: skip
    if rows:
        output.heading("limits")
        output.table(["", "", ""], rows, indent=3, whole=(0,))


def _print_breaker(output: Output, breaker: BreakerRecord) -> None:
    rest = f", rests {rule_text.value('rest', breaker.rest)}" if breaker.state == "closed" else ""
    output.heading("breaker")
    text = f"opens when {breaker.failures:.0%} of the last {breaker.of} outcomes failed{rest}"
    output.paragraph(text=f"{text}; now {breaker.failed} of {breaker.seen} failed", indent=3)


def _print_payload(output: Output, schema: Any) -> None:
    fields = schema.get("properties") or {}
    rows: list[list[Cell]] = [
        [(name, "bold"), _kind(field), ("" if name in schema.get("required", ()) else "optional", "dim")]
        for name, field in fields.items()
    ]
    if rows:
        output.heading("payload")
        output.table(["", "", ""], rows, indent=3)


def _kind(field: Any) -> str:
    if not isinstance(field, dict):
        return "any"
    if "anyOf" in field:
        return " or ".join(map(_kind, field["anyOf"]))
    found = field.get("type") or (str(field["$ref"]).rpartition("/")[2] if "$ref" in field else "any")
    kind = " or ".join(found) if isinstance(found, list) else str(found)
    default = f" = {rule_text.value('', field['default'])}" if "default" in field else ""
    return (f"{kind} of {_kind(field['items'])}" if kind == "array" and "items" in field else kind) + default


# Change -----------------------------------------------------------------------------------------------------------------


@subcommand(
    types, "set",
    """
    mainstay types set extract timeout=2m attempts=5
    mainstay types set extract priority=10 queue=slow keep=30d --dry-run
    mainstay types set extract timeout=none --reason "it takes as long as it takes"
    """,
)  # fmt: skip
@click.argument("type")
@click.argument("values", nargs=-1, metavar="NAME=VALUE…")
@changes()
def set_type(target: Target, output: Output, by: By, type: str, values: tuple[str, ...]) -> int:
    """Set values of a type over what its code declares: queue, priority, attempts, timeout, keep and so on.

    They hold for jobs enqueued from now on, unless their producer chose another value, and survive deploys. A duration is 90s,
    5m or 2h; none means no timeout, or to keep jobs for ever. keep is for completed and cancelled jobs, keep_cancelled for
    cancelled ones alone, keep_dead for dead ones; keep_last is how many stay of each state. mainstay limits set sets limits.
    """
    with target.open() as app, advised("types", "types set"):
        given = assignments("types set", type, values)
        declared = _declared(app, type)
        change = app.set_type(type, **given, **by._asdict())
    names = ", ".join(given)
    told = f"{names} of {type}: for jobs from now on." if change.changed else f"{names} of {type}: as before."
    return report(output, [change], by, told, typed("types", "reset", type, *given, target=target), declared)


def _declared(app: Mainstay, name: str) -> Any:
    return next((each.declared for each in app.types() if each.name == name), {})


def assignments(command: str, name: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the values in words such as `timeout=2m`; raise `UsageError` for others."""
    if not words:
        raise UsageError(
            f"what to set? {', '.join(NAMES)}", f"mainstay {command} {shlex.quote(name)} timeout=2m attempts=5"
        )
    given = {}
    for word in words:
        left, equals, right = word.partition("=")
        if not equals:
            raise UsageError(
                f"{word!r}: values are written name=value", f"mainstay {command} {shlex.quote(name)} {left}=…"
            )
        if left not in NAMES:
            raise UsageError(f"there is no value {left!r}{did_you_mean(left, NAMES)}; there are: {', '.join(NAMES)}")
        given[left] = _parsed(left, right)
    return given


def _parsed(name: str, text: str) -> Any:
    if text.lower() in ("none", "null") and name in ("timeout", "keep", *retention.NAMES):
        return None
    if name not in NUMBERS:
        return text
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"{name}={text}: a whole number") from None


@subcommand(types, "reset", "mainstay types reset extract\nmainstay types reset extract timeout attempts --dry-run")
@click.argument("type")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@changes()
def reset_type(target: Target, output: Output, by: By, type: str, names: tuple[str, ...]) -> int:
    """Remove what operators have set on a type: these values, or all. What the code declares holds again."""
    with target.open() as app, advised("types", "types reset"):
        declared = _declared(app, type)
        change = app.reset_type(type, *names, **by._asdict())
    told = f"{type} is as its code declares{': ' * bool(names)}{', '.join(names)}."
    return report(output, [change], by, told, declared=declared, same=f"nothing is set on {type}.")

"""`alerts`: what is wrong and was; the rules that find it; the channels that tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..control.settings import parsed
from ..core.alerts import RULES
from ..core.clock import iso
from ..core.errors import UsageError
from . import exits, records
from .changing import advised, report
from .enqueue_args import duration
from .groups import changes, group, subcommand
from .options import on_store
from .output import plural
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..control.records import AlertRule, Incident
    from .groups import By
    from .options import Target
    from .output import Output

STYLES = {"warning": "warn", "error": "bad", "high": "bad"}


@group(
    """
    mainstay alerts
    mainstay alerts --all
    mainstay alerts rules
    mainstay alerts set depth threshold=500 severity=error
    mainstay alerts silence running --for 2h --reason "a long import"
    mainstay alerts test
    """
)
@click.option("--all", "everything", is_flag=True, help="Also what is over, of the last seven days.")
@on_store("Print only the ids of the incidents, one per line.")
def alerts(target: Target, output: Output, everything: bool) -> None:
    """List what is wrong; the rules that find it; set or silence one; test the channels.

    One worker of all looks once a minute. Each incident is told once when it begins, and once when it is over.
    """
    with target.open() as app:
        output.now = app.clock.now()
        found = app.alerts.history() if everything else app.alerts.open()
    none = "there were no incidents" if everything else "nothing is wrong by the rules: mainstay alerts rules"
    records.listed(output, found, "id", _print, none)


def _print(output: Output, found: Sequence[Incident]) -> None:
    cells = [(each.severity, each.rule, f"{_state(each)} {_since(output, each)}") for each in found]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for each, (severity, rule, state) in zip(found, cells, strict=True):
        head = (
            (f"{severity:{widths[0]}}", STYLES[severity]),
            (f"  {rule:{widths[1]}}", "bold"),
            (f"  {state:{widths[2]}}  ", "dim"),
        )
        output.paragraph(*head, text=each.text, indent=1)


def _since(output: Output, each: Incident) -> str:
    return output.when(json_records.instant(each.closed_at or each.opened_at))


def _state(each: Incident) -> str:
    return "over" if each.closed_at is not None else "silenced" if each.silenced else "open"


# Rules --------------------------------------------------------------------------------------------------------------------


@subcommand(alerts, "rules", "mainstay alerts rules\nmainstay alerts rules --json")
@on_store("Print only the names, one per line.")
def rules(target: Target, output: Output) -> None:
    """List the rules, as they hold."""
    with target.open() as app:
        output.now, found = app.clock.now(), app.alerts.rules()
    records.listed(output, found, "name", _print_rules)


def _print_rules(output: Output, found: Sequence[AlertRule]) -> None:
    for each in found:
        style = STYLES[each.severity] if each.enabled else "dim"
        head = (f"{each.name:8}", "bold"), (f"  {each.severity if each.enabled else 'off':7}  ", style)
        until = (
            ""
            if each.silenced_until is None
            else f" (nobody is told: silenced until {iso(json_records.instant(each.silenced_until))})"
        )
        output.paragraph(*head, text=each.about + until, indent=1)


@subcommand(
    alerts, "set",
    """
    mainstay alerts set depth threshold=500 severity=error
    mainstay alerts set failures threshold=0.05 least=100
    mainstay alerts set critical threshold=charge,refund --dry-run
    mainstay alerts set oldest enabled=false
    """,
)  # fmt: skip
@click.argument("rule")
@click.argument("values", nargs=-1, metavar="NAME=VALUE…")
@changes()
def set_rule(target: Target, output: Output, by: By, rule: str, values: tuple[str, ...]) -> int:
    """Set a rule: threshold, severity (warning, error, high), enabled (true, false), and least for a rate.

    A threshold is a number, a duration such as 30m, a part such as 0.1, or types separated by commas, as the rule needs it. It holds
    for the whole fleet from the next look on.
    """
    with target.open() as app, advised("alerts rules", "alerts set"):
        change = app.alerts.set(rule, **_assigned(rule, values), **by._asdict())
    undo = typed("alerts", "reset", rule, target=target)
    return report(output, [change], by, f"the alert {rule} is set.", undo, same=f"the alert {rule} is as before.")


def _assigned(rule: str, words: Sequence[str]) -> dict[str, Any]:
    given = dict(word.partition("=")[::2] for word in words if "=" in word)
    if not words or len(given) != len(words):
        raise UsageError("write NAME=VALUE, each name once", f"mainstay alerts set {rule} threshold=… severity=error")
    names = given.pop("threshold", None) if rule in RULES and isinstance(RULES[rule].threshold, tuple) else None
    return {name: parsed(value) for name, value in given.items()} | ({} if names is None else {"threshold": names})


@subcommand(alerts, "reset", "mainstay alerts reset depth")
@click.argument("rule")
@changes()
def reset(target: Target, output: Output, by: By, rule: str) -> int:
    """Remove what was set of a rule, and its silence."""
    with target.open() as app, advised("alerts rules", "alerts reset"):
        change = app.alerts.reset(rule, **by._asdict())
    same = f"nothing was set of the alert {rule}."
    return report(output, [change], by, f"the alert {rule} is as it comes.", same=same)


@subcommand(
    alerts,
    "silence",
    'mainstay alerts silence running --for 2h --reason "a long import"\nmainstay alerts silence running --for 0s',
)
@click.argument("rule")
@click.option("--for", "length", required=True, metavar="DURATION", help="How long nobody is told; 0s ends it.")
@changes()
def silence(target: Target, output: Output, by: By, rule: str, length: str) -> int:
    """Tell nobody of a rule's incidents for some time.

    What is still wrong afterwards is told then.
    """
    with target.open() as app, advised("alerts rules", "alerts silence"):
        lasts = duration("--for", length)
        change = app.alerts.silence(rule, lasts, **by._asdict())
    told = (
        f"nobody is told of the alert {rule} for {length}."
        if (change.after or {}).get("silenced")
        else f"the alert {rule} is not silenced."
    )
    return report(output, [change], by, told, typed("alerts", "silence", rule, "--for", "0s", target=target))


# Channels -----------------------------------------------------------------------------------------------------------------


@subcommand(alerts, "test", "mainstay alerts test\nmainstay alerts test --json")
@on_store("Print only the channels that failed, one per line.")
def test(target: Target, output: Output) -> int:
    """Send a test notice to every channel of the settings.

    Exit code 3 if some have not taken it, 1 if none has.
    """
    with target.open() as app:
        for name, spec in target.settings().alerts.items():
            app.alerts.send_to(name, **spec)
        found = app.alerts.test()
        kinds = {name: each.kind for name, each in app.alerts.channels.items()}
    failed = [name for name, problem in found.items() if problem]
    data = [
        {"channel": name, "kind": kinds[name], "ok": not problem, "error": problem or None}
        for name, problem in found.items()
    ]
    output.give(lambda: data, failed, lambda: _print_test(output, found, kinds))
    output.talk(f"{plural(len(found) - len(failed), 'channel')} of {len(found)} took the test notice.")
    return exits.OK if not failed else exits.FAILED if len(failed) == len(found) else exits.PARTIAL


def _print_test(output: Output, found: dict[str, str], kinds: dict[str, str]) -> None:
    width = max(map(len, found))
    for name, problem in found.items():
        head = (
            (f"{name:{width}}", "bold"),
            f"  {kinds[name]:7}",
            ("  failed  ", "bad") if problem else ("  ok      ", "good"),
        )
        output.paragraph(*head, text=problem or "it took the notice", indent=1)

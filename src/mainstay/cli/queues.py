"""`queues`: lists queues, and sets how deep one may be, how fair it is and how many of its jobs run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core.depth import WHEN_FULL
from ..core.errors import UsageError
from ..core.limits import Limit
from . import records, rule_text
from .changing import advised, report
from .groups import changes, group, subcommand
from .options import on_store, with_options
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..control.records import QueueRecord
    from .groups import By
    from .options import Target
    from .output import Cell, Output

LIMIT = ("running", "rate", "burst")


@group(
    """
    mainstay queues
    mainstay queues set llm --max-depth 10000 --when-full wait --wait 5s
    mainstay queues set llm --fair --weight acme=3 --running 20
    mainstay queues reset llm
    """
)
@on_store("Print only the names, one per line.")
def queues(target: Target, output: Output) -> None:
    """List queues; set how deep one may be, how fair, how many of its jobs run.

    DEPTH counts queued, scheduled and blocked jobs; OLDEST is how long the first queued job has been waiting.
    """
    with target.open() as app:
        output.now, found = app.clock.now(), app.queues()
    records.listed(output, found, "name", _print, "there are no queues yet: the first job makes one")


def _print(output: Output, found: Sequence[QueueRecord]) -> None:
    rows = [_row(output, each) for each in found]
    headers = ["QUEUE", "STATE", "DEPTH", "MAX", "WHEN FULL", "RUNNING", "OLDEST", "FAIR", "LIMIT", "SET"]
    output.filled_table(headers, rows, always=(0, 1, 2, 5, 6), right=(2, 3, 5, 6))


def _row(output: Output, each: QueueRecord) -> list[Cell]:
    rules = each.effective
    most = rules.get("max_depth")
    full = most is not None and each.depth >= most
    state: Cell = ("⏸ paused", "warn") if each.paused else ("full", "bad") if full else ("open", "dim")
    oldest = "–" if each.oldest is None else output.spent(max(output.now - json_records.instant(each.oldest), 0))
    return [
        (each.name, "bold"), state, f"{each.depth:,}{'+' * each.capped}", "" if most is None else f"{most:,}",
        "" if most is None else _when_full(rules), f"{each.counts.get('running', 0):,}", oldest, _fair(rules),
        rule_text.limit(rules) if rules.get("running") or rules.get("rate") else "", (str(len(each.set) or ""), "warn"),
    ]  # fmt: skip


def _when_full(rules: Any) -> str:
    how = rules.get("when_full") or "raise"
    more = {"wait": ("wait", ""), "shed": ("below", "below "), "sample": ("one_in", "1 in ")}.get(how)
    if more is None or more[0] not in rules:
        return str(how)
    return f"{how} {more[1]}{rule_text.value(more[0], rules[more[0]])}"


def _fair(rules: Any) -> str:
    parts = ["yes"] * bool(rules.get("fair"))
    parts += [rule_text.value("weights", dict(rules["weights"]))] if rules.get("weights") else []
    parts += [f"aging {rule_text.value('aging', rules['aging'])}"] if rules.get("aging") else []
    return " ".join(parts)


# Change -----------------------------------------------------------------------------------------------------------------

_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--max-depth", metavar="N|none", help="How many jobs may wait in it; none: any number."),
    click.option("--when-full", type=click.Choice(WHEN_FULL), help="raise an error, wait for room, shed what is below a priority, or sample: keep one in N."),
    click.option("--wait", metavar="DURATION", help="How long an enqueue waits for room: 5s."),
    click.option("--below", type=int, metavar="PRIORITY", help="shed: a full queue refuses jobs with a lower priority."),
    click.option("--one-in", type=int, metavar="N", help="sample: a full queue keeps one job in N."),
    click.option("--fair/--no-fair", default=None, help="Whether tenants take turns."),
    click.option("--weight", multiple=True, metavar="TENANT=N", help="The share of a tenant; may be repeated. Replaces all weights."),
    click.option("--aging", metavar="DURATION|none", help="So long a wait is worth one step of priority."),
    click.option("--running", type=int, metavar="N", help="How many of its jobs may run at once."),
    click.option("--rate", metavar="N/TIME", help="How many of its jobs may start: 10/s, 100/m."),
    click.option("--burst", type=int, metavar="N", help="With a rate: how many may start at once."),
    click.option("--no-limit", is_flag=True, help="Any number of its jobs may run and start."),
)  # fmt: skip


@subcommand(
    queues, "set",
    """
    mainstay queues set llm --max-depth 10000 --when-full wait --wait 5s
    mainstay queues set llm --fair --weight acme=3 --weight trial=0.5
    mainstay queues set mail --running 20 --rate 10/s --dry-run
    """,
)  # fmt: skip
@click.argument("queue")
@with_options(*_OPTIONS)
@changes()
def set_queue(target: Target, output: Output, by: By, queue: str, **given: Any) -> int:
    """Set rules of a queue over what code declares. They hold at once and survive deploys."""
    with target.open() as app, advised("queues", "queues set"):
        known = next((each for each in app.queues() if each.name == queue), None)
        values = rules_of(given, known.effective if known else {})
        if not values:
            raise UsageError(
                "what to set?", f"{typed('queues', 'set', queue)} --max-depth 10000   (--help lists the rules)"
            )
        change = app.set_queue(queue, **values, **by._asdict())
    told, same = f"the rules of the queue {queue} hold.", f"the rules of the queue {queue} are as before."
    undo = typed("queues", "reset", queue, target=target)
    return report(output, [change], by, told, undo, known.declared if known else {}, same)


def rules_of(given: dict[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as `app.set_queue` takes them; those of a limit are joined with the limit that holds."""
    values = {
        name: None if str(value).lower() == "none" else value
        for name, value in given.items() if value is not None and name not in (*LIMIT, "weight", "no_limit")
    }  # fmt: skip
    depth = values.get("max_depth")
    if depth is not None:
        values["max_depth"] = _whole("--max-depth", depth)
    if given.get("weight"):
        values["weights"] = _weights(given["weight"])
    limit = {name: given[name] for name in LIMIT if given.get(name) is not None}
    if limit and given.get("no_limit"):
        raise UsageError("--no-limit takes no --running, --rate or --burst")
    if limit:
        values["limit"] = Limit(**{name: held[name] for name in LIMIT if held.get(name) is not None} | limit)
    return values | ({"limit": None} if given.get("no_limit") else {})


def _whole(option: str, text: str) -> int:
    try:
        return int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise UsageError(f"{option} {text}: a whole number, or none") from None


def _weights(words: Sequence[str]) -> dict[str, float]:
    found = {}
    for word in words:
        tenant, _, weight = word.rpartition("=")
        try:
            found[tenant] = int(weight) if weight.isdecimal() else float(weight)
        except ValueError:
            tenant = ""
        if not tenant:
            raise UsageError(f"--weight {word!r}: write the tenant and its share, such as acme=3")
    return found


@subcommand(queues, "reset", "mainstay queues reset llm\nmainstay queues reset llm max_depth --dry-run")
@click.argument("queue")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@changes()
def reset_queue(target: Target, output: Output, by: By, queue: str, names: tuple[str, ...]) -> int:
    """Remove what operators have set on a queue: these rules, or all. What code declares holds again."""
    with target.open() as app, advised("queues", "queues reset"):
        words = [name.removeprefix("--").replace("-", "_") for name in names]
        chosen = dict.fromkeys("limit" if word in LIMIT else "weights" if word == "weight" else word for word in words)
        change = app.reset_queue(queue, *chosen, **by._asdict())
    told = f"the queue {queue} has the rules that code declares."
    return report(output, [change], by, told, same=f"nothing is set on the queue {queue}.")

"""`schedules`: lists what runs by the clock; adds, changes, pauses, runs and removes it."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core.errors import ConfigError, UsageError
from ..core.schedule import CATCH_UP, OVERLAP
from . import enqueue_args, exits, records, schedule_text as text
from .changing import advised, report
from .groups import changes, group, subcommand
from .options import how_many, on_store, with_options
from .quoting import typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..app import Mainstay
    from ..control.records import Change, ScheduleRecord
    from .groups import By
    from .options import Target
    from .output import Output

FIRES, JOBS = 5, 5  # that `show` lists
NO_OPTIONS = {"tag": (), "queue": None, "priority": None, "tenant": None, "ref": None, "attempts": None}


@group(
    """
    mainstay schedules
    mainstay schedules show nightly
    mainstay schedules add cleanup purge days=30 --cron "0 4 * * *" --tz Europe/Berlin
    mainstay schedules set cleanup --every 6h
    mainstay schedules pause cleanup --reason "moving the archive"
    """
)
@on_store("Print only the names, one per line.")
def schedules(target: Target, output: Output) -> None:
    """List what runs by the clock; show, add, change, pause, run or remove it."""
    with _coded(target) as app:
        output.now, found = app.clock.now(), app.schedules()
    none = 'there are no schedules: app.schedule(…) declares one, "mainstay schedules add" makes one'
    records.listed(output, found, "name", text.listed, none)


@contextmanager
def _coded(target: Target) -> Iterator[Mainstay]:
    """Open the store, with the application's code where that is known: it tells which schedules are declared in it."""
    app = None
    if target.wants_code():
        try:
            app = target.application()
        except ConfigError:  # the store tells the rest
            app = None
    if app is None:
        with target.open() as found:
            yield found
    else:
        with closing(app):
            yield app


# Show -------------------------------------------------------------------------------------------------------------------


@subcommand(schedules, "show", "mainstay schedules show nightly\nmainstay schedules show nightly --json")
@click.argument("name")
@on_store("Print only the ids of its last jobs, one per line.")
def show(target: Target, output: Output, name: str) -> None:
    """Show a schedule: its values, its next fires and its last jobs."""
    with _coded(target) as app, advised("schedules", "schedules show"):
        output.now = app.clock.now()
        each = _found(app, name)
        fires = app.next_fires(name, FIRES) if each.paused is None and not each.problem else []
        jobs = app.store.get_many(app.search(f"schedule:{name}", JOBS).ids)
    record = json_records.plain(each) | {
        "next_fires": json_records.plain(fires), "jobs": [json_records.of_job(job, output.now) for job in jobs],
    }  # fmt: skip

    output.give(lambda: record, [job.id for job in jobs], lambda: text.one(output, each, fires, jobs))


def _found(app: Mainstay, name: str) -> ScheduleRecord:
    from ..control.schedules import found

    found(app, name)
    return next(each for each in app.schedules() if each.name == name)


@subcommand(
    schedules, "next",
    """
    mainstay schedules next nightly
    mainstay schedules next --cron "30 2 * * *" --tz America/New_York -n 10
    """,
)  # fmt: skip
@click.argument("name", required=False)
@click.option("--cron", metavar="EXPRESSION", help="Of this expression, instead of a schedule.")
@click.option("--every", metavar="DURATION", help="Of this interval, instead of a schedule.")
@click.option("--tz", metavar="ZONE", help="The time zone of the expression.")
@how_many("--count", 10, "How many.", most=1_000)
@on_store("Print only the instants in UTC, one per line.")
def next_fires(target: Target, output: Output, name: str | None, count: int, **given: Any) -> None:
    """Show when a schedule fires next; or, before you add it, when an expression would."""
    times = {each: value for each, value in given.items() if value is not None}
    if name is None and not times:
        raise UsageError("which schedule?", f"{typed('schedules', 'next')} NAME   (or --cron '0 4 * * *')")
    with advised("schedules", "schedules next"):
        if name is None:
            from ..app import Mainstay

            found, tz = Mainstay("sqlite:///:memory:").next_fires(count=count, **times), times.get("tz", "UTC")
        else:
            with _coded(target) as app:
                found, tz = app.next_fires(name, count, **times), _found(app, name).tz
    shown = [{"at": json_records.plain(at), "local": text.local(at, tz), "tz": tz} for at in found]
    output.give(lambda: shown, [each["at"] for each in shown], lambda: text.fires(output, found, tz))
    if not found:
        output.talk("it does not fire any more")


# Change -----------------------------------------------------------------------------------------------------------------

_TIMES: tuple[Callable[..., Any], ...] = (
    click.option("--cron", metavar="EXPRESSION", help="Five fields, or six with seconds first, or @daily and so on."),
    click.option("--every", metavar="DURATION", help="An interval in real time: 90s, 15m, 6h."),
    click.option("--tz", metavar="ZONE", help="The time zone of the expression, e.g. Europe/Berlin. Default: UTC."),
    click.option("--start", metavar="INSTANT", help="No tick before: 2026-01-31T09:30 (local) or …Z."),
    click.option("--end", metavar="INSTANT", help="No tick after."),
    click.option("--limit", metavar="N", help="How many ticks fire in all."),
    click.option("--jitter", metavar="DURATION", help="Delay each job by up to this."),
    click.option("--catch-up", type=click.Choice(CATCH_UP), help="What becomes of ticks that came while no worker ran. Default: latest."),
    click.option("--overlap", type=click.Choice(OVERLAP), help="What happens while the last job has not ended. Default: allow."),
)  # fmt: skip
_JOB: tuple[Callable[..., Any], ...] = (
    click.option("--queue", help="Use this queue instead of the type's own."),
    click.option("--priority", metavar="N", help="-1000 to 1000; higher runs first."),
    click.option("--tag", multiple=True, help="A label to search by; may be repeated."),
    click.option("--tenant", help="The tenant that the jobs belong to."),
    click.option("--ref", help="The entity that the jobs are about."),
    click.option("--attempts", metavar="N", help="The maximum number of attempts of each job."),
)


def _times(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options about times as the Python API takes them; `none` removes a value."""
    found: dict[str, Any] = {
        name: None if value == "none" else value for name, value in given.items() if value is not None
    }
    for name in ("start", "end"):
        if found.get(name) is not None:
            found[name] = enqueue_args.instant(f"--{name}", found[name])
    for name in ("every", "jitter"):
        if found.get(name) is not None:
            found[name] = enqueue_args.duration(f"--{name}", found[name])
    if found.get("limit") is not None:
        found["limit"] = enqueue_args.whole("--limit", found["limit"], 1, 1_000_000_000)
    return found


@subcommand(
    schedules, "add",
    """
    mainstay schedules add cleanup purge days=30 --cron "0 4 * * *" --tz Europe/Berlin
    mainstay schedules add ping check --every 90s --overlap skip
    mainstay schedules add promo mail list=spring --cron @daily --end 2026-06-30T00:00 --dry-run
    """,
)  # fmt: skip
@click.argument("name")
@click.argument("type")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE…|-|@FILE]")
@with_options(*_TIMES, *_JOB)
@changes()
def add(target: Target, output: Output, by: By, name: str, type: str, arguments: tuple[str, ...], **given: Any) -> int:
    """Make a schedule: NAME runs TYPE with these arguments, which are written as for enqueue."""
    options = {each: given.pop(each) for each in NO_OPTIONS}
    with target.open() as app, advised("types", "schedules add"):
        payload = _payload(app, name, type, arguments)
        draft = app.prepare(type, payload, **enqueue_args.options(options))
        change = app.create_schedule(name, draft, **_times(given), **by._asdict())
        told = _told(app, name, by)
    return report(output, [change], by, told, typed("schedules", "remove", name, target=target))


def _told(app: Mainstay, name: str, by: By) -> str:
    """Return what to say about a schedule that was written: one that never fires is rarely meant."""
    ended = not by.dry_run and (each := _found(app, name)).next is None and each.paused is None
    return f"the schedule {name} holds{', but it fires no more: its end is over, or its limit is reached' * ended}."


def _payload(app: Mainstay, name: str, type: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a schedule's jobs; an error says how to write this command, not `enqueue`."""
    try:
        return enqueue_args.read(type, words, enqueue_args.known_types(app).get(type))
    except UsageError as error:
        error.attempt = error.attempt.replace("mainstay enqueue ", f"mainstay schedules add {name} ")
        raise


@subcommand(
    schedules,
    "set",
    """
    mainstay schedules set cleanup --cron "30 4 * * *"
    mainstay schedules set cleanup days=60 --jitter 5m --dry-run
    mainstay schedules set cleanup --end none
    """,
)  # fmt: skip
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE…|-|@FILE]")
@with_options(*_TIMES)
@changes()
def change(target: Target, output: Output, by: By, name: str, arguments: tuple[str, ...], **given: Any) -> int:
    """Change a schedule from now on, over what code declares: its times, or the arguments of its jobs."""
    with target.open() as app, advised("schedules", "schedules set"):
        known, values = _found(app, name), _times(given)
        if arguments:
            values["job"] = _with_arguments(app, known, arguments)
        if not values:
            raise UsageError(
                "what to set?", f"{typed('schedules', 'set', name)} --cron '0 4 * * *'   (--help lists the values)"
            )
        made = app.reschedule(name, **values, **by._asdict())
        told = _told(app, name, by) if made.changed else f"the schedule {name} is as before."
    undo = typed("schedules", "reset", name, target=target) if known.declared else ""
    return report(output, [made], by, told, undo, known.declared)


def _with_arguments(app: Mainstay, known: ScheduleRecord, words: Sequence[str]) -> Any:
    """Return the job of a schedule with other arguments: `name=value` changes one of them, a document replaces all."""
    from ..control.schedules import found
    from ..core.draft import restored
    from ..core.payload import encode, loads
    from ..core.schedule import effective

    whole = len(words) == 1 and (words[0] == "-" or words[0].startswith("@"))
    given = enqueue_args.read(known.type, words, None)
    job = effective(found(app, known.name).value)["job"]
    payload = given if whole else {**loads(job["payload"]), **given}
    return restored(job | {"payload": encode(payload, app.max_payload)})


def _changed(target: Target, output: Output, by: By, name: str, verb: str, told: str, same: str, undo: str = "") -> int:
    """Run a verb of the application on a schedule, and print what it changed."""
    with _coded(target) as app, advised("schedules", f"schedules {verb}"):
        made: Change = getattr(app, f"{verb}_schedule")(name, **by._asdict())
    then = typed("schedules", undo, name, target=target) if undo else ""
    return report(output, [made], by, told, then, same=same)


@subcommand(schedules, "pause", 'mainstay schedules pause nightly --reason "moving the archive"')
@click.argument("name")
@changes()
def pause(target: Target, output: Output, by: By, name: str) -> int:
    """Let no tick of a schedule fire until it is resumed. Its jobs that are there still run."""
    told = f"the schedule {name} is paused: none of its ticks fires."
    return _changed(target, output, by, name, "pause", told, f"the schedule {name} is paused already.", "resume")


@subcommand(schedules, "resume", "mainstay schedules resume nightly")
@click.argument("name")
@changes()
def resume(target: Target, output: Output, by: By, name: str) -> int:
    """End a pause. Ticks that came meanwhile are not caught up."""
    told = f"the schedule {name} is resumed: its ticks fire from now on."
    return _changed(target, output, by, name, "resume", told, f"the schedule {name} is not paused.", "pause")


@subcommand(schedules, "remove", "mainstay schedules remove nightly")
@click.argument("name")
@changes()
def remove(target: Target, output: Output, by: By, name: str) -> int:
    """Remove a schedule. Its jobs stay; a schedule that code declares comes back with the next worker that starts."""
    return _changed(target, output, by, name, "remove", f"the schedule {name} is removed; its jobs stay.", "")


@subcommand(schedules, "reset", "mainstay schedules reset nightly\nmainstay schedules reset nightly cron tz --dry-run")
@click.argument("name")
@click.argument("names", nargs=-1, metavar="[VALUE…]")
@changes()
def reset(target: Target, output: Output, by: By, name: str, names: tuple[str, ...]) -> int:
    """Remove what operators have set on a schedule: these values, or all. What code declares holds again."""
    with target.open() as app, advised("schedules", "schedules reset"):
        chosen = [word.removeprefix("--").replace("-", "_") for word in names]
        made = app.reset_schedule(name, *chosen, **by._asdict())
        declared = _found(app, name).declared
    told, same = f"the schedule {name} has the values that code declares.", f"nothing is set on the schedule {name}."
    return report(output, [made], by, told, "", declared, same)


@subcommand(schedules, "run", "mainstay schedules run nightly")
@click.argument("name")
@click.option("--actor", default="", help="Who; default: the user of this terminal.")
@on_store("Print only the id of the job, and no messages.")
def run(target: Target, output: Output, name: str, actor: str) -> int:
    """Enqueue an extra job of a schedule now, and print its id. Its tick is this instant; the ticks of the schedule stay."""
    from .actions import actor as user

    with target.open() as app, advised("schedules", "schedules run"):
        handle = app.run_schedule(name, actor=actor or user())
    output.give(lambda: {"id": handle.id, "created": handle.created}, [handle.id], lambda: output.line(handle.id))
    return exits.OK

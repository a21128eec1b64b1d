"""`edit`: opens the values of a type, a queue, a limit, a setting or a job in an editor, checks and applies what was changed."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..control.bulk import Bulk
from ..control.edits import replacing
from ..control.records import Change
from ..core import retention
from ..core.change import Wish, refusal
from ..core.errors import Conflict, NotFound, UsageError
from ..core.limits import Limit
from ..core.payload import loads
from ..core.redaction import restored
from ..core.states import REVIEW
from ..core.suggest import did_you_mean
from ..redacting import redactor
from . import exits, job_types, rule_text, toml
from .actions import opened, tell, why_not
from .changing import advised, report
from .editor import edited, keeping, read
from .groups import changes
from .installation import setting_shown
from .jobs import stored
from .options import command
from .output import dumped
from .queues import LIMIT
from .reviews import edit_review

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..app import Mainstay
    from ..core.job import Job
    from .groups import By
    from .options import Target
    from .output import Output

HEAD = """The {kind} {name}. A line without # is set by operators and holds over what the code declares.
Remove a # to set a value; put one before a line to take it back. Durations are "90s", "5m", "2h", "3d".
To change nothing, leave this file as it is, or leave the editor with an error (in vim, :cq)."""
KINDS = ("type", "queue", "limit", "setting", "job")
SAMPLES: dict[str, dict[str, Any]] = {
    "type": {"queue": "default", "priority": 0, "attempts": 3, "timeout": "5m", "keep": "7d", "keep_cancelled": "1d", "keep_dead": "90d", "keep_last": 1000},
    "queue": {
        "max_depth": 10_000, "when_full": "raise", "wait": "5s", "below": 0, "one_in": 10, "fair": True, "weights": {"acme": 3},
        "aging": "1m", "running": 20, "rate": "10/s", "burst": 5,
    },
    "limit": {"running": 5, "rate": "10/s", "burst": 5},
}  # fmt: skip
NULLS = ("timeout", "keep", *retention.NAMES, "aging", "max_depth")  # of which "none" is a value


class Values(NamedTuple):
    """What operators have set, and what code declares, as people write it."""

    set: dict[str, Any]
    declared: dict[str, Any]


@command(
    """
    mainstay edit type extract
    mainstay edit queue llm --reason "more room for the import"
    mainstay edit limit extract/tenant --dry-run
    mainstay edit setting llm.provider
    mainstay edit type extract --from extract.toml
    mainstay edit 01JQ93 --reason "the sum was wrong"
    """
)
@click.argument("kind", metavar="KIND|ID")
@click.argument("name", required=False)
@click.option("--from", "file", metavar="FILE", help="Take the values from a file, - for stdin, instead of an editor.")
@click.option(
    "--role", "roles", multiple=True, help="A role of yours, for a review that a role decides; may be repeated."
)
@changes()
def edit(
    target: Target, output: Output, by: By, kind: str, name: str | None, file: str | None, roles: tuple[str, ...]
) -> int:
    """Change a type, a queue, a limit, a setting or a job in your editor.

    KIND is type, queue, limit, setting or job; a NAME or an ID follows. $VISUAL or $EDITOR opens with the values as TOML, a setting
    and what belongs to a job as JSON. What you save is checked, shown as a difference and applied. Nothing changes if there is a
    mistake, if you change nothing or if the editor ends with an error.

    The ID of a job is enough. Of a job in review, its proposed output opens, and the job is approved with what you save. Of another
    that does not run, its arguments open; mainstay amend changes those of many jobs.
    """
    if name is None or kind == "job":
        return _edit_job(target, output, by, name or kind, file, roles)
    if kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r}{did_you_mean(kind, KINDS)}; there are: {', '.join(KINDS)}")
    with target.open() as app, advised(f"{kind}s", f"edit {kind} {name}"):
        before = _setting(app, name) if kind == "setting" else _values(app, kind, name)
        text = _json(name, before) if kind == "setting" else _toml(kind, name, before)
        after, path = (read(file), "") if file else edited(text, kind, ".json" if kind == "setting" else ".toml")
        with keeping(path, kind, name):
            change = None if after == text else _applied(app, kind, name, before, after, by)
    if change is None or not change.changed:
        output.talk("Nothing changed.")
        return exits.OK
    return report(output, [change], by, f"the {kind} {name} is changed.", declared=before.declared)


def _edit_job(target: Target, output: Output, by: By, word: str, file: str | None, roles: tuple[str, ...]) -> int:
    if word in KINDS:
        listing = {"job": "mainstay ls, then mainstay edit ID"}
        raise UsageError(f"which {word}?", listing.get(word, f"mainstay {word}s, then mainstay edit {word} NAME"))
    with opened(target, code=True) as app:
        job = stored(app, word)
        if job.state == REVIEW:
            return edit_review(app, output, job, file, by, roles)
        refused = refusal(Wish(), job.id, job.state)
        if refused:
            raise Conflict(f"job {job.id} was not changed: {why_not('edit', refused)}", f"mainstay show {job.id}")
        return _edit_arguments(app, output, job, file, by)


def _edit_arguments(app: Mainstay, output: Output, job: Job, file: str | None, by: By) -> int:
    """Change the arguments of one job, unless another has changed them meanwhile."""
    before = loads(job.payload)
    text = dumped(before, indent=2) + "\n"
    after, path = (read(file), "") if file else edited(text, "job", ".json")
    with keeping(path, job.id):
        made = restored(_arguments(after), before, redactor())
        if made == before or by.dry_run:
            output.talk("Nothing changed." if made == before else "The arguments would change. Nothing changed.")
            return exits.OK
        found = Bulk(app, "", [job.id]).amend(replacing(before, made), note=by.reason, actor=by.actor)
        for word, more in found.why.items():
            raise Conflict(f"job {job.id} was not changed: {why_not('edit', word, more)}", f"mainstay show {job.id}")
    return tell(output, "amend", found, by_id=True)


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"this is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("the arguments of a job are a JSON object, from names to values")
    return found


def _applied(app: Mainstay, kind: str, name: str, before: Values, after: str, by: By) -> Change:
    if kind == "setting":
        return _set_setting(app, name, after, by)
    return _set_values(app, kind, name, before.set, after, by)


# Types, queues and limits -----------------------------------------------------------------------------------------------


def _values(app: Mainstay, kind: str, name: str) -> Values:
    """Return the values of a type, a queue or a limit, or raise with the closest name."""
    if kind == "type":
        found: Any = job_types.find(app, name)
    else:
        listed = app.queues() if kind == "queue" else app.limits()
        found = next((each for each in listed if each.name == name), None)
        if found is None:
            raise NotFound(
                f"there is no {kind} {name}{did_you_mean(name, [each.name for each in listed])}", f"mainstay {kind}s"
            )
    chosen = {key: override.value for key, override in found.set.items()}
    return Values(_written(kind, chosen), _written(kind, found.declared))


def _written(kind: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _form(values[name]) for name in SAMPLES[kind] if name in values}


def _form(value: Any) -> Any:
    if isinstance(value, timedelta):
        return rule_text.value("", value)
    return "none" if value is None else value


def _toml(kind: str, name: str, values: Values) -> str:
    text = toml.commented(HEAD.format(kind=kind, name=name)) + "\n"
    for each, sample in SAMPLES[kind].items():
        declared = values.declared.get(each)
        if each in values.set:
            told = "" if declared is None else f"  # declared: {toml.inline(declared)}"
            text += toml.line(each, values.set[each]) + told + "\n"
        else:
            told = "  # declared" if declared is not None else ""
            text += f"# {toml.line(each, sample if declared is None else declared)}{told}\n"
    return text


def _set_values(app: Mainstay, kind: str, name: str, before: dict[str, Any], text: str, by: By) -> Change:
    """Check and apply edited values: those that are gone are reset, those that differ are set."""
    after = toml.loads(text)
    for each in after:
        if each not in SAMPLES[kind]:
            known = ", ".join(SAMPLES[kind])
            raise UsageError(f"there is no value {each!r}{did_you_mean(each, SAMPLES[kind])}; there are: {known}")
    given = {each: value for each, value in after.items() if before.get(each, ...) != value}
    gone = [each for each in before if each not in after]
    if not given and not gone:
        return Change(kind, name, before, before)
    if kind != "type" and (gone or {*given} & {*LIMIT}):  # a limit is set as a whole
        given |= {each: after[each] for each in LIMIT if each in after}
    given = {each: None if each in NULLS and value == "none" else value for each, value in given.items()}
    _apply(app, kind, name, given, gone, by._replace(dry_run=True))  # raises for a mistake before anything is changed
    if not by.dry_run:
        _apply(app, kind, name, given, gone, by)
    return Change(kind, name, before, after)


def _apply(app: Mainstay, kind: str, name: str, given: dict[str, Any], gone: list[str], by: By) -> None:
    who = by._asdict()
    if kind == "limit":
        if gone:
            app.reset_limit(name, **who)
        if given:
            app.set_limit(name, **given, **who)
        return
    if kind == "queue":
        limit = {each: given.pop(each) for each in LIMIT if each in given}
        given |= {"limit": Limit(**limit)} if limit else {}
        gone = list(dict.fromkeys("limit" if each in LIMIT else each for each in gone))
    reset, change = (app.reset_type, app.set_type) if kind == "type" else (app.reset_queue, app.set_queue)
    if gone:
        reset(name, *gone, **who)
    if given:
        change(name, **given, **who)


# Settings ---------------------------------------------------------------------------------------------------------------


def _setting(app: Mainstay, name: str) -> Values:
    """Return a setting; one that is not there yet is null."""
    found = next((each for each in app.settings() if each.name == name), None)
    return Values(
        {"value": found.value if found else None, "description": (found.description if found else "") or ""}, {}
    )


def _json(name: str, values: Values) -> str:
    return dumped(setting_shown(name, values.set), indent=2) + "\n"


def _set_setting(app: Mainstay, name: str, text: str, by: By) -> Change:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise UsageError(f"this is not valid JSON: {error}") from None
    if not isinstance(values, dict) or "value" not in values or not {*values} <= {"value", "description"}:
        raise UsageError('a setting is written {"value": …, "description": "…"}')
    before = next((each for each in app.settings() if each.name == name), None)
    description = values.get("description")
    if before is not None and values["value"] == setting_shown(name, {"value": before.value})["value"]:
        values["value"] = before.value  # as it was, behind its mark
    app.set_setting(name, values["value"], description, actor=by.actor, dry_run=by.dry_run)
    old = {"value": before.value, "description": before.description} if before else None
    return Change("setting", name, old, {"value": values["value"], "description": description})

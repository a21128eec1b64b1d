"""`audit`: what operators did, newest first; of a changed rule, what it was and what it became."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from ..control import json_records
from ..core.bulk import PLACE, PLAN
from ..core.clock import human, iso, span
from ..core.limits import effective
from ..core.payload import readable
from ..core.rules import INCOMING, SCHEDULE, SUBSCRIPTION, TOKEN, TRIAGE, WATCH, WEBHOOK
from ..redacting import redactor
from . import rule_text
from .options import command, how_many, on_store
from .output import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..core.job import Action
    from ..stores.contract import Store
    from .options import Target
    from .output import Cell, Output

PER_PAGE = 50
PAGE = 1_000  # lines that are read at once
RULE, SETTING = "rule", "setting"  # the actions that change those
QUOTED = ("note", "search")  # details that have spaces
TRIAGED = {"open": "reopened"}  # what is done to a group of dead jobs; otherwise it is called as what it is then
ADDED = {TOKEN: "token", SUBSCRIPTION: "subscription", INCOMING: "receiver"}
VERBS = {"pause": ("paused", "resumed"), "breaker": ("opened", "closed")}


@command(
    """
    mainstay audit
    mainstay audit type extract
    mainstay audit --since 1d --by ada --json
    """
)
@click.argument("about", nargs=-1, metavar="[WORD…]")
@click.option("--since", metavar="DURATION", help="Only what was done in this time: 90m, 1d.")
@click.option("--by", "actor", metavar="NAME", help="Only what this person or program did.")
@how_many("--limit", PER_PAGE, "How many actions.")
@on_store("No effect: all of the output is data.")
def audit(
    target: Target, output: Output, about: tuple[str, ...], since: str | None, actor: str | None, limit: int
) -> None:
    """Show what operators did: to jobs, types, queues, limits and settings.

    With words, only the actions whose line has all of them, such as the name of a type. Workers remove the lines after the
    time that the setting audit_keep gives.
    """
    with target.reading() as app:
        output.now = app.clock.now()
        oldest = output.now - span("--since", since) if since else 0
        lines = (
            action for action in _since(app.store, oldest)
            if actor in (None, action.actor) and all(word in _line(action) for word in about)
        )  # fmt: skip
        found = list(islice(lines, limit + 1))
    shown = found[:limit]
    output.give(lambda: [json_records.of(action) for action in shown], None, lambda: _print(output, shown))
    if len(found) > limit:
        output.talk(f"there are more: add -n {limit * 10}")
    if not found:
        output.talk("no action matches" if about or actor or since else "nobody has changed anything yet")


def _since(store: Store, oldest: int) -> Iterator[Action]:
    """Yield the actions since an instant, newest first, page by page. Each operator has his own clock, so a whole page decides."""
    before = None
    while page := store.audit(PAGE, before):
        before = page[-1][0]
        recent = [action for _, action in page if action.at >= oldest]
        yield from recent
        if not recent:
            return


def _print(output: Output, actions: list[Action]) -> None:
    times = [output.when(action.at) for action in actions]
    width = max(map(len, times), default=0)
    for at, action in zip(times, actions, strict=True):
        head: list[Cell] = [(f"{at:>{width}}", "dim"), f"  {action.actor}  "]
        output.paragraph(*head, text=described(action), indent=1)


def _line(action: Action) -> str:
    return f"{action.actor} {described(action)}"


def described(action: Action, gap: str = " ") -> str:
    """Return what was done, and to what: `type extract: timeout 5m → 2m (the API is slow)`."""
    action = redactor().record(action)
    if action.action in (RULE, SETTING) and "name" in action.detail:
        return _rule({"kind": action.action, **action.detail})
    if "bulk" in action.detail:
        return _operation(action.action, dict(action.detail))
    return gap.join(filter(None, [action.action, action.job or "", _details(action.detail)]))


def _details(detail: Mapping[str, Any]) -> str:
    """Return details of an action: `from=dead note=checked`; of one that is true, its name alone."""
    given = [
        (name, json.dumps(value, ensure_ascii=False) if name in QUOTED else value)
        for name, value in detail.items()
        if value
    ]
    return " ".join(name if value is True else f"{name}={_detail(value)}" for name, value in given)


def _operation(action: str, detail: dict[str, Any]) -> str:
    """Return what an operation on many jobs did: `retry: 12 of 14 jobs of state:dead (from=dead:12 refused=running:2 7K2M9QWX4T)`."""
    jobs, matched, search, bulk = (detail.pop(name) for name in ("jobs", "matched", "search", "bulk"))
    stopped = ", stopped" if detail.pop(PLACE, None) else ""
    detail.pop(PLAN, None)
    given = readable(detail.pop("with", "{}"))
    if not isinstance(given, dict):  # its key is not here any more
        given = {"with": given}
    words = [
        f"{name}={_given(name, value)}"
        for name, value in given.items()
        if value not in ([], {}, "") and name not in detail
    ]
    told = " ".join(filter(None, [*words, _details(detail), bulk]))
    return f"{action}: {jobs:,} of {plural(matched, 'job')} of {search or 'all'}{stopped} ({told})"


def _given(name: str, value: Any) -> str:
    """Return an argument of an operation as people write it."""
    if name == "run_at":
        return iso(value) if value else "now"
    return (
        human(value)
        if name == "stagger"
        else value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False)
    )


def _rule(detail: dict[str, Any]) -> str:
    kind, name, reason = detail["kind"], detail["name"], detail.get("reason")
    before, after = detail.get("before"), detail.get("after")
    if kind == SETTING:
        what = f"setting {name}: {_shown(before)} → {_shown(after)}"
    elif kind == TRIAGE:
        status, of = str((after or {}).get("status")), (after or {}).get("type")
        what = f"{TRIAGED.get(status, status)} the group {name} of dead jobs{f' of {of}' if of else ''}"
    elif kind in VERBS:
        begun, ended = VERBS[kind]
        again = " again" * (before is not None and after is not None)
        what = f"{ended if after is None else begun} {_named(kind, name)}{again}"
    else:
        what = _changed(kind, name, effective(before or {}), effective(after or {}))
    return what + (f" ({reason})" if reason and not what.endswith(f"→ {reason}") else "")


def _shown(value: Any) -> str:
    return rule_text.NONE if value is None else str(value)


def _named(kind: str, name: str) -> str:
    if kind == "breaker":
        return f"the breaker of {name}"
    return "everything" if name == "all" else "the " + name.replace(":", " ", 1)


def _changed(kind: str, name: str, before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return what became of the values of a type, a queue or a limit."""
    if before.get("disabled") != after.get("disabled"):
        return f"{'disabled' if after.get('disabled') else 'enabled'} the {kind} {name}"
    if kind == SCHEDULE:
        from ..control.schedules import shown

        before, after = shown(before), shown(after)
    if kind == WATCH:
        from ..control.alerts import shown as shown_alert

        kind, before, after = "alert", json_records.plain(shown_alert(before)), json_records.plain(shown_alert(after))
    if kind == WEBHOOK:
        from ..control.webhooks import shown as shown_webhook

        if not before or not after:
            return f"{'added' if after else 'removed'} the webhook {name}: {(after or before).get('url')}"
        before, after = json_records.plain(shown_webhook(before)), json_records.plain(shown_webhook(after))
    if kind in ADDED:
        return _added(kind, name, before, after)
    changes = rule_text.changes(before, after, rule_text.NONE if kind in (SCHEDULE, WEBHOOK) else "as declared", kind)
    return f"{kind} {name}: {', '.join(changes) or 'set again'}"


def _added(kind: str, name: str, before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return what became of a token, a subscription or a receiver."""
    word, whole = ADDED[kind], after or before
    if before and after:
        from ..control.subscriptions import shown

        changes = rule_text.changes(*(json_records.plain(shown(side)) for side in (before, after)))
        return f"{word} {name}: {', '.join(changes) or 'set again'}"
    if kind == TOKEN:
        scope = f" of the tenant {whole['tenant']}" if whole.get("tenant") else ""
        return (
            f"{'created' if after else 'revoked'} the token {name} of {whole.get('name')}: {whole.get('role')}{scope}"
        )
    what = f"{whole['event']} → {whole['type']}" if kind == SUBSCRIPTION else whole.get("event") or whole.get("type")
    return f"{'added' if after else 'removed'} the {word} {name}: {what}"


def _detail(value: Any) -> str:
    """Return a detail of an action; of a bulk action, the numbers of jobs by value: `dead:12,review:3`."""
    return ",".join(f"{name}:{count}" for name, count in value.items()) if isinstance(value, dict) else str(value)

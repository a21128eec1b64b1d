"""Many jobs at once: what `app.bulk(search)` returns, the operations that are not finished, and how to resume one."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.bulk import PLACE, PLAN, REFUSED, Bulk as Line
from ..core.change import NOW
from ..core.clock import span
from ..core.codec import encode_result
from ..core.errors import Conflict, NotFound, UsageError
from ..core.payload import loads
from ..core.suggest import did_you_mean
from ..job import each_of
from ..options import Options, instant
from ..query import parse
from ..redacting import redactor
from .bulk_run import VERBS, Report, Run, newest
from .reviews import PROPOSED, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import TypedDict, Unpack

    from ..app import Mainstay
    from ..core.clock import Duration
    from ..core.job import Action
    from ..handle import Handle
    from .bulk_run import Progress
    from .edits import Function

    class How(TypedDict, total=False):
        """What every action takes."""

        actor: str
        dry_run: bool
        progress: Callable[[Progress], object] | None
        id: str  # of the operation, for a caller who has to know it before the first chunk (`new_bulk`)


# Lines of the audit trail in which operations are looked for: all of them, or one by its id.
LISTED, MOST = 10_000, 100_000
LONGEST_TEXT = 100_000  # characters of the arguments of an operation
FUNCTION = "function"  # in place of the values to set: they are code


class Operation(NamedTuple):
    """An operation on many jobs as the audit trail has it."""

    id: str
    action: str
    actor: str
    at: datetime
    search: str
    matched: int
    changed: int
    refused: Mapping[str, int]
    finished: bool


class Bulk:
    """The jobs that a search finds, or those given by id, and what can be done to all of them.

    Every action returns a `Report`. It works in chunks, from the newest job to the oldest, and checks each job against the search
    again in the moment in which it changes it. Jobs that are newer than what the first action or preview found are left alone. With `dry_run=True` it changes nothing and counts; `progress=` is called after
    each chunk, and may raise to stop. What was stopped goes on with `app.bulk_resume(id)`.
    """

    def __init__(self, app: Mainstay, search: str, ids: Sequence[str] | None = None, declared: bool = False) -> None:
        self._app, self._search, self._ids, self._declared = app, search, ids, declared
        self._at = app.clock.now()
        self._terms = parse(search, self._at) if ids is None else []
        self._top: str | None = None  # the place before the newest job that matched when this was first asked

    def count(self) -> int:
        """Return how many jobs match now."""
        return self.preview().matched

    def preview(self) -> Report:
        """Return how many jobs match now, by type; nothing changes."""
        if self._ids is not None:
            jobs = self._app.store.get_many(self._ids)
            return Report("", "", len(jobs), types=Counter(job.type for job in jobs))
        if self._top is None:
            self._top = newest(self._app, self._terms, self._at)
        types = self._app.store.count(self._terms, self._at, self._top) if self._top else {}
        return Report("", "", sum(types.values()), types=types)

    def retry(
        self, *, stagger: Duration | None = None, note: str = "", roles: Sequence[str] = (), **how: Unpack[How]
    ) -> Report:
        """Run ended or waiting jobs again, with fresh attempts: now, or spread evenly over a time, the oldest first.

        A job in review is run again if the actor may decide about it; its handler finds the note in `ctx.review`.
        """
        spread = {"stagger": span("stagger", stagger)} if stagger is not None else {}
        return self._run("retry", spread | _decision(note, roles), how)

    def cancel(self, **how: Unpack[How]) -> Report:
        """Cancel waiting jobs and ask running ones to stop."""
        return self._run("cancel", {}, how)

    def delete(self, **how: Unpack[How]) -> Report:
        """Remove jobs that do not run, with their history."""
        return self._run("delete", {}, how)

    def approve(
        self, note: str = "", *, output: Any = PROPOSED, roles: Sequence[str] = (), **how: Unpack[How]
    ) -> Report:
        """Complete jobs in review, with the outputs that they proposed or all with this one, if the actor may decide about them."""
        return self._run("approve", _decision(redactor().text(note), roles) | self._output(output), how)

    def reject(self, note: str = "", *, roles: Sequence[str] = (), **how: Unpack[How]) -> Report:
        """End jobs in review as dead, if the actor may decide about them."""
        return self._run("reject", _decision(redactor().text(note), roles), how)

    def copy(self, **how: Unpack[How]) -> Report:
        """Enqueue a copy of each job that has ended. This leaves no line in the audit trail, and cannot be resumed."""
        return self._run("copy", {}, how)

    def reprioritise(self, priority: int, **how: Unpack[How]) -> Report:
        """Give jobs that do not run another priority; higher runs first."""
        return self._run("reprioritise", Options({"priority": priority}).values, how)

    def requeue(self, queue: str, *, force: bool = False, **how: Unpack[How]) -> Report:
        """Move jobs that do not run to another queue, whose rules apply from then on. `force`: also to one that nobody knows."""
        values = Options({"queue": queue}).values
        known = {} if force else self._queues()
        if known and queue not in known:
            raise UsageError(
                f"no type and no worker uses a queue {queue!r}{did_you_mean(queue, known)}; force=True (--force) moves them there anyway"
            )
        return self._run("requeue", values, how)

    def reschedule(
        self, *, delay: Duration | None = None, at: datetime | str | float | None = None, **how: Unpack[How]
    ) -> Report:  # fmt: skip
        """Let waiting jobs run after a delay or at an instant, with the attempts they have left; `delay=0`: now."""
        if (delay is None) == (at is None):
            raise UsageError("give delay= or at=: reschedule(delay='1h'), reschedule(at=…), or delay=0 for now")
        run_at = self._at + span("delay", delay) if delay is not None else instant("at", at)
        return self._run("reschedule", {"run_at": run_at if run_at > self._at else NOW}, how)

    def amend(
        self, change: Function | Mapping[str, Any], *, remove: Sequence[str] = (), note: str = "", **how: Unpack[How]
    ) -> Report:  # fmt: skip
        """Change the payloads of waiting, dead and cancelled jobs: by a function, or by the values of fields, `{"a.b": 1}`.

        Each payload is checked as its type takes it, by the code if it is here, else by what workers have registered. Keys that
        follow from the payload follow it. What an earlier attempt has saved is removed.
        """
        function, arguments = _function(change, remove)
        return self._run("amend", arguments | _decision(note, ()), how, function)

    def _output(self, output: Any) -> dict[str, str]:
        """Return an output as it is kept. It has to fit every type, as far as the code is here."""
        if output is PROPOSED:
            return {}
        text = encode_result(output) or "null"
        if self._ids is None and len(text) > LONGEST_TEXT:
            raise UsageError(f"output: of a search, it has up to {LONGEST_TEXT:,} characters as JSON")
        for type in self.preview().types:
            encoded(self._app, type, output)  # raises for a mistake before anything is changed
        return {"output": text}

    def _queues(self) -> set[str]:
        store = self._app.store
        served = {queue for worker in store.workers() for queue in worker.queues}
        return served | {info.queue for info in store.types()} | {rule.name for rule in store.rules(["queue"])}

    def _run(self, verb: str, arguments: Mapping[str, Any], how: How, function: Function | None = None) -> Report:
        given = how.get("actor", "python"), arguments, self._search, self._terms, self._at
        run = Run(self._app, VERBS[verb], *given, self._declared)
        run.id = how.get("id", run.id)
        if function is not None:
            from .edits import Editor

            run.editor = Editor(self._app, function)
        if self._ids is not None and not how.get("dry_run"):
            return run.by_ids(self._ids, how.get("progress"))
        found = self.preview()
        if how.get("dry_run") or not found.matched:
            return found._replace(verb=verb)
        run.matched, run.top, run.place = found.matched, self._top or "", self._top or ""
        return run.whole(how.get("progress"))


def _decision(note: str, roles: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a decision as they are kept."""
    given: dict[str, Any] = {"note": note, "roles": [roles] if isinstance(roles, str) else list(roles)}
    return {name: value for name, value in given.items() if value}


def _function(change: Function | Mapping[str, Any], remove: Sequence[str]) -> tuple[Function, dict[str, Any]]:
    """Return the function that amends, and its arguments as they are kept."""
    from .edits import setter

    if callable(change):
        return change, {FUNCTION: getattr(change, "__qualname__", "function")}
    try:
        text = json.dumps({"set": dict(change), "remove": list(remove)}, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(f"amend takes JSON values (numbers, texts, lists, objects): {error}") from None
    if len(text) > LONGEST_TEXT or "\\u0000" in text:
        raise UsageError(f"amend: the values have up to {LONGEST_TEXT:,} characters as JSON, and no NUL")
    return setter(change, remove), json.loads(text)


# operations that are not finished -------------------------------------------------------------------------------------
def operations(app: Mainstay, finished: bool = False) -> list[Operation]:
    """Return the operations that were stopped or go on, newest first; with `finished` all."""
    found = [_operation(line) for line in app.store.actions(None, LISTED) if "bulk" in line.detail]
    return [each for each in found if finished or not each.finished]


def _operation(line: Action) -> Operation:
    (told,), detail = each_of([line]), line.detail
    counts = detail["matched"], detail["jobs"], detail.get(REFUSED, {})
    return Operation(detail["bulk"], line.action, line.actor, told.at, detail["search"], *counts, PLACE not in detail)


def _line(app: Mainstay, operation: str) -> Action:
    """Return the line of an operation that is not finished, by its id or the beginning of it."""
    wanted = operation.strip().upper()
    found = [line for line in app.store.actions(None, MOST) if line.detail.get("bulk", "").startswith(wanted or "-")]
    if len(found) != 1:
        why = "is not there" if not found else "is the beginning of several"
        raise NotFound(
            f"the operation {operation!r} {why}: mainstay bulk lists those that can be resumed", "mainstay bulk"
        )
    if PLACE not in found[0].detail:
        raise Conflict(f"the operation {found[0].detail['bulk']} is finished: there is nothing to resume")
    return found[0]


def resume(
    app: Mainstay, operation: str, actor: str, progress: Callable[[Progress], object] | None = None,
    amend: Function | None = None, roles: Sequence[str] = (), declared: bool = False,
) -> Report:  # fmt: skip
    """Go on with an operation from the place that it has reached. Another actor does not have the roles of the one who began it."""
    line = _line(app, operation)
    detail, arguments = line.detail, loads(line.detail.get("with", "{}"), "operation")
    at, top = (json.loads(detail[PLAN])[name] for name in ("at", "top"))
    run = Run(app, VERBS[line.action], actor, arguments, detail["search"], parse(detail["search"], at), at, declared)
    run.id, run.matched, run.changed, run.top = detail["bulk"], detail["matched"], detail["jobs"], top
    run.refused, run.place, run.was = Counter(detail.get(REFUSED, {})), detail[PLACE], detail[PLACE]
    if actor != line.actor:
        run.told["resumed_by"] = actor
    if roles or actor != line.actor:
        run.roles = tuple(roles)
    if line.action == "delete":  # what was deleted is gone: the search finds the rest, and no place is needed
        run.place, run.refused = top, Counter()
        run.told[REFUSED] = None
    if line.action == "amend":
        run.editor = _editor(app, run, amend)
    return run.whole(progress)


def _editor(app: Mainstay, run: Run, amend: Function | None) -> Any:
    from .edits import Editor, setter

    if FUNCTION in run.arguments:
        if amend is None:
            raise UsageError(
                f"the operation {run.id} amends by the function {run.arguments[FUNCTION]}: app.bulk_resume({run.id!r}, amend=…) takes it"
            )
        return Editor(app, amend)
    return Editor(app, setter(run.arguments["set"], run.arguments["remove"]))


def forget(app: Mainstay, operation: str, actor: str) -> str:
    """Let an operation stay as it is: it is not listed any more, and cannot be resumed. Return its id."""
    detail = _line(app, operation).detail
    told = {PLACE: None, PLAN: None, "given_up_by": actor}
    app.store.cancel([], app.clock.now(), actor, (), Line(detail["bulk"], "cancel", told, detail[PLACE]))
    return str(detail["bulk"])


def chosen(app: Mainstay, search: str, ids: Iterable[str | Handle[Any]] | None, everything: bool) -> Bulk:
    """Return the jobs that a search finds, those of these ids, or all; raise if it is none or several of these."""
    if (bool(search.strip()) + (ids is not None) + everything) != 1:
        raise UsageError('which jobs? app.bulk("type:mail state:dead"), app.bulk(ids=[…]) or app.bulk(everything=True)')
    return Bulk(app, search, None if ids is None else [app.resolve(job) for job in ids])

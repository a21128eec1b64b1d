"""Dead jobs in groups: what each died of, how many, since when, and what an operator does about a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.dead import ACTOR, AGAIN, CAP, IGNORED, LENGTH, OPEN, RESOLVED, Group, group_status, grouped, since
from ..core.errors import NotFound, StoreError, UsageError
from ..core.job import Rule
from ..core.payload import clean
from ..core.rules import TRIAGE
from ..core.suggest import did_you_mean
from .records import Change, DeadRecord
from .rules import REASON, instant, rules_by_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Unpack

    from ..app import Mainstay
    from ..core.clock import Duration
    from .bulk import Bulk, How
    from .bulk_run import Report
    from .edits import Function

FILLED = 500  # jobs of an older version that a look at the groups gives a fingerprint
SHOWN = 5  # candidates


class DeadGroup:
    """The dead jobs that died of the same, and what can be done about them; `record` has what is known."""

    def __init__(self, app: Mainstay, record: DeadRecord) -> None:
        self._app, self.record = app, record

    @property
    def jobs(self) -> Bulk:
        """All jobs of the group, to act on."""
        return self._bulk(f"fingerprint:{self.record.fingerprint}")

    def _bulk(self, search: str, ids: Sequence[str] | None = None) -> Bulk:
        from .bulk import Bulk  # to list groups takes none of it

        return Bulk(self._app, search, ids)

    def retry(
        self, *, one: bool = False, stagger: Duration | None = None, note: str = "", **how: Unpack[How]
    ) -> Report:
        """Run the jobs again, with fresh attempts: all, spread over a time, or only `one`, the newest, to see whether it completes now."""
        if one and stagger is not None:
            raise UsageError("one=True runs one job now: it takes no stagger=")
        jobs = self._bulk("", [self.record.sample]) if one and self.record.sample else self.jobs
        return jobs.retry(stagger=stagger, note=note, **how)

    def amend(
        self, change: Function | Mapping[str, Any], *, remove: Sequence[str] = (), note: str = "", **how: Unpack[How]
    ) -> Report:  # fmt: skip
        """Change the payloads of the jobs, which stay dead: `retry` runs them with what they have then. See `Bulk.amend`."""
        return self.jobs.amend(change, remove=remove, note=note, **how)

    def purge(self, **how: Unpack[How]) -> Report:
        """Remove the jobs, with their history."""
        return self.jobs.delete(**how)

    def ignore(self, note: str = "", *, actor: str = "python", dry_run: bool = False) -> Change:
        """List the group no more, however many jobs die in it."""
        return self._set(IGNORED, note, actor, dry_run)

    def resolve(self, note: str = "", *, actor: str = "python", dry_run: bool = False) -> Change:
        """List the group no more, until another job dies in it."""
        return self._set(RESOLVED, note, actor, dry_run)

    def reopen(self, note: str = "", *, actor: str = "python", dry_run: bool = False) -> Change:
        """List the group again."""
        return self._set(OPEN, note, actor, dry_run)

    def _set(self, status: str, note: str, actor: str, dry_run: bool) -> Change:
        name, before = self.record.fingerprint or "", self.record.status
        if not dry_run and status != before:
            first, last = (
                None if at is None else round(at.timestamp() * 1000) for at in (self.record.first, self.record.last)
            )
            value = {"status": status, "type": self.record.type, "first": first, "last": last}
            self._app.store.set_rule(Rule(TRIAGE, name, value, actor, self._app.clock.now(), clean(note, REASON)))
        return Change(TRIAGE, name, {"status": before}, {"status": status})


def dead(app: Mainstay, everything: bool = False) -> list[DeadRecord]:
    """Return the groups with dead jobs, the largest first: open ones, or with those that are ignored or resolved."""
    groups = _groups(app)
    rules = rules_by_name(app, TRIAGE)
    samples = {job.id: job for job in app.store.get_many([group.sample for group in groups])}
    capped = sum(group.jobs for group in groups) >= CAP
    found = [_record(group, rules.get(group.fingerprint or ""), samples.get(group.sample), capped) for group in groups]
    return [record for record in found if everything or record.status == OPEN]


def _groups(app: Mainstay) -> list[Group]:
    now = app.clock.now()
    found = grouped(app.store.dead_counts(since(now), CAP))
    if any(group.fingerprint is None for group in found) and _fill(app):
        found = grouped(app.store.dead_counts(since(now), CAP))
    return found


def _fill(app: Mainstay) -> int:
    """Give some jobs of an older version their fingerprint, in case no worker runs that does; 0 if the store is read-only."""
    from ..core.fingerprint import print_of  # only jobs of an older version need one

    try:
        jobs = app.store.get_many(app.store.unprinted(0, FILLED))
        return app.store.set_fingerprints({job.id: print_of(job, app.store.attempts(job.id)) for job in jobs})
    except StoreError:
        return 0


def _record(group: Group, rule: Rule | None, sample: Any, capped: bool) -> DeadRecord:
    value: Mapping[str, Any] = rule.value if rule else {"status": OPEN}
    status = group_status(group, rule)
    first = min(group.first, value.get("first") or group.first)
    error = None if sample is None else sample.error or sample.reason
    told: tuple[str, datetime | None, str] = (rule.actor, instant(rule.at), rule.reason) if rule else ("", None, "")
    if rule and status != value["status"]:
        told = (
            ACTOR,
            instant(group.last),
            f"{AGAIN}; before, {rule.actor} had resolved it{f': {rule.reason}' if rule.reason else ''}",
        )
    return DeadRecord(
        group.fingerprint, group.type, group.jobs, capped, error, instant(first), instant(group.last), status, *told,
        group.hours, group.sample,
    )  # fmt: skip


def dead_group(app: Mainstay, fingerprint: str) -> DeadGroup:
    """Return the group whose fingerprint begins so."""
    wanted = fingerprint.strip().lower()
    known = {record.fingerprint: record for record in dead(app, everything=True) if record.fingerprint}
    empty = {name: rule for name, rule in rules_by_name(app, TRIAGE).items() if name not in known}
    known |= {name: _empty(rule) for name, rule in empty.items()}
    found = [name for name in known if name.startswith(wanted)] if wanted else []
    if not found:
        raise NotFound(
            f"no dead job has the fingerprint {fingerprint!r}{did_you_mean(wanted, known)}", "mainstay dead --all"
        )
    if len(found) > 1:
        more = " …" if len(found) > SHOWN else ""
        raise UsageError(
            f"{fingerprint!r} begins several fingerprints: {', '.join(found[:SHOWN])}{more}; {LENGTH} digits are one"
        )
    return DeadGroup(app, known[found[0]])


def _empty(rule: Rule) -> DeadRecord:
    """Return a group about which something was decided, and in which no job is dead now."""
    first, last = (instant(rule.value.get(name)) for name in ("first", "last"))
    told = (rule.actor, instant(rule.at), rule.reason)
    return DeadRecord(
        rule.name, rule.value.get("type", ""), 0, False, None, first, last, rule.value["status"], *told, (0,) * 24, ""
    )

"""Why a job has not started, the true reason first; or what became of it. Read-only, and bounded however long the lines are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import rules as text
from ..core.admission import permitted
from ..core.clock import human, iso
from ..core.rules import PARENTS, PAUSED, is_rate, limit_of
from ..core.search_terms import Term
from ..core.states import ENDED, STATES
from .limits import IN_LINE, rate_text
from .pauses import pauses
from .records import Reason, Why
from .reviews import asked
from .rules import instant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..core.job import Job, Rule, WorkerInfo
    from ..flow import Flow
    from .records import Pause

LISTED = 500  # jobs that are looked at to count those ahead, and holders that are listed
ALIVE = tuple(state for state in STATES if state not in ENDED)


def why(app: Flow, job: Job) -> Why:
    """Return why a job is where it is."""
    look = Look(app, job)
    reasons = list(STEPS[job.state](look))
    return Why(
        job.id, job.type, job.queue, job.label, tuple(reasons) or (Reason("ready", "it may start at any moment"),)
    )


class Look:
    """One look at a job and at what may hold it back."""

    def __init__(self, app: Flow, job: Job) -> None:
        self.app, self.store, self.job, self.now = app, app.store, job, app.clock.now()
        self.carried = text.unpack(job.rules)

    # by state -----------------------------------------------------------------------------------------------------
    def queued(self) -> Iterator[Reason]:
        """A job that may run: what keeps the claims from it."""
        yield from self.paused()
        yield from self.breaker()
        yield from self.worker()
        yield from self.ahead("behind", (Term("state", "=", ("queued",)), Term("queue", "=", (self.job.queue,))))
        yield from self.expires()

    def blocked(self) -> Iterator[Reason]:
        """A job that a rule holds back: first what it waits for, then what would hold it back next."""
        waits = self.job.waits or ""
        if waits == PARENTS:
            yield from self.parents()
        elif "\n" in waits:
            yield self.limit(waits)
            yield from self.ahead(
                "behind", (Term("state", "=", ("blocked",)), Term("type", "=", (self.job.type,))), waits
            )
        elif not waits.startswith(PAUSED):
            yield Reason("ready", "its limits and parents are examined now")
        yield from self.paused()
        yield from self.breaker()
        yield from self.worker()
        yield from self.expires()

    def scheduled(self) -> Iterator[Reason]:
        """A job whose time has not come: by its rate, after a failure, or as asked."""
        job = self.job
        at, left = instant(job.run_at), human(max(0, (job.run_at or 0) - self.now))
        rate = self.rate()
        if rate is not None:
            yield rate
        elif job.attempt > 0:
            failed = (
                f"attempt {job.attempt} of {job.max_attempts} failed: {job.error or job.reason or 'no error is known'}"
            )
            details = {"at": at, "error": job.error, "code": job.code, "attempt": job.attempt}
            yield Reason("retrying", f"it runs again in {left} ({iso(job.run_at or 0)}); {failed}", details)
        else:
            because = f": {job.reason}" if job.reason else ""
            yield Reason("scheduled", f"it is scheduled for {iso(job.run_at or 0)}, in {left}{because}", {"at": at})
        yield from self.paused()
        yield from self.breaker()
        yield from self.worker()
        yield from self.expires()

    def running(self) -> Iterator[Reason]:
        """A job that is claimed: where, since when, and whether it may wait there for a slot."""
        job = self.job
        there = {worker.id: worker for worker in self.store.workers()}.get(job.worker or "")
        since = iso(job.started_at or 0)
        details = {"worker": job.worker, "since": instant(job.started_at), "attempt": job.attempt}
        if there is None or there.expires_at <= self.now:
            then = "and runs again" if job.cancel_at is None else "and ends as cancelled"
            yield Reason("worker", f"its worker {job.worker} is gone: it is freed within seconds, {then}", details)
        elif there.running > there.slots:
            full = f"holds {there.running} jobs and has {there.slots} slots: it may wait there for one"
            yield Reason("slot", f"it is claimed by {job.worker} since {since}, which {full}", details)
        else:
            stopping = ""
            if job.cancel_at is not None:
                asked = human(max(self.now - job.cancel_at, 0))
                stopping = f"; it was asked to stop {asked} ago, and stops at its next safe point or await"
            yield Reason("running", f"attempt {job.attempt} runs on {job.worker} since {since}{stopping}", details)

    def review(self) -> Iterator[Reason]:
        """A job that waits for a person."""
        found = asked(self.job)
        who = " or ".join(found.deciders) or "a person"
        text = f"{who} decides: {self.job.reason}; approve or reject it"
        details = {"reason": self.job.reason, "deciders": found.deciders, "expires_at": instant(found.expires_at)}
        if found.expires_at is not None:
            then = {"reject": "rejected", "approve": "approved"}.get(found.at_deadline, "dead")
            text += f" by {iso(found.expires_at)}, otherwise it is {then}"
            details["at_deadline"] = found.at_deadline
        yield Reason("review", text, details)

    def ended(self) -> Iterator[Reason]:
        """A job that has ended: how, and whether another one has its key now."""
        job = self.job
        because = "; ".join(part for part in (job.reason, job.error) if part)
        details = {"at": instant(job.finished_at), "reason": job.reason, "error": job.error}
        yield Reason(
            "ended", f"it is {job.state} since {iso(job.finished_at or 0)}{': ' if because else ''}{because}", details
        )
        if job.key is not None:
            yield from self.key(job.key)

    # what may hold it back ------------------------------------------------------------------------------------------
    def paused(self) -> Iterator[Reason]:
        for pause in pauses(self.store.rules(["pause"]), self.job.type, self.job.queue):
            yield Reason(
                "paused",
                f"{_paused(pause)} since {iso_of(pause)} by {pause.actor}{_because(pause.reason)}",
                pause._asdict(),
            )

    def breaker(self) -> Iterator[Reason]:
        for rule in self.store.rules(["breaker"]):
            if rule.name == self.job.type:
                yield _breaker(rule, self.now)

    def parents(self) -> Iterator[Reason]:
        """The parents that have not ended."""
        ids = self.carried.get("parents", [])
        waiting = [job for job in self.store.get_many(ids) if job.state not in ENDED]
        shown = ", ".join(f"{job.id} ({job.type}, {job.label})" for job in waiting[:5])
        more = f" and {len(waiting) - 5} more" if len(waiting) > 5 else ""
        details = {"parents": {job.id: job.label for job in waiting}, "if_parent_fails": self.carried.get("after")}
        yield Reason("parents", f"it waits for {len(waiting)} of {len(ids)} parents: {shown}{more}", details)

    def limit(self, slot: str) -> Reason:
        """The limit or the rate in whose line it waits."""
        name, key = limit_of(slot)
        of_key = f" for {key!r}" if key else ""
        if is_rate(slot):
            return self.rate(slot) or Reason(
                "rate", f"others of the rate {name}{of_key} are first in line", {"limit": name, "key": key}
            )
        info, names = self.store.slot(slot, LISTED, IN_LINE)
        line = f"{info.waiting}{'+' if info.capped else ''}"
        who = f": {', '.join(names[:5])}{' …' if len(names) > 5 else ''}" if names else ""
        details = {"limit": name, "key": key, "holders": names, "held": info.holders, "waiting": info.waiting}
        return Reason(
            "limit", f"the limit {name}{of_key} is full: {info.holders} hold it{who}; {line} wait in line", details
        )

    def rate(self, slot: str = "") -> Reason | None:
        """The rate that permits no start now, if the job waits for one."""
        rates = {
            text.rate_slot(name, key): (name, key, every, burst)
            for name, key, every, burst in self.carried.get("rates", ())
        }
        meters = self.store.meters(sorted(rates)) if rates else {}
        set_by = {rule.name: rule for rule in self.store.rules(["limit"])} if rates else {}
        for each, (name, key, every, burst) in rates.items():
            rule = set_by.get(name)
            limit = {"every": every, "burst": burst} | (
                {**rule.value.get("declared", {}), **rule.value.get("set", {})} if rule else {}
            )
            at = permitted(meters.get(each, 0), self.now, limit["every"], limit["burst"]) if limit.get("every") else 0
            if at > self.now and (slot == each or (not slot and (self.job.run_at or 0) <= at + 1)):
                of_key = f" for {key!r}" if key else ""
                shown = f"the rate {name}{of_key} ({rate_text(limit['every'])}) permits the next start at {iso(at)}, in {human(at - self.now)}"
                return Reason("rate", shown, {"limit": name, "key": key, "at": instant(at)})
        return None

    def key(self, key: str) -> Iterator[Reason]:
        terms = (Term("key", "=", (key,)), Term("type", "=", (self.job.type,)), Term("state", "=", ALIVE))
        for holder in self.store.search(terms, 1, None, self.now).ids:
            yield Reason(
                "key", f"job {holder} holds its key {key!r}: a retry would be refused", {"job": holder, "key": key}
            )

    def worker(self) -> Iterator[Reason]:
        """No worker that claims this type from this queue, or none with a free slot."""
        job, workers = (
            self.job,
            [each for each in self.store.workers() if each.expires_at > self.now and not each.stopping],
        )
        typed = [each for each in workers if job.type in each.types]
        served = [each for each in typed if job.queue in each.queues]
        if not served:
            what = f"the queue {job.queue}" if typed else f"the type {job.type}"
            yield Reason("worker", f"no live worker serves {what}", {"workers": len(workers), "of_type": len(typed)})
        elif job.state == "queued" and all(each.running >= each.slots for each in served):
            yield Reason(
                "slot", f"all {_slots(served)} slots of the workers that serve it are busy", {"slots": _slots(served)}
            )

    def ahead(self, kind: str, terms: Sequence[Term], waits: str | None = None) -> Iterator[Reason]:
        """How many others come first, of those that were looked at."""
        page = self.store.search(terms, LISTED, None, self.now)
        others = [job for job in self.store.get_many(page.ids) if job.id != self.job.id and job.waits == waits]
        number = sum(_place(job) < _place(self.job) for job in others)
        if number or page.after is not None:
            most = "at least " if page.after is not None else ""
            plural = "" if number == 1 else "s"
            yield Reason(kind, f"it is behind {most}{number} other{plural}", {"ahead": number, "capped": bool(most)})

    def expires(self) -> Iterator[Reason]:
        if self.job.start_by is not None and self.job.attempt == 0:
            at = self.job.start_by
            yield Reason("expires", f"it is cancelled if it has not started by {iso(at)}", {"at": instant(at)})


STEPS: dict[str, Callable[[Look], Iterator[Reason]]] = {
    "queued": Look.queued, "blocked": Look.blocked, "scheduled": Look.scheduled, "running": Look.running,
    "review": Look.review, **dict.fromkeys(ENDED, Look.ended),
}  # fmt: skip


def _paused(pause: Pause) -> str:
    return "the installation is paused" if pause.of == "all" else f"the {pause.of} {pause.name} is paused"


def iso_of(pause: Pause) -> str:
    """Return since when something is paused."""
    return iso(round(pause.at.timestamp() * 1000))


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _breaker(rule: Rule, now: int) -> Reason:
    until = rule.value.get("until", 0)
    who = f" by {rule.actor}" if rule.actor else ""
    then = f"until {iso(until)}, then one job is tried" if until > now else "and one job is tried now"
    details: dict[str, Any] = {"until": instant(until), "actor": rule.actor, "reason": rule.reason}
    return Reason("breaker", f"the breaker of {rule.name} is open{who} {then}{_because(rule.reason)}", details)


def _slots(workers: Sequence[WorkerInfo]) -> int:
    return sum(worker.slots for worker in workers)


def _place(job: Job) -> tuple[int, str]:
    return -job.priority, job.id

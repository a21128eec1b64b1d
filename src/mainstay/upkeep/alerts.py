"""Alerts: looks once a minute over the fleet at what is wrong, and delivers what is to be told (docs/decisions/0038).

An incident is a row of the store, changed by compare-and-set: whoever changes it first owns the change. The same write records
what is to be told, so that a process that dies before it has told leaves that to another.
"""

from __future__ import annotations

import time
from collections import Counter
from threading import Thread
from typing import TYPE_CHECKING, Any

from ..control.alerts import held, link_to
from ..core import alerts as core
from ..core.clock import HOUR, MINUTE, SECOND, human
from ..core.dead import CAP as DEAD_JOBS, open_groups, since
from ..core.errors import SendFailed, StoreError
from ..core.ids import IDS
from ..core.job import RuleChanged
from ..core.rules import TRIAGE, TROUBLE, WATCH, WEBHOOK
from ..core.search_terms import Term
from ..core.states import DEAD
from ..redacting import redactor
from ..senders.channels import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..app import Mainstay
    from ..core.decide import Transition
    from ..core.job import Job, Rule
    from ..senders.channels import Channel
    from ..stores.results import Orphan

CAP = 100_000  # jobs counted of each state
LOOKED_AT = 1_000  # running jobs
TURN = ""  # the name of the row that says when all rules were looked at
LEASE = 2 * MINUTE  # for which one process delivers the notices of an incident
AGAIN, LONGEST = 10 * SECOND, 10 * MINUTE  # until a notice that has not arrived is sent again: each time twice as long
SOON = 5 * SECOND
CLOSING = 5.0  # seconds
GRACE = 1  # seconds beyond the time limit of a channel
TRIES = 20  # of a change while others change the same incident


class Alerts:
    """Looks and tells. Notices go out on a thread of its own, so that no receiver can hold up a worker."""

    name = "alerts"

    def __init__(self, app: Mainstay, wake: Callable[[], None] = lambda: None) -> None:
        self._app, self._store, self._events = app, app.store, app.events
        self._wake = wake  # lets the next step come now
        self._lost: dict[str, str] = {}  # workers whose jobs a sweep of this process has freed
        self._urgent = False  # a job has died here, where jobs of critical types run
        self._sending: Thread | None = None
        self._listening = {"swept": app.events.on("swept", self._swept)}

    def step(self, now: int) -> int:
        """Look at the rules if it is this process's turn, and deliver what is owed; return when to do so again."""
        try:
            _, now = self._store.schedules_version(now)
            known = self._troubles()
            self._look(known, now)
            return min(self._tell(now), SECOND if self._urgent else _next(known.get(TURN), now))
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=MINUTE)
            return MINUTE

    def close(self, seconds: float = CLOSING) -> None:
        """Wait a moment for notices that are on their way. What has not arrived is left to another process."""
        for forget in self._listening.values():
            forget()
        if self._sending is not None:
            self._sending.join(seconds)

    def _troubles(self) -> dict[str, Rule]:
        return {rule.name: rule for rule in self._store.rules([TROUBLE])}

    def _swept(self, orphans: Sequence[Orphan]) -> None:
        for worker in {orphan.worker for orphan in orphans if orphan.gone and orphan.worker}:
            number = sum(orphan.worker == worker for orphan in orphans)
            self._lost[worker] = f"has died, or was cut off, with {number} of its jobs; they run again"
            self._wake()

    def _stored(self, transitions: Sequence[Transition]) -> None:
        if any(each.state == DEAD for each in transitions):
            self._urgent = True
            self._wake()

    # looking --------------------------------------------------------------------------------------------------------------
    def _look(self, known: Mapping[str, Rule], now: int) -> None:
        lost, rules = dict(self._lost), held({rule.name: rule for rule in self._store.rules([WATCH])})
        mine = self._turn(known.get(TURN), now)
        self._follow(rules["critical"])
        if not mine and not lost:
            return
        facts = self._facts(now, lost) if mine else core.Facts(now, (), (), {}, (), lost, ())
        alerts = {alert.name: alert for alert in core.found(facts, rules)}
        for name, alert in alerts.items():
            self._seen(alert, known.get(name), rules[alert.rule].quiet(now), now)
        if mine:
            self._clear({name: rule for name, rule in known.items() if name != TURN and name not in alerts}, now)
        for worker in lost:
            self._lost.pop(worker, None)

    def _turn(self, rule: Rule | None, now: int) -> bool:
        """Take the turn to look at all rules, if it is time, or if it is urgent and a second has passed since the last one."""
        value = rule.value if rule is not None else None
        if value is not None and core.checked_at(value, now) and not (self._urgent and now - value["at"] >= SECOND):
            return False
        urgent, self._urgent = self._urgent, False
        mine = self._write(TURN, {"at": now}, rule, now)
        self._urgent = self._urgent or (urgent and not mine)
        return mine

    def _follow(self, critical: core.Held) -> None:
        """Look at once when a job dies, in a process that serves a critical type; in others, outcomes are not looked at."""
        if "stored" not in self._listening and critical.enabled and set(critical.threshold) & set(self._app.registry):
            self._listening["stored"] = self._events.on("stored", self._stored)

    def _facts(self, now: int, lost: Mapping[str, str]) -> core.Facts:
        counts = self._store.counts(CAP)
        expired = {
            worker.id: f"({worker.host}, pid {worker.pid}) was last seen {human(max(now - worker.beat_at, 0))} ago"
            for worker in self._store.workers() if worker.expires_at <= now
        }  # fmt: skip
        long = any(each.label == "running" and now - (each.oldest or now) > core.SHORTEST for each in counts)
        return core.Facts(
            now, counts, open_groups(self._store.dead_counts(since(now), DEAD_JOBS), self._store.rules([TRIAGE])), self._ended(now), self._running(now) if long else (),
            {**expired, **lost}, self._store.rules(["pause", "type", "breaker", WEBHOOK]),
        )  # fmt: skip

    def _ended(self, now: int) -> Mapping[str, int]:
        """Return how many jobs completed and died in the last hour."""
        found = Counter[str]()
        for each in self._store.tallies(now - HOUR, now + 1, HOUR):
            found[each.name] += each.n
        return found

    def _running(self, now: int) -> Sequence[Job]:
        found = self._store.search([Term("state", "=", ("running",))], LOOKED_AT, None, now)
        return [job for job in self._store.get_many(found.ids) if job.state == "running"]

    def _seen(self, alert: core.Alert, rule: Rule | None, quiet: bool, now: int) -> None:
        """Open an incident; or tell of one that is open and was silenced until now."""
        value = rule.value if rule is not None else None
        if value is None or value["closed_at"] is not None:
            alert = self._named(alert)
            made = core.opened(alert, value, now, IDS.new(now), quiet)
        elif quiet or value["told"]:
            if value.get("away_since") is not None:
                self._write(alert.name, {**value, "away_since": None}, rule, now)
            return
        else:
            alert, made = core.Alert(*value["alert"]), core.owing({**value, "away_since": None}, core.OPENED, now)
        if self._write(alert.name, made, rule, now) and not quiet:
            self._events.emit("alert", what=core.OPENED, alert=self._told(alert))

    def _named(self, alert: core.Alert) -> core.Alert:
        """Return an alert about dead jobs with what is known of the newest of them."""
        job = self._store.get(alert.job) if alert.job and alert.rule in ("dead", "critical") else None
        return alert if job is None else core.about(alert, job)

    def _told(self, alert: core.Alert) -> core.Alert:
        """Return an alert as it is told: with the error of a dead job, and without secrets."""
        job = self._store.get(alert.job) if alert.job and alert.rule in ("dead", "critical") else None
        error = f": {job.error}" if job is not None and job.error else ""
        return alert._replace(text=redactor().text(alert.text + error))

    def _clear(self, gone: Mapping[str, Rule], now: int) -> None:
        """Close the incidents that are over; forget those that were closed long ago, and what nobody could deliver."""
        for name, rule in gone.items():
            if rule.value["closed_at"] is None:
                self._close(name, rule, now)
            elif core.forgotten(rule.value, now):
                self._write(name, None, rule, now)

    def _close(self, name: str, rule: Rule, now: int) -> None:
        """Close an incident that is over, unless it comes and goes: then it has to stay away for a while first."""
        if core.unsettled(rule.value, now):
            if rule.value.get("away_since") is None:
                self._write(name, {**rule.value, "away_since": now}, rule, now)
        elif self._write(name, core.closed(rule.value, now), rule, now) and rule.value["told"]:
            self._events.emit("alert", what=core.RECOVERED, alert=self._told(core.Alert(*rule.value["alert"])))

    def _write(self, name: str, value: dict[str, Any] | None, was: Rule | None, now: int) -> bool:
        """Change an incident if it is as it was read; return whether it was."""
        try:
            self._store.set_rule(core.incident(name, value or {}, now), remove=value is None, was=(was,))
        except RuleChanged:
            return False
        return True

    # telling --------------------------------------------------------------------------------------------------------------
    def _tell(self, now: int) -> int:
        """Begin to deliver what is owed, unless a delivery is under way; return when to look again."""
        if not self._app.channels:
            return MINUTE
        owing = [rule for name, rule in self._troubles().items() if name != TURN and rule.value["owed"]]
        if self._sending is None or not self._sending.is_alive():
            due = [rule for rule in owing if not now < rule.value.get("lease", 0) <= now + LONGEST]
            until = now + min(LEASE + self._slowest(), LONGEST)
            mine = [rule for rule in due if self._write(rule.name, {**rule.value, "lease": until}, rule, now)]
            if mine:
                self._sending = Thread(target=self._deliver, args=(mine, now), name="mainstay-notices", daemon=True)
                self._sending.start()
        return SOON if owing else MINUTE

    def _slowest(self) -> int:
        """Return the milliseconds that one notice may take, if no channel replies."""
        return round(sum(to.seconds + GRACE for to in self._app.channels.values()) * 1000)

    def _deliver(self, rules: Iterable[Rule], now: int) -> None:
        """Deliver what is owed, for as long as nobody else does. What is left then is delivered by whoever comes first."""
        began, spent, late = time.monotonic(), 0, False
        for rule in rules:
            told = {}
            try:
                for notice in core.pending(rule.value, now):
                    if not late:
                        told[notice["id"]] = self._send(notice, now)
                        spent = round((time.monotonic() - began) * 1000)
                        late = spent >= LEASE
                self._settle(rule.name, told, now + spent)
            except StoreError as error:  # it is delivered again, under the same id
                self._events.emit("store_error", error=error, wait=LEASE)

    def _send(self, notice: Mapping[str, Any], now: int) -> tuple[list[str], int]:
        """Send a notice to the channels that have not got it; return those that have it, and how many failed."""
        alert, told, failed = self._told(core.Alert(*notice["alert"])), list(notice.get("told", ())), 0
        made = Notice(notice["id"], notice["what"], notice["at"], alert, notice["opened_at"], link_to(self._app, alert))
        wait = None if now - notice["at"] >= core.STALE else _wait(notice)
        for to in self._app.channels.values():
            if to.name not in told and to.wants(alert):
                problem = _sent(to, made)
                if problem is None:
                    told.append(to.name)
                else:
                    failed += 1
                    self._events.emit("alert_failed", channel=to.name, error=problem, wait=wait, alert=alert)
        return told, failed

    def _settle(self, name: str, told: Mapping[str, tuple[list[str], int]], now: int) -> None:
        """Record what has arrived, whatever became of the incident meanwhile."""
        for _ in range(TRIES):
            rule = next(iter(self._store.rules([TROUBLE], name)), None)
            if rule is None:
                return
            left = [
                each for notice in core.pending(rule.value, now) for each in _left(notice, told.get(notice["id"]), now)
            ]
            tried = [each for each in left if each["id"] in told]
            lease = now + max((_wait(each) for each in tried), default=0)
            if self._write(name, {**rule.value, "owed": left, "lease": lease}, rule, now):
                return


def _next(turn: Rule | None, now: int) -> int:
    """Return the milliseconds until it is time to look again, as of a turn that another process may have taken."""
    left = MINUTE if turn is None or not core.checked_at(turn.value, now) else turn.value["at"] + MINUTE - now
    return int(max(left, SECOND))


def _left(notice: Mapping[str, Any], sent: tuple[list[str], int] | None, now: int) -> list[dict[str, Any]]:
    """Return what is left of a notice: nothing if every channel has it, or if it is too old."""
    if sent is None:
        return [dict(notice)]
    told, failed = sent
    over = not failed or now - notice["at"] >= core.STALE
    return [] if over else [{**notice, "told": told, "tries": notice.get("tries", 0) + 1}]


def _wait(notice: Mapping[str, Any]) -> int:
    return int(min(AGAIN * 2 ** min(notice.get("tries", 0), 10), LONGEST))


def _sent(to: Channel, notice: Notice) -> SendFailed | None:
    """Send a notice within the time of the channel, whatever its receiver does; return what went wrong."""
    found: list[SendFailed | None] = []

    def send() -> None:
        try:
            to.send(notice)
            found.append(None)
        except SendFailed as error:
            found.append(error)

    thread = Thread(target=send, name=f"mainstay-to-{to.name}", daemon=True)
    thread.start()
    thread.join(to.seconds + GRACE)
    return found[0] if found else SendFailed(f"no reply within {to.seconds:g} s")

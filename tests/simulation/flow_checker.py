"""The invariants of flow control (I27 to I34), checked over the same records as the others. `Checker` feeds it.

What holds within a call is judged when the next commit begins: a call may examine jobs in steps.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mainstay.core import rules as text
from mainstay.core.admission import FARTHEST, MANY
from mainstay.core.limits import effective
from mainstay.core.states import BLOCKED, COMPLETED, ENDED, QUEUED, RUNNING, SCHEDULED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.history import Record

    Breach = Callable[[str, str, str], None]  # invariant, job, story


class Ruled:
    """What is known about one job and what holds it back."""

    def __init__(self) -> None:
        self.state, self.queue, self.type = "", "", ""
        self.rules: dict[str, Any] = {}
        self.held: Counter[str] = Counter()
        self.parents: list[str] = []
        self.completed = self.ended = self.retried = False  # at some time
        self.born = 0
        self.peaks: dict[str, int] = {}  # the largest limit of each of its slots since it was admitted


class FlowChecker:
    """Takes moves, holds, rules and drafts one by one; `settle` judges what a call has left."""

    def __init__(self, breach: Breach) -> None:
        self._breach = breach
        self.jobs: dict[str, Ruled] = {}
        self._set: dict[tuple[str, str], dict[str, Any]] = {}  # rules by kind and name
        self._holders: dict[str, set[str]] = {}  # slot of a limit → the jobs that are queued or running there
        self._starts: dict[str, list[int]] = {}  # slot of a rate → when jobs were claimed
        self._commit: object = None
        self._touched: set[str] = set()  # in this commit
        self._admitted: set[str] = set()

    def feed(self, record: Record) -> None:
        """Take the next record."""
        op, args = record.op, record.args
        if op == "enqueue":
            if args.get("after"):
                self._job(record.job).parents = args["after"]
            return
        if op == "start":
            self._check_in_time(record)
            return
        if args.get("commit") != self._commit:
            self.settle()
            self._commit = args.get("commit")
        if op == "move":
            self._move(record)
        elif op == "hold":
            self._hold(record)
        elif op == "rule":
            self._rule(args)

    def _job(self, job: str) -> Ruled:
        return self.jobs.setdefault(job, Ruled())

    def _hold(self, record: Record) -> None:
        self._job(record.job).held[record.args["slot"]] += 1 if record.args["there"] else -1
        self._touched.add(record.job)

    def _rule(self, args: dict[str, Any]) -> None:
        key = args["kind"], args["name"]
        if args.get("there"):
            self._set[key] = args["value"]
        else:
            self._set.pop(key, None)
        if args["kind"] == "limit":
            for slot, holders in self._holders.items():
                if text.limit_of(slot)[0] == args["name"]:
                    self._raise_peaks(slot, holders)

    def _raise_peaks(self, slot: str, holders: set[str]) -> None:
        for job in holders:
            known = self.jobs[job]
            known.peaks[slot] = max(known.peaks.get(slot, 0), self._limit(slot, known))

    def _limit(self, slot: str, job: Ruled) -> int:
        name, _ = text.limit_of(slot)
        carried = {each: running for each, _, running in job.rules.get("limits", ())}
        found = {"running": carried.get(name), **effective(self._set.get(("limit", name), {}))}["running"]
        return MANY if found is None else int(found)

    # moves --------------------------------------------------------------------------------------------------------
    def _move(self, record: Record) -> None:
        args, job = record.args, self._job(record.job)
        before, after = args["before"], args["after"]
        if not before:  # new, or sent again after it was deleted
            job.retried = job.completed = job.ended = False
            job.born = record.at
        elif before in ENDED and after:
            job.retried = True
        self._leave(record.job, job)
        job.state, job.rules = after, text.unpack(args.get("rules"))
        job.queue, job.type = args.get("queue", ""), args.get("type", "")
        job.completed, job.ended = job.completed or after == COMPLETED, job.ended or after in ENDED or not after
        self._enter(record.job, job, before)
        self._touched.add(record.job)
        if after == RUNNING and before != RUNNING:
            self._started(record, job)

    def _leave(self, name: str, job: Ruled) -> None:
        for slot in text.limit_slots(job.rules):
            self._holders.get(slot, set()).discard(name)

    def _enter(self, name: str, job: Ruled, before: str) -> None:
        if job.state not in (QUEUED, RUNNING):
            job.peaks = {}
            return
        for slot in text.limit_slots(job.rules):
            self._holders.setdefault(slot, set()).add(name)
            job.peaks[slot] = max(job.peaks.get(slot, 0), self._limit(slot, job))
            if job.state == QUEUED and before != QUEUED:
                self._admitted.add(slot)

    # I30 to I33: what may start -------------------------------------------------------------------------------------
    def _started(self, record: Record, job: Ruled) -> None:
        now = record.args.get("started_at") or record.at
        for name in (text.ALL, f"queue:{job.queue}", f"type:{job.type}"):
            if ("pause", name) in self._set:
                self._breach("I32", record.job, f"was taken while {name} was paused")
        until = self._set.get(("breaker", job.type), {}).get("until", 0)
        if until > now:
            self._breach("I33", record.job, f"was taken {until - now} ms before the rest of its type was over")
        for name, key, every, burst in job.rules.get("rates", ()):
            self._charge(record.job, text.rate_slot(name, key), now, every, burst)
        if record.token == 1 and not job.retried:
            self._check_parents(record.job, job)

    def _check_in_time(self, record: Record) -> None:
        """A worker does not run a job for the first time once its own clock is past the time by which it had to start."""
        late = record.args.get("clock", 0) - self._job(record.job).rules.get("start_by", FARTHEST)
        if record.token == 1 and late > 0:
            self._breach("I33", record.job, f"was run {late} ms after the time by which it had to start")

    def _charge(self, job: str, slot: str, now: int, every: int, burst: int) -> None:
        starts = self._starts.setdefault(slot, [])
        starts.append(now)
        starts.sort()
        for first, since in enumerate(starts):
            for last in range(first, len(starts)):
                many, window = last - first + 1, starts[last] - since
                if now in (since, starts[last]) and (many - burst) * every > window * 1_000:
                    self._breach(
                        "I30",
                        job,
                        f"is one of {many} starts within {window} ms at {slot!r}: every {every} µs, {burst} at once",
                    )
                    return

    def _check_parents(self, name: str, job: Ruled) -> None:
        policy = job.rules.get("after")
        for parent in job.parents if policy else ():
            known = self._job(parent)
            if not (known.ended if policy == "run" else known.completed):
                self._breach(
                    "I31", name, f"was taken before its parent {parent} had completed: it was {known.state or 'gone'}"
                )

    # I27, I28: what a call leaves -----------------------------------------------------------------------------------
    def settle(self) -> None:
        """Judge what the last call has left."""
        for slot in sorted(self._admitted):
            self._check_slot(slot)
        for name in sorted(self._touched):
            self._check_holds(name, self.jobs[name])
        self._touched.clear()
        self._admitted.clear()

    def _check_slot(self, slot: str) -> None:
        holders = sorted(self._holders.get(slot, ()))
        running = [job for job in holders if self.jobs[job].state == RUNNING]
        most = max((self.jobs[job].peaks.get(slot, 0) for job in running), default=0)
        if len(running) > most:
            self._breach(
                "I27",
                running[-1],
                f"is one of {len(running)} that run in {slot!r}, which never had room for more than {most}",
            )
        limit = self._limit(slot, self.jobs[holders[0]]) if holders else 0
        if len(holders) > limit:
            self._breach("I27", holders[-1], f"was let in at {slot!r} as one of {len(holders)}: {limit} may be")

    def _check_holds(self, name: str, job: Ruled) -> None:
        limits, rates = set(text.limit_slots(job.rules)), set(text.rate_slots(job.rules))
        held = {slot for slot, count in job.held.items() if count > 0}
        wanted = limits if job.state == RUNNING else limits | rates if job.state == QUEUED else set()
        allowed = wanted | (rates if job.state in (SCHEDULED, BLOCKED) else set())
        if not wanted <= held:
            self._breach("I28", name, f"is {job.state} and does not hold {sorted(wanted - held)}")
        if not held <= allowed:
            self._breach("I28", name, f"is {job.state or 'gone'} and holds {sorted(held - allowed)}")

    # I29, I34: at the end -------------------------------------------------------------------------------------------
    def close(self, finals: dict[str, Record]) -> None:
        """Judge how things stand at the end."""
        self.settle()
        for name, final in finals.items():
            waits = final.args.get("waits")
            if waits is not None:
                self._check_wait(name, self._job(name), waits)

    def _check_wait(self, name: str, job: Ruled, waits: str) -> None:
        if "\n" in waits and not text.is_rate(waits):
            holders = len(self._holders.get(waits, ()))
            if holders < self._limit(waits, job):
                self._breach("I29", name, f"waits in line at {waits!r}, which has room: {holders} hold it")
        elif waits == text.PARENTS:
            if all(self._job(parent).ended for parent in job.parents):
                self._breach("I34", name, "waits for its parents, which have all ended")
        elif waits.startswith(text.PAUSED):
            if ("pause", waits.removeprefix(text.PAUSED)) not in self._set:
                self._breach("I34", name, f"waits for the end of a pause that is over: {waits}")
        else:
            self._breach("I34", name, f"waits for nothing: {waits!r}")

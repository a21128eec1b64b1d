"""The invariants (I1 to I37), checked in one pass over a history. Jobs are independent, so time is linear.

    violations = check(history)                         # safety: whatever the faults, none of this may happen
    violations = check(history, live=True)              # liveness: the faults stopped, everything must be at rest

I1 what was accepted is there, and ends once faults stop · I2 an unknown enqueue is absent or whole · I3 nothing appears that
nobody enqueued · I4 tokens only grow · I5 one recorded outcome a token, by the current token, after the handler returned ·
I6 nothing starts after the end · I7 two never hold a job at once, and no live worker is robbed · I8 only the moves of
the table · I9 attempts are counted right · I12 one active job a key · I14 no completion after an accepted cancel ·
I15 a job is in exactly one place · I16 nothing before its time, higher priority first · I18 stale notes are refused ·
I20 time limits are applied, by monotonic time · I21 no attempt counts as a crash that was none · I24 an attempt that its
worker ended is over before the next begins · I25 what was claimed starts or goes back soon · I26 a mutation by search
changes only jobs that still match · I37 the counters say how often jobs and attempts ended · I35 a deadline decides a review by its policy, not before and not much later, and one process
reminds of it at a time · I36 an operator's change reaches no job that runs, is in review or has completed.

Flow control (`flow_checker`): I27 no more jobs of a slot are let in or run than its limit permits · I28 holds are those of queued
and running jobs · I29 no job waits in line at a slot with room · I30 no rate is exceeded in any window · I31 no child starts
before its parents have completed · I32 nothing that is paused starts · I33 nothing starts too late, or while its type rests ·
I34 what is blocked at the end waits for something.

The simulator itself checks, as they happen: I11 a tick of a schedule fires once, and none is missing while the
schedule is not paused · I19 a signal and a fork leave locks and transactions as they were · I22 what one
round writes is bounded · I23 new work does not begin with a checkpoint of other work · I37 the groups of dead jobs have exactly
the dead jobs, and each of these a fingerprint.

(I10 is checked by the campaign that has business rows, I17 with tenants; I13, limits, is now I27 to I29.)
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mainstay.core.retry import CRASHES
from mainstay.core.review import DEADLINE
from mainstay.core.states import BLOCKED, COMPLETED, DEAD, ENDED, QUEUED, REVIEW, RUNNING
from tests.simulation.flow_checker import FlowChecker
from tests.simulation.job_history import JobHistory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.simulation.history import Record
    from tests.simulation.job_history import Attempt


DECIDED = {"reject": "rejected", "approve": "approved", "dead": "expired"}  # by the policy of a review
OVERDUE = 15_000  # milliseconds after its deadline in which a review is decided, once faults have stopped
WAIT = 20_000  # milliseconds that a claimed job may wait for a slot
FLOW = frozenset({"enqueue", "move", "hold", "rule", "start"})  # what the invariants of flow control are about
RENEWALS = frozenset(
    {"register_types", "register", "renew", "deregister"}
)  # the calls by which a worker keeps its lease


class Violation(NamedTuple):
    """One invariant broken by one job."""

    invariant: str
    job: str
    step: int
    story: str

    def __str__(self) -> str:
        return f"{self.invariant}: job {self.job or '?'} {self.story} (step {self.step})"


class Checker:
    """Takes records one by one; `close` returns what was broken.

    `ordered` says that the order of the records is the true order (the simulator's is). Where the logs of real processes
    were merged by their clocks, a start may be written a moment after the fact: then only what cannot be a matter of
    order is judged. Records of one process, and moves among themselves, must be in order in any case.
    """

    def __init__(self, ordered: bool = True) -> None:
        self._ordered = ordered
        self.violations: list[Violation] = []
        self.lives: dict[str, JobHistory] = {}
        self._keys: dict[str, str] = {}  # what must be unique → the job that has it
        self._leases: dict[str, int] = {}  # worker → until when; 0: gone
        self._renewed: dict[str, int] = {}  # worker → the step of its last renewal
        self._longest = 0  # the longest lease seen
        self._faults: dict[str, int] = {}  # process → the step of its last fault
        self._gone: set[str] = set()  # processes that have ended
        self._back: dict[str, list[int]] = {}  # process → when it came back from a suspension
        self._admitted: list[tuple[dict[int, int], int]] = []  # what was blocked and is queued since this commit
        self._queued: dict[tuple[str, str], dict[int, int]] = {}  # (queue, type) → priority → how many
        self._batch: tuple[int, list[Record]] = (-1, [])  # the claims of one commit
        self._batches: dict[str, list[str]] = {}  # drafts sent in one call
        self._flow = FlowChecker(self._flow_breach)
        self._clocks_set = False
        self._ends: Counter[str] = Counter()  # of jobs by state, and of attempts
        self._record: Record
        self._life: JobHistory
        self._rules = {
            "enqueue": self._enqueue, "move": self._move, "claim": self._claim, "start": self._start, "end": self._end,
            "finish": self._finish, "fault": self._fault, "lease": self._lease, "cancel": self._cancel, "retry": self._retry,
            "note": self._note, "final": self._final, "stray": self._stray, "delete": self._delete, "back": self._came_back,
            "register": self._register, "resolve_review": self._resolve_review, "remind": self._remind, "clock": self._clock,
            "change": self._change, "counted": self._counted,
        }  # fmt: skip

    def feed(self, record: Record) -> None:
        """Take the next record."""
        rule = self._rules.get(record.op)
        if record.op in FLOW:
            self._flow.feed(record)
        if rule is None:
            return
        life = self.lives.get(record.job)
        if life is None:
            life = JobHistory(record.job)
            if record.job:
                self.lives[record.job] = life
        self._record, self._life = record, life
        rule(record, life)

    def close(self, live: bool = False) -> list[Violation]:
        """Check the whole history; return every violation, in the order in which they were seen."""
        self._close_batch()
        self._flow.close({life.id: life.final for life in self.lives.values() if life.final is not None})
        for life in self.lives.values():
            self._life = life
            life.close(self._breach, live)
            self._check_child(life)
            self._check_waits(life)
            if live:
                self._check_deadline(life)
        for jobs in self._batches.values():
            self._check_batch(jobs)
        return self.violations

    def _breach(self, invariant: str, story: str) -> None:
        self.violations.append(Violation(invariant, self._life.id, self._record.step, story))

    def _flow_breach(self, invariant: str, job: str, story: str) -> None:
        self.violations.append(Violation(invariant, job, self._record.step, story))

    # counters: I37 ------------------------------------------------------------------------------------------------
    def _count_end(self, before: str, after: str) -> None:
        if before == after:  # something else of the job has changed
            return
        if before == RUNNING:
            self._ends["attempts"] += 1
        if after in ENDED:
            self._ends[after] += 1

    def _counted(self, record: Record, _: JobHistory) -> None:
        if record.args["names"] != dict(self._ends):
            self._breach("I37", f"of {dict(self._ends)} ends {record.args['names']} were counted")

    # enqueue: I2, I12 ---------------------------------------------------------------------------------------------
    def _enqueue(self, record: Record, life: JobHistory) -> None:
        if record.phase == "invoke":
            if life.asked is None:
                life.asked = record.args
                if record.args.get("batch"):
                    self._batches.setdefault(record.args["batch"], []).append(record.job)
        elif record.phase == "fail":
            life.refused = True
        elif record.phase == "ok":
            self._accepted(record, life)
        elif record.phase == "absorbed":
            self._absorbed(record, life)

    def _accepted(self, record: Record, life: JobHistory) -> None:
        sent = record.args.get("sent", record.job)
        if record.args.get("created", True):
            life.acked = True
            if sent != record.job:
                self._breach("I2", f"was answered as new to a draft called {sent}")
            return
        self.lives.setdefault(sent, JobHistory(sent)).absorbed = True

    def _absorbed(self, record: Record, life: JobHistory) -> None:
        key = _key(life)
        if life.moved and key and self._keys.get(key) != record.job:
            self._breach("I12", f"keeps its key although it is {life.state or 'gone'}: a new draft was turned away")
        if record.args.get("mode"):  # replaced: the newer draft says how long the key holds
            life.asked = {**(life.asked or {}), "mode": record.args["mode"]}

    # moves: I12, I16 ----------------------------------------------------------------------------------------------
    def _move(self, record: Record, life: JobHistory) -> None:
        if not life.moved and record.args["before"]:
            life.born, life.state = True, record.args["before"]  # a history that begins in the middle
        if life.removed and not record.args["before"]:
            life.begin_again()
        self._count_end(record.args["before"], record.args["after"])
        life.move(record, self._breach)
        self._hold_key(record, life)
        if "priority" in record.args:
            self._count(record)

    def _hold_key(self, record: Record, life: JobHistory) -> None:
        key = _key(life)
        if not key:
            return
        before, after = record.args["before"], record.args["after"]
        holder = self._keys.get(key)
        if not before or (after in (QUEUED, BLOCKED) and (before in ENDED or before == REVIEW)):
            if holder not in (None, life.id):
                self._breach("I12", f"became active beside {holder}, which has the same key {key}")
            self._keys[key] = life.id
        elif holder == life.id and (after in ENDED or not after or (after == RUNNING and _mode(life) == "start")):
            del self._keys[key]

    def _count(self, record: Record) -> None:
        """Keep count of what waits, by priority; judge the claims of a commit when the next one begins."""
        args = record.args
        commit = args.get("commit", record.step)
        if commit != self._batch[0]:
            self._close_batch()
            self._batch = (commit, [])
        waiting = self._queued.setdefault((args.get("queue", ""), args.get("type", "")), {})
        if args["before"] == QUEUED:
            was = args.get("was_priority", args["priority"])
            there = (args.get("was_queue") or args.get("queue", ""), args.get("type", ""))
            left = self._queued.setdefault(there, {})
            left[was] = left.get(was, 0) - 1
        if args["after"] == QUEUED and args["before"] == BLOCKED:  # it may be let in after the claim of the same commit
            self._admitted.append((waiting, args["priority"]))
        elif args["after"] == QUEUED:
            waiting[args["priority"]] = waiting.get(args["priority"], 0) + 1
        elif args["after"] == RUNNING:
            self._batch[1].append(record)

    def _close_batch(self) -> None:
        for record in self._batch[1]:
            args = record.args
            waiting = self._queued[args.get("queue", ""), args.get("type", "")]
            passed = max((priority for priority, count in waiting.items() if count > 0), default=args["priority"])
            if passed > args["priority"]:
                self._life = self.lives[record.job]
                self._breach("I16", f"was taken with priority {args['priority']} while one with {passed} waited")
        self._batch = (-1, [])
        for waiting, priority in self._admitted:
            waiting[priority] = waiting.get(priority, 0) + 1
        self._admitted.clear()

    # attempts: I4 to I7 -------------------------------------------------------------------------------------------
    def _claim(self, record: Record, life: JobHistory) -> None:
        life.claim(record, self._breach)

    def _start(self, record: Record, life: JobHistory) -> None:
        other = life.overlaps(record, self._gone)
        if other:
            self._breach("I24", f"begins an attempt while one that its worker has ended still runs in {other}")
        life.start(record, self._breach, self._ordered)

    def _end(self, record: Record, life: JobHistory) -> None:
        life.attempt(record.token).ends.append(record)

    def _finish(self, record: Record, life: JobHistory) -> None:
        if record.phase != "ok":
            return
        life.finish(record, self._breach, self._ordered)
        if record.args["state"] == REVIEW:
            life.deadline = (record.args["expires"], record.args["policy"]) if "expires" in record.args else None
        attempt = life.attempt(record.token)
        if record.args.get("by") == "lost lease" and not (self._faults or self._back):
            self._breach(
                "I7", f"was given up by {record.process}, which could renew its lease: nothing had happened to anyone"
            )
        if record.args.get("outcome") in ("crashed", "lost_unknown") and attempt.taken is not None:
            self._check_robbed(record, attempt.taken.args.get("worker") or "", attempt.holders)
            if record.args["state"] == DEAD and self._back:
                self._check_poison(record, life)

    def _check_poison(self, record: Record, life: JobHistory) -> None:
        """A worker that was suspended and came back in time to say so did not die."""
        crashed = [each for each in life.attempts.values() if each.outcome in ("crashed", "lost_unknown")]
        if len(crashed) < CRASHES:
            return
        none = [each.holders[0] for each in crashed if each.holders and self._survived(each, record.at)]
        if none:
            self._breach("I21", f"is dead as poison, but {', '.join(none)} had not died")

    def _survived(self, attempt: Attempt, now: int) -> bool:
        """Return whether the holder of an attempt that counts as crashed came back, and had a lease's time to say so."""
        holder, since = attempt.holders[0], attempt.stored[0].at
        return any(since <= at < now - self._longest for at in self._back.get(holder, ())) and holder not in self._gone

    def _check_robbed(self, record: Record, worker: str, holders: list[str]) -> None:
        until = self._leases.get(worker, 0)
        if until > record.at:
            self._breach("I7", f"was taken from {worker}, whose lease runs for another {until - record.at} ms")
        disturbed = [holder for holder in holders if self._faults.get(holder, -1) > self._renewed.get(worker, -1)]
        if self._ordered and holders and self._renewed and not disturbed:
            self._breach("I7", f"was taken from {holders[0]}, which was alive and could renew its lease")

    def _fault(self, record: Record, life: JobHistory) -> None:
        verb = record.args.get("verb")
        if not verb or verb in RENEWALS or record.args["kind"] in ("pause", "crash"):
            self._faults[record.process] = record.step
        if record.args["kind"] in ("crash", "exit"):
            self._gone.add(record.process)

    def _came_back(self, record: Record, life: JobHistory) -> None:
        self._back.setdefault(record.process, []).append(record.at)

    def _register(self, record: Record, life: JobHistory) -> None:
        self._leases.pop(record.args["worker"], None)  # a name that was given before has a new lease

    def _lease(self, record: Record, life: JobHistory) -> None:
        until = record.args["until"]
        if until and self._leases.get(record.process) == 0:
            self._breach("I7", f"(worker {record.process} renewed a lease that had ended)")
        self._leases[record.process] = until
        self._longest = max(self._longest, until - record.at)
        if until - record.at > 0.75 * self._longest:  # one that was asked for long ago does not count as renewed
            self._renewed[record.process] = record.step

    # operators and notes: I14, I18, I36 ---------------------------------------------------------------------------------
    def _cancel(self, record: Record, life: JobHistory) -> None:
        answer = record.args.get("answer")
        if record.phase != "ok" or answer not in ("cancelled", "cancelling"):
            return
        if self._ordered and life.moved and (answer == "cancelled") != (life.state == "cancelled"):
            self._breach("I14", f"was answered as {answer} while it was {life.state}")
        life.cancelled = True

    def _retry(self, record: Record, life: JobHistory) -> None:
        if record.phase == "ok" and record.args.get("answer") == "queued" and not life.moved:
            life.cancelled = False

    def _change(self, record: Record, life: JobHistory) -> None:
        changed = record.phase == "ok" and record.args.get("answer") == "changed"
        if changed and self._ordered and life.moved and life.state in (RUNNING, REVIEW, COMPLETED):
            self._breach("I36", f"was changed by an operator while it was {life.state}")

    def _delete(self, record: Record, life: JobHistory) -> None:
        only = record.args.get("only")
        if only and record.args.get("answer") == "deleted" and life.removed_from != only:
            self._breach("I26", f"was deleted as {only}, but it was {life.removed_from}")

    # reviews: I35 -------------------------------------------------------------------------------------------------
    def _resolve_review(self, record: Record, life: JobHistory) -> None:
        if record.args.get("actor") != DEADLINE or record.args["answer"] not in DECIDED.values():
            return
        expires, policy = life.deadline or (None, "")
        if expires is None:
            self._breach("I35", "was decided by a deadline that it does not have")
        elif record.args["now"] < expires:
            self._breach("I35", f"was decided {expires - record.args['now']} ms before its deadline")
        elif record.args["answer"] != DECIDED[policy]:
            self._breach("I35", f"is {record.args['answer']}, although its deadline was to {policy}")

    def _remind(self, record: Record, life: JobHistory) -> None:
        reminder = record.token, record.args["due"]
        if reminder in life.reminders:
            self._breach("I35", "was reminded of twice for the same period")
        life.reminders.add(reminder)

    def _clock(self, record: Record, life: JobHistory) -> None:
        self._clocks_set = True

    def _check_deadline(self, life: JobHistory) -> None:
        """Once faults have stopped, no review waits long after its deadline. Workers with wrong clocks have their own."""
        if life.final is None or life.final.args["state"] != REVIEW or life.deadline is None or self._clocks_set:
            return
        late = life.final.at - life.deadline[0]
        if late > OVERDUE:
            self._breach("I35", f"still waits {late} ms after its deadline")

    def _note(self, record: Record, life: JobHistory) -> None:
        args = record.args
        if not args.get("running", True) or args.get("current", record.token) != record.token:
            self._breach("I18", f"took a note of token {record.token}; its token was {args.get('current')}")

    # the end: I2, I3, I15 -------------------------------------------------------------------------------------------
    def _final(self, record: Record, life: JobHistory) -> None:
        if life.final is not None:
            self._breach("I15", "is there twice")
        life.final = record
        if life.cancelled and not life.moved and record.args["state"] == COMPLETED:
            self._breach("I14", "completed after a cancel had been accepted")

    def _stray(self, record: Record, life: JobHistory) -> None:
        self._breach("I15", f"left something behind in {record.args.get('table')}")

    def _check_child(self, life: JobHistory) -> None:
        """A child exists if and only if the attempt that asked for it was the one that completed its parent."""
        asked = life.asked or {}
        parent = self.lives.get(asked.get("parent", ""))
        if parent is None or not parent.moved or parent.reborn:
            return
        completed = parent.attempt(asked["parent_token"]).completed
        if life.exists and not completed:
            self._breach("I3", f"exists, but the attempt of {parent.id} that asked for it did not complete")
        if completed and not life.exists and not asked.get("key"):
            self._breach("I2", f"is missing, although its parent {parent.id} completed")

    def _check_waits(self, life: JobHistory) -> None:
        """A job that was claimed starts, or goes back within seconds, where nothing befell its worker."""
        for attempt in life.attempts.values():
            if attempt.taken is None or not attempt.holders:
                continue
            end = attempt.starts[0] if attempt.starts else attempt.left
            if end is None or self._faults.get(attempt.holders[0], -1) > attempt.taken.step:
                continue
            if end.at - attempt.taken.at > WAIT:
                self._breach(
                    "I25", f"waited {end.at - attempt.taken.at} ms in {attempt.holders[0]}, which had claimed it"
                )

    def _check_batch(self, jobs: list[str]) -> None:
        lives = [life for life in map(self.lives.__getitem__, jobs) if not _key(life)]  # a key may absorb a draft
        missing = [life for life in lives if not life.exists]
        if missing and len(missing) < len(lives):
            self._life = missing[0]
            self._breach("I2", f"is missing from a batch of {len(lives)}, of which others exist")


def _key(life: JobHistory) -> str:
    """What must be unique while the job is alive or until it starts; a key for a period holds whatever becomes of the job."""
    return "" if _mode(life) == "period" else str((life.asked or {}).get("key") or "")


def _mode(life: JobHistory) -> str:
    return str((life.asked or {}).get("mode") or "alive")


def check(records: Iterable[Record], *, live: bool = False, ordered: bool = True) -> list[Violation]:
    """Every violation in a history; with `live`, what is not at rest at its end is one too."""
    checker = Checker(ordered)
    for record in records:
        checker.feed(record)
    return checker.close(live)

"""One job in a history, and the rules about one job alone. Each breach is named after its invariant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainstay.core.states import BLOCKED, CANCELLED, COMPLETED, DEAD, ENDED, MOVES, QUEUED, REVIEW, RUNNING, SCHEDULED

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from tests.simulation.history import Record

    Breach = Callable[[str, str], None]  # called with the invariant and the story

FREE = frozenset({"released", "snoozed", "lost_unknown"})  # outcomes that cost no attempt
COSTLY = frozenset({"failed", "timed out", "crashed"})
NATURAL = frozenset({"completed", "failed", "snoozed", "review"})  # outcomes of a handler that nobody stopped
LATE = 1_500  # how far past its time limit a handler may be stopped


class Attempt:
    """What is known about one token of one job."""

    __slots__ = ("approved", "ends", "holders", "left", "starts", "stored", "taken")

    def __init__(self) -> None:
        self.taken: Record | None = None  # the move to running
        self.left: Record | None = None  # the move out of running
        self.holders: list[str] = []  # the processes that got this token
        self.starts: list[Record] = []
        self.ends: list[Record] = []
        self.stored: list[Record] = []
        self.approved = False  # it ended in a review, which completed the job

    @property
    def completed(self) -> bool:
        """Whether the job completed by this attempt."""
        return self.approved or (self.left is not None and self.left.args["after"] == COMPLETED)

    @property
    def outcome(self) -> str:
        """The outcome that was recorded for it, or ""."""
        return str(self.stored[0].args.get("outcome") or "") if self.stored else ""


class JobHistory:
    """Everything known about one job."""

    __slots__ = (
        "absorbed", "acked", "asked", "attempts", "born", "cancelled", "deadline", "due", "final", "id", "moved", "reborn", "refused", "reminders", "removed",
        "removed_from", "state", "token",
    )  # fmt: skip

    def __init__(self, job: str) -> None:
        self.id = job
        self.asked: dict[str, Any] | None = None  # the draft, once somebody was about to send it
        self.acked = self.absorbed = self.refused = False
        self.moved = self.born = self.reborn = self.removed = False
        self.cancelled = False  # a cancel was accepted and not undone by a retry
        self.state, self.token = "", 0
        self.removed_from = ""  # the state in which it was deleted
        self.due = 0  # not before
        self.deadline: tuple[int, str] | None = None  # of its last review, and what happens then
        self.reminders: set[tuple[int, int]] = set()  # of reviews: the token that asked, and when
        self.final: Record | None = None
        self.attempts: dict[int, Attempt] = {}

    def attempt(self, token: int) -> Attempt:
        """What is known about one token."""
        found = self.attempts.get(token)
        if found is None:
            found = self.attempts[token] = Attempt()
        return found

    @property
    def exists(self) -> bool:
        """Whether the job was ever seen in the store."""
        return self.born or self.removed or self.final is not None

    def begin_again(self) -> None:
        """Start over: it was deleted, and a producer without a reply sent its draft again, as a new job with the same id."""
        self.removed = self.cancelled = False
        self.reborn = True
        self.token, self.attempts = 0, {}

    # as it happens ------------------------------------------------------------------------------------------------
    def move(self, record: Record, breach: Breach) -> None:
        """The engine changed the state."""
        before, after = record.args["before"], record.args["after"]
        self._check_move(before, after, record, breach)
        if after == RUNNING:
            self._taken(record, breach)
        elif before == RUNNING:
            self._left(record, breach)
        if SCHEDULED in (before, after) or not before:
            self.due = record.args.get("run_at") or 0
        elif after in (QUEUED, BLOCKED):  # handed back or retried: at once
            self.due = 0
        if after in (QUEUED, BLOCKED) and (before in ENDED or before == REVIEW):
            self.cancelled = False  # a new life
        if before == REVIEW and after == COMPLETED:
            self.attempt(self.token).approved = True
        if not after:
            self.removed_from = before
        self.moved, self.born, self.removed = True, self.born or not before, not after
        self.state, self.token = after, max(self.token, record.token)

    def _check_move(self, before: str, after: str, record: Record, breach: Breach) -> None:
        if self.moved and before != self.state:
            breach("I8", f"moved from {before or 'nothing'}, but it was {self.state or 'gone'}")
        if not after:
            if before == RUNNING:
                breach("I15", "was removed while it ran")
        elif before == RUNNING == after:
            breach("I7", "was taken while another held it")
        elif before in ENDED and after == RUNNING:
            breach("I6", f"was taken after it had ended as {before}")
        elif before != after and (before, after) not in MOVES:  # the same state: only its priority or time was changed
            breach("I8", f"moved from {before or 'nothing'} to {after}, which the table does not allow")
        if after == COMPLETED and self.cancelled:
            breach("I14", "completed after a cancel had been accepted")

    def _taken(self, record: Record, breach: Breach) -> None:
        args, attempt = record.args, self.attempt(record.token)
        if record.token <= self.token:
            breach("I4", f"was taken with token {record.token} after token {self.token}")
        if attempt.taken is None:
            attempt.taken = record
        if args["attempt"] > args.get("max_attempts", args["attempt"]):
            breach("I9", f"began attempt {args['attempt']} of {args['max_attempts']}")
        if self.due > record.at:
            breach("I16", f"was taken {self.due - record.at} ms before its time")

    def _left(self, record: Record, breach: Breach) -> None:
        if record.token != self.token:
            breach("I4", f"left running with token {record.token}, the claim had {self.token}")
        self.attempt(record.token).left = record
        ends_well = record.args["after"] in (CANCELLED, DEAD, "")
        if not ends_well and (record.args.get("cancelling") or self.cancelled):
            breach("I14", f"became {record.args['after']} although a cancel had been accepted")

    def claim(self, record: Record, breach: Breach) -> None:
        """A worker got the reply that it holds the job."""
        attempt = self.attempt(record.token)
        attempt.holders.append(record.process)
        if len(attempt.holders) > 1:
            breach("I4", f"token {record.token} was given to {' and '.join(attempt.holders)}")

    def start(self, record: Record, breach: Breach, strict: bool) -> None:
        """A handler is about to run."""
        attempt = self.attempt(record.token)
        attempt.starts.append(record)
        if len(attempt.starts) > 1:
            breach("I7", f"token {record.token} was run twice")
        if not strict or not self.moved:
            return
        if self.state in ENDED or self.removed:
            breach("I6", f"was started after it had ended as {self.state or 'removed'}")
        elif record.token != self.token or self.state != RUNNING:
            breach("I7", f"was started with token {record.token} while it was {self.state} with token {self.token}")

    def overlaps(self, record: Record, gone: Container[str]) -> str:
        """Return the process in which an attempt that its worker ended still runs while another begins, or ""."""
        for token, attempt in self.attempts.items():
            if token < record.token and attempt.starts and not attempt.ends and attempt.stored:
                process = attempt.starts[0].process
                ended = attempt.stored[0]
                if process not in gone and ended.process == process and ended.args.get("by") == "worker":
                    return process
        return ""

    def finish(self, record: Record, breach: Breach, strict: bool) -> None:
        """An outcome was recorded."""
        attempt, state = self.attempt(record.token), record.args["state"]
        attempt.stored.append(record)
        if len(attempt.stored) > 1:
            breach("I5", f"two outcomes were recorded for token {record.token}")
        if not strict:
            return
        if self.moved and (record.token != self.token or self.state != RUNNING):
            breach("I5", f"{state} was recorded for token {record.token}; it was {self.state} with token {self.token}")
        outcome = record.args.get("outcome")
        if outcome == "completed" and not attempt.ends:
            breach("I5", "a completion was recorded before the handler had returned")
        if outcome == "crashed" and record.args.get("marks") and not attempt.starts:
            breach("I21", "counts as crashed, but its handler had not started")
        if outcome == "timed out" and record.args.get("by") == "worker" and attempt.starts:
            ran, limit = record.at - attempt.starts[0].at, attempt.starts[0].args.get("limit")
            if limit and ran < 0.95 * limit:
                breach("I20", f"timed out after {ran} ms of {limit}")

    # at the end ---------------------------------------------------------------------------------------------------
    def close(self, breach: Breach, live: bool) -> None:
        """What can be said once the whole history is known."""
        self._check_presence(breach)
        if live and self.final is not None and self.final.args["state"] not in ENDED | {REVIEW}:
            breach("I1", f"is still {self.final.args['state']}, although the faults stopped long ago")
        if self.moved and self.final is not None and self.final.args["state"] != self.state:
            breach("I15", f"is {self.final.args['state']}, but its last move was to {self.state or 'nothing'}")
        for token, attempt in self.attempts.items():
            self._check_attempt(token, attempt, breach)

    def _check_presence(self, breach: Breach) -> None:
        if self.acked and not self.exists:
            breach("I1", "was accepted and is not there")
        elif self.acked and self.final is None and self.moved and not self.removed:
            breach("I1", "vanished without a trace")
        if (self.absorbed or self.refused) and not self.acked and self.exists:
            breach("I2", "was not accepted (its key was taken) and exists all the same")
        if self.asked is None and (self.exists or self.attempts):
            breach("I3", "was never enqueued by anyone")

    def _check_attempt(self, token: int, attempt: Attempt, breach: Breach) -> None:
        if not self.moved:
            return
        if attempt.taken is None and (attempt.starts or attempt.holders):
            breach("I7", f"was given out with token {token}, which the engine never gave")
        for record in attempt.stored:
            if attempt.left is None:
                breach("I5", f"an outcome was recorded for token {token}, which never left running")
            elif attempt.left.args["after"] not in (
                record.args["state"],
                BLOCKED if record.args["state"] == QUEUED else "",
            ):
                breach("I5", f"token {token} ended as {attempt.left.args['after']} and was told {record.args['state']}")
        self._check_time(attempt, breach)
        if attempt.taken is not None and attempt.left is not None and attempt.stored:
            self._check_cost(attempt, attempt.taken, attempt.left, breach)

    def _check_time(self, attempt: Attempt, breach: Breach) -> None:
        """A handler that ran past its time limit has timed out, or was stopped for another reason.

        A worker that has lost its lease no longer applies it: it gives the attempt up as failed, and drops its outcome.
        """
        limit = attempt.starts[0].args.get("limit") if attempt.starts else None
        ran = attempt.ends[0].args.get("ran", 0) if attempt.ends else 0
        own = attempt.outcome in NATURAL and attempt.stored[0].args.get("by") != "lost lease"
        if limit and ran > limit + LATE and own:
            breach("I20", f"ran for {ran} ms and {attempt.outcome}: its time limit of {limit} ms was not applied")

    def _check_cost(self, attempt: Attempt, taken: Record, left: Record, breach: Breach) -> None:
        """A failure costs an attempt; a snooze or a hand-back costs none."""
        outcome, cost = attempt.stored[0].args.get("outcome"), 1 + left.args["attempt"] - taken.args["attempt"]
        if outcome == "completed" and attempt.starts and not attempt.ends:
            breach("I5", "completed, but its handler never returned")
        if left.args["after"] in ENDED:
            return
        if (outcome in FREE and cost != 0) or (outcome in COSTLY and cost != 1):
            breach("I9", f"{outcome} has cost {cost} attempts")

"""What handlers leave to be stored: a bounded buffer that drops nothing. Each outcome is decided once and retried until stored."""

from __future__ import annotations

import sys
import threading
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..core.decide import Completed, Transition, completed, decide
from ..core.errors import LeaseLost, StoreError
from ..core.job import Labels
from ..core.outcome import CANCELLED, COMPLETED, INVALID, Outcome
from ..core.payload import clean
from ..core.review import last
from ..core.states import COMPLETED as COMPLETED_STATE
from ..core.updates import Checkpoint, Log, LogLimits, Progress, Update
from ..core.verdict import ALREADY, BUSY, CANCELLING, LOST, STORED
from .attempt_log import AttemptLog, pack, pack_all
from .rolling_deploy import left_to_others

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..core.clock import Clock
    from ..core.events import Events
    from ..core.job import Claimed
    from ..core.updates import Line
    from ..stores.contract import Store
    from .in_flight import Execution, InFlight

    Batch = list[tuple[Execution, Transition]]
    Attempt = tuple[int | str, int]  # seq, token

FULL, FULL_CHARACTERS = 2_000, 64 << 20  # outcomes waiting: above this nothing more is claimed
# Of one round. No fewer than a worker claims at once: what is left over takes a round of its own. A server closes the connection of a
# statement of 1 GB.
BATCH, BATCH_CHARACTERS = 2_000, 8 << 20
ROUND, ROUND_CHARACTERS = 5_000, 4 << 20  # of updates in one round: some 100 ms of a server
MANY, MANY_CHARACTERS = 2 * ROUND, 2 * ROUND_CHARACTERS  # above this a report waits
PAUSE = 1.0  # seconds that a report waits at most: while the store is away, a handler slows down, but goes on
# On an event loop a wait holds up every handler, and no call can wait for its own handler alone. So the bound is higher there
# (some 100 MB), and above it a report waits just long enough that a loop of reports cannot outrun the store for ever.
LOOP_TIMES, LOOP_PAUSE = 10, 0.01
ACTIONS = 100  # of operators on one job, among which the one is looked for that let it run again
_REQUESTED = CANCELLED._replace(reason="cancelled on request")


class OutcomeBuffer:
    """Collects outcomes and updates; the claimer writes them with its next claim, or alone when nothing is claimed."""

    def __init__(
        self, in_flight: InFlight, clock: Clock, random: Callable[[], float], events: Events,
        updates: UpdateBuffer | None = None,
    ) -> None:  # fmt: skip
        self._in_flight, self._clock, self._random, self._events = in_flight, clock, random, events
        self._outcomes: deque[tuple[Execution, Transition]] = deque()
        self.updates = UpdateBuffer() if updates is None else updates
        self.add_update = self.updates.add
        self._count_lock, self._characters = threading.Lock(), 0  # of all outcomes that wait
        self.more = False  # the last `take` has left something for the next round
        self._on_stored = events.listeners("stored")
        self.fresh = False  # the first update came since the last round
        self._suspects = 0  # one of the next so many cannot be stored: they are taken one by one

    def add(self, execution: Execution, outcome: Outcome) -> bool:
        """Add the outcome of an attempt; False if this worker no longer holds the job. If this raises, the attempt has not ended."""
        job, now = execution.job, self._clock.now()
        if outcome is COMPLETED and not job.cancelling:  # saves the hot path a call
            ended = completed(job, now)
            if not self._in_flight.end(execution):
                return False
            self._outcomes.append((execution, ended))
            return True
        transition = decide(job, outcome, now, self._random)
        if not self._in_flight.end(execution):
            return False
        self._append(execution, transition)
        return True

    def _append(self, execution: Execution, transition: Transition) -> None:
        self._count(_size(transition))
        self._outcomes.append((execution, transition))

    def _count(self, characters: int) -> None:
        if characters:
            with self._count_lock:
                self._characters += characters

    @property
    def pending(self) -> int:
        """How many outcomes and updates wait to be written."""
        return len(self._outcomes) + len(self.updates)

    @property
    def full(self) -> bool:
        """Whether to claim nothing more until the store has caught up."""
        return len(self._outcomes) >= FULL or self._characters >= FULL_CHARACTERS

    def gathers(self) -> bool:
        """Return whether the round is to come a moment later, once: for an update alone. Others, and the outcome, may go along."""
        fresh, self.fresh = self.fresh, False
        return fresh and not self._outcomes

    def take(self, failures: int = 0) -> tuple[Batch, list[Update]]:
        """Return what to write now: no more than the store writes at once, half of it after each failure.

        Outcomes are taken first: the updates of an attempt that has ended are then surely among the updates. The outcome
        of an attempt stays here as long as updates of it do, because the store refuses those of an attempt that has ended.
        """
        if self._suspects:
            return self._take_one()
        batch = self._take_outcomes(BATCH >> failures, BATCH_CHARACTERS >> failures)
        try:
            updates, left = self.updates.take(max(1, ROUND >> failures), ROUND_CHARACTERS >> failures)
        except BaseException:
            self.put_back(batch, [])  # else their jobs would be `running` until this worker ends
            raise
        if left:
            held = [each for each in batch if (each[1].seq, each[1].token) in left]
            batch = [each for each in batch if (each[1].seq, each[1].token) not in left]
            self.put_back(held, [])
        self.more = self.more or bool(left)
        return batch, updates

    def _take_outcomes(self, most: int, characters: int) -> Batch:
        outcomes, taken = self._outcomes, 0
        batch: Batch = []
        self.more = False  # outcomes that come from now on do not count: a round gathers many of them
        waiting = len(outcomes)
        if not self._characters and waiting <= most:  # nearly always: none of them has a size
            return [outcomes.popleft() for _ in range(waiting)]
        while outcomes:
            transition = outcomes[0][1]
            size = 0 if type(transition) is Completed else _size(transition)  # saves the hot path a call
            if batch and (len(batch) >= most or taken + size > characters):
                self.more = True
                break
            taken += size
            batch.append(outcomes.popleft())
        self._count(-taken)
        return batch

    def _take_one(self) -> tuple[Batch, list[Update]]:
        self._suspects -= 1
        self.more = True
        if self.updates:
            return [], self.updates.take(1)[0]
        return self._take_outcomes(1, 0), []

    def refused(self, batch: Batch, updates: list[Update], error: Exception) -> bool:
        """Isolate what no store can hold, or what meets a bug; return False if nothing was being written.

        An outcome that cannot be stored becomes a failure that can, so that its job ends. An update is left out.
        """
        if len(batch) + len(updates) > 1:
            self.put_back(batch, updates)
            self._suspects = len(batch) + len(updates)
        elif batch:
            execution = batch[0][0]
            unstorable = "its outcome cannot be stored"
            outcome = Outcome("failed", error=clean(repr(error), 2_000), retry=False, reason=unstorable)
            self.put_back([(execution, decide(execution.job, outcome, self._clock.now(), self._random))], [])
        return bool(batch or updates)

    def put_back(self, batch: Batch, updates: list[Update]) -> None:
        """Keep for the next round what the store did not take."""
        self._count(sum(_size(transition) for _, transition in batch))
        self._outcomes.extendleft(reversed(batch))
        self.updates.put_back(updates)

    def apply_verdicts(self, batch: Batch, verdicts: list[str]) -> list[Claimed]:
        """Act on the store's verdicts: forget what is stored or lost, decide again what was cancelled; return the lost jobs."""
        if self._on_stored or verdicts.count(STORED) != len(batch):
            return self._apply_each(batch, verdicts)
        self._in_flight.remove([execution for execution, _ in batch])
        return []

    def _apply_each(self, batch: Batch, verdicts: list[str]) -> list[Claimed]:
        done, lost = [], []
        for (execution, transition), verdict in zip(batch, verdicts, strict=True):
            if verdict == CANCELLING:
                execution.job = execution.job._replace(cancelling=True)
                self._append(execution, decide(execution.job, _REQUESTED, self._clock.now(), self._random))
            elif verdict == BUSY:
                self._append(execution, transition)
            else:
                done.append(execution)
            if verdict == LOST:
                lost.append(execution.job)
                self._events.emit("lost", transition=transition)
        self._in_flight.remove(done)
        if self._on_stored:
            kept = [t for (_, t), verdict in zip(batch, verdicts, strict=True) if verdict in (STORED, ALREADY)]
            self._events.emit("stored", transitions=kept)
        return lost


def _size(transition: Transition) -> int:
    """Return about how many characters an outcome has."""
    if type(transition) is Completed:
        return 0
    own = (transition.result, transition.error, transition.traceback)
    return sum(len(text or "") for text in (*own, *(child.payload for child in transition.children)))


class UpdateBuffer:
    """Keeps log lines in order, and of progress and checkpoints an attempt's newest. Any thread adds; the claimer takes.

    It is bounded: a handler that reports faster than the store writes waits. Handlers announce logs without the lock, so all others
    look at `list(announced)`: making a list lets no thread in between, while making a tuple may collect garbage first.
    """

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._lock = threading.Lock()
        self._change = threading.Condition(self._lock)
        self._lines: deque[Log] = deque()
        self._newest: dict[tuple[Any, ...], Progress | Checkpoint] = {}
        self.announced: dict[AttemptLog, None] = {}  # logs with lines that wait
        self._claimer_called = False  # since the last `take` began
        self._characters = 0

    def __len__(self) -> int:
        return len(self._lines) + len(self._newest) + sum(len(each.waiting) for each in list(self.announced))

    def open(self, log: AttemptLog) -> bool:
        """Take the lines of a log with the next round. Return whether to call the claimer for it: the first log does.

        Needs no lock: it adds first and then looks, and `take` does so the other way round. So each log is taken, or one that came
        after it is the first.
        """
        self.announced[log] = None
        if self._claimer_called:
            return False
        self._claimer_called = True
        return True

    def hold(self) -> None:
        """Wait while too many lines wait."""
        if self._pause:
            with self._lock:
                self._wait()

    def add(self, update: Update) -> bool:
        """Add an update, after a pause if too many wait and it replaces none of them. Return whether it is the only one."""
        with self._lock:
            many = len(self._lines) + len(self._newest) >= MANY or self._characters >= MANY_CHARACTERS
            if many and self._pause and _key(update) not in self._newest:
                self._wait()
            alone = not (
                self._lines or self._newest or self.announced
            )  # after the wait, in which others may have been taken
            if isinstance(update, Log):
                self._lines.append(update)
                self._characters += size(update)
            else:
                self._replace(update)
        return alone

    def _wait(self) -> None:
        if self.is_full():
            times, pause = (LOOP_TIMES, min(self._pause, LOOP_PAUSE)) if _on_a_loop() else (1, self._pause)
            self._change.wait_for(lambda: not self.is_full(times), pause)

    def _replace(self, update: Any) -> None:
        key = _key(update)
        before = self._newest.get(key)
        self._characters += size(update) - (size(before) if before else 0)
        self._newest[key] = update

    def take(self, most: int = ROUND, characters: int = ROUND_CHARACTERS) -> tuple[list[Update], set[Attempt]]:
        """Return some updates, at least one if there are any, and the attempts that have others left. Lines come last."""
        with self._lock:
            self._claimer_called = False
            taken: list[Update] = []
            for update in (*self._newest.values(), *islice(self._lines, most)):
                characters -= size(update)
                if taken and (len(taken) == most or characters < 0):
                    break
                taken.append(update)
            for update in taken:
                if type(update) is Log:
                    self._lines.popleft()
                else:
                    del self._newest[_key(update)]
                self._characters -= size(update)
            if not self._lines:
                try:
                    taken += self._take_logs(most - len(taken), characters, bool(taken))
                except BaseException:
                    self._keep(taken)
                    raise
            self._change.notify_all()
            left = {update[:2] for update in (*self._newest.values(), *self._lines)}
            return taken, left | {log.attempt for log in list(self.announced)}  # handlers add to them meanwhile

    def _take_logs(self, most: int, characters: int, some: bool) -> list[Log]:
        """Take lines of the logs, each log's packed; at least one unless there is `some` update already."""
        taken: list[tuple[Attempt, list[Line], int]] = []
        for log in list(self.announced):
            if (some or taken) and (most <= 0 or characters < 0):
                break
            del self.announced[log]
            size = log.characters
            lines = log.take(max(1, most), characters)
            most, characters = most - len(lines), characters - size
            taken.append((log.attempt, lines, size))
            if log.waiting:  # also if its handler has added one in this moment
                self.announced[log] = None
        try:
            return pack_all(taken)
        except BaseException:
            self._keep_lines(taken)
            raise

    def _keep_lines(self, taken: list[tuple[Attempt, list[Line], int]]) -> None:
        """Keep the lines that were taken for the next round; leave out those that cannot be packed, so that others can be."""
        for attempt, lines, _ in taken:
            for line in lines:
                with suppress(Exception):
                    (update,) = pack(*attempt, [line], 0)
                    self._lines.append(update)
                    self._characters += size(update)

    def put_back(self, updates: Sequence[Update]) -> None:
        """Add updates that were taken, before all others; those that were replaced meanwhile are left out."""
        with self._lock:
            self._keep(updates)

    def _keep(self, updates: Sequence[Update]) -> None:
        for update in reversed(updates):
            if type(update) is Log:
                self._lines.appendleft(update)
                self._characters += size(update)
            elif _key(update) not in self._newest:
                self._replace(update)

    def is_full(self, times: int = 1) -> bool:
        """Return whether a report waits, where so many times the usual number may be here."""
        characters = self._characters + sum(each.characters for each in list(self.announced))
        return len(self) >= times * MANY or characters >= times * MANY_CHARACTERS


def _on_a_loop() -> bool:
    """Return whether this thread runs an event loop at this moment. Without asyncio, there is none."""
    asyncio = sys.modules.get("asyncio")
    try:
        return asyncio is not None and bool(asyncio.get_running_loop())
    except RuntimeError:  # no loop
        return False


def size(update: Update) -> int:
    """Return about how many characters an update has."""
    if isinstance(update, Log):
        return len(update.message) + len(update.fields or "")
    return len(update.body) if isinstance(update, Checkpoint) else 0


def _key(update: Update) -> tuple[Any, ...]:
    return type(update), update.seq, update.token


class WorkerReporter:
    """The `Reporter` of handlers that run in the worker's own process."""

    limits = LogLimits()

    def __init__(
        self, store: Store, outcomes: OutcomeBuffer, clock: Clock, wake: Callable[[], None], events: Events
    ) -> None:
        self.store, self._outcomes, self.now, self._wake = store, outcomes, clock.now, wake
        self._events, self._on_progress = events, events.listeners("progress")

    def report(self, update: Update) -> None:
        first = self._outcomes.add_update(update)
        if self._on_progress and type(update) is Progress:
            self._events.emit("progress", update=update)
        if first:
            self._wake_soon()

    @property
    def announced(self) -> dict[AttemptLog, None]:
        """The logs whose lines the next round takes."""
        return self._outcomes.updates.announced

    def writer(self, job: Claimed) -> Callable[[Line], None]:
        """Return what keeps the log lines of an attempt until the next round."""
        return AttemptLog((job.seq, job.token), self).add

    def announce(self, log: AttemptLog) -> None:
        """Take the lines of a log with the next round."""
        if self._outcomes.updates.open(log):
            self._wake_soon()

    def hold(self) -> None:
        """Wait while too many lines wait."""
        self._outcomes.updates.hold()

    def _wake_soon(self) -> None:
        self._outcomes.fresh = True
        self._wake()

    def checkpoint(self, job: Claimed) -> str | None:
        """Return what an earlier attempt saved. A worker that has lost the job must not read what a later one saves."""
        if job.token == 1:
            return None
        saved = self.store.checkpoint(job.id)
        found = self.store.get(job.id)
        return saved if found is not None and found.token == job.token else None

    def labels(self, job: Claimed) -> Labels:
        """Return what the producer said about the job, read now. A newer draft may have replaced one that was lost."""
        found = self.store.get(job.id)
        if found is None or found.token != job.token:
            raise LeaseLost
        labels = Labels._make(getattr(found, name) for name in Labels._fields)
        return labels._replace(review=last(found.review, self.store.actions(job.id, ACTIONS) if found.review else ()))

    def checked(self, execution: Execution, outcome: Outcome) -> Outcome:
        """Return the outcome to store: the store knows about a completion in a transaction, and about other workers."""
        if outcome.kind == "completed in transaction":
            return self._committed(execution.job)
        if outcome.reason == INVALID and not outcome.retry:
            return left_to_others(self.store, execution, outcome, self.now())
        return outcome

    def _committed(self, job: Claimed) -> Outcome:
        """Return `completed` if the completion in the handler's transaction was committed, else a failure."""
        try:
            found = self.store.get(job.id)
        except StoreError:
            found = None
        if found is not None and found.state == COMPLETED_STATE and found.token == job.token:
            return Outcome("completed")
        return Outcome(
            "failed", error="NotCommitted: ctx.complete_in was called, but its transaction was not committed"
        )

"""Log lines, progress and checkpoints of running attempts on their way to the store: bounded, and in order."""

from __future__ import annotations

import sys
import threading
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..core.updates import Checkpoint, Log, Progress, Update
from .packed_lines import CHUNK, CHUNK_CHARACTERS, cleaned, cleaned_apart, pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..job_log import JobLog
    from .packed_lines import Attempt, Row

ROUND, ROUND_CHARACTERS = 5_000, 4 << 20  # of updates in one round: some 100 ms of a server
MANY, MANY_CHARACTERS = 2 * ROUND, 2 * ROUND_CHARACTERS  # above this a report waits
PAUSE = 1.0  # seconds that a report waits at most: while the store is away, a handler slows down, but goes on
# On an event loop a wait holds up every handler, and no call can wait for its own handler alone. So the bound is higher there
# (some 100 MB), and above it a report waits just long enough that a loop of reports cannot outrun the store for ever.
LOOP_TIMES, LOOP_PAUSE = 10, 0.01


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
        self.announced: dict[JobLog, None] = {}  # logs with lines that wait
        self._rows: list[Row] = []  # of attempts whose handlers have ended
        self._claimer_called = False  # since the last `take` began
        self._characters = 0

    def __len__(self) -> int:
        waiting = sum(len(each.waiting) for each in list(self.announced))
        return len(self._lines) + len(self._newest) + waiting + sum(row.lines or 1 for row, _ in self._rows[:])

    def open(self, log: JobLog) -> bool:
        """Take the lines of a log with the next round. Return whether to call the claimer for it: the first log does.

        Needs no lock: it adds first and then looks, and `take` does so the other way round. So each log is taken, or one that came
        after it is the first.
        """
        self.announced[log] = None
        if self._claimer_called:
            return False
        self._claimer_called = True
        return True

    def pack(self, log: JobLog) -> None:
        """Pack the lines of a log whose handler has ended, in its own thread: where they are at hand, it costs half.

        If there are many, the first of them. Those that the claimer begins to take are left to it.
        """
        if self.announced.pop(log, self) is None:
            try:
                self._rows.extend(self._packed(log, CHUNK, CHUNK_CHARACTERS)[0])
            except Exception:  # noqa: BLE001, S110  (no memory: they wait, and the claimer tells)
                pass

    def _packed(self, log: JobLog, most: int, characters: int) -> tuple[list[Row], int, int]:
        """Take lines of a log as rows; return also how many lines and characters they have."""
        try:
            lines, length = log.take(most, characters)
            try:
                return pack(log.attempt, lines, length) if lines else [], len(lines), length
            except BaseException:
                log.give_back(lines, length)
                raise
        finally:
            if log.waiting:  # also if its handler has added one in this moment
                self.announced[log] = None

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
            # Looked at after the wait, in which others may have been taken.
            alone = not (self._lines or self._newest or self._rows or self.announced)
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
                    taken += self._take_lines(most - len(taken), characters, bool(taken))
                except BaseException:
                    self._keep(taken)
                    raise
            self._change.notify_all()
            left = {update[:2] for update in (*self._newest.values(), *self._lines, *(row for row, _ in self._rows[:]))}
            return taken, left | {log.attempt for log in list(self.announced)}  # handlers add to them meanwhile

    def _take_lines(self, most: int, characters: int, some: bool) -> list[Log]:
        """Take lines of logs, of those first whose handlers have ended; at least one unless there is `some` update already."""
        rows: list[Row] = []
        for each in self._rows[:]:
            if (some or rows) and (most <= 0 or characters < 0):
                break
            rows.append(each)
            most, characters = most - (each[0].lines or 1), characters - size(each[0])
        del self._rows[: len(rows)]
        try:
            for log in list(self.announced):
                if (some or rows) and (most <= 0 or characters < 0):
                    break
                if self.announced.pop(log, self) is None:  # else its handler ends
                    packed, lines, length = self._packed(log, max(1, most), characters)
                    rows += packed
                    most, characters = most - lines, characters - length
            return cleaned(rows)
        except BaseException:
            self._keep_rows(rows)
            raise

    def _keep_rows(self, rows: list[Row]) -> None:
        """Keep the rows that were taken for the next round; leave out the lines that cannot be cleaned, so that others can be."""
        for row in rows:
            for update in cleaned_apart(row):
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
        characters = self._characters + sum(each.pending for each in list(self.announced))
        characters += sum(size(row) for row, _ in self._rows[:])
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

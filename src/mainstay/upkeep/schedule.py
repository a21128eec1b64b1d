"""Schedules: fires each tick when it is due. Every worker does it; the store lets one of them win (docs/decisions/0032)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.clock import SECOND, monotonic
from ..core.errors import MainstayError, StoreError
from ..core.payload import clean
from ..core.rules import SCHEDULE, TICK
from ..core.schedule import ALLOW, Fired, Firing, State, decide, due_at, effective, state_of
from ..core.states import ENDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..app import Mainstay

LOOK = SECOND  # between two looks whether schedules were changed
AFTER_AN_ERROR = SECOND
AGAIN = SECOND  # until a tick that could not be fired is tried again; doubled each time …
LONGEST = 60 * SECOND  # … up to this
AT_ONCE = 100  # schedules in one transaction
PROBLEM = 500  # characters


class Entry(NamedTuple):
    """A schedule as this process knows it."""

    value: Mapping[str, Any]
    state: Mapping[str, Any] | None
    failed: int = 0  # tries in a row


class Schedules:
    """Keeps the next tick of each schedule in memory, wakes at the first of them, and looks each second for changes."""

    name = "schedules"

    def __init__(self, app: Mainstay) -> None:
        self._app, self._store, self._clock, self._events = app, app.store, app.clock, app.events
        self._monotonic = monotonic(app.clock)
        self._version: int | None = None
        self._looked: int | None = None  # when, by monotonic time
        self._ahead = 0  # ms that the engine's clock is ahead of ours
        self._entries: dict[str, Entry] = {}
        self._due: dict[str, int] = {}  # when to do something with each, by the engine's clock
        self._heap: list[tuple[int, str]] = []  # the same, and what is out of date

    def step(self, now: int) -> int:
        """Fire what is due; return when to call the next step."""
        try:
            self._look(now)
            due = self._pop(self._clock.now() + self._ahead)
            if due:
                self._fire(due)
        except StoreError as error:
            self._looked = self._version = None  # what was done is not known: read it
            self._events.emit("store_error", error=error, wait=AFTER_AN_ERROR)
            return AFTER_AN_ERROR
        return self._wait()

    def catch_up(self) -> int | None:
        """Fire all that is due now, and return the instant of the next tick: for tests, which move the clock themselves."""
        self._looked = None
        while self.step(self._clock.now()) <= 0:
            pass
        return self._heap[0][0] if self._heap else None

    def _wait(self) -> int:
        look = LOOK if self._looked is None else self._looked + LOOK - self._monotonic()
        if not self._heap:
            return max(0, look)
        return max(0, min(look, self._heap[0][0] - self._clock.now() - self._ahead))

    # what is known ------------------------------------------------------------------------------------------------
    def _look(self, now: int) -> None:
        """Read all schedules if some were changed, and measure how far the engine's clock is ahead."""
        if self._looked is not None and self._monotonic() - self._looked < LOOK:
            return
        before = self._clock.now()
        version, instant = self._store.schedules_version(now)
        self._ahead = 0 if instant == now else instant - (before + self._clock.now()) // 2
        self._looked = self._monotonic()
        if version != self._version:
            self._read()
            self._version = version

    def _read(self) -> None:
        rules = self._store.rules([SCHEDULE, TICK])
        states = {rule.name: rule.value for rule in rules if rule.kind == TICK}
        self._entries = {rule.name: Entry(rule.value, states.get(rule.name)) for rule in rules if rule.kind == SCHEDULE}
        self._due = {}
        for name in self._entries:
            self._place(name)
        self._heap = [(at, name) for name, at in self._due.items()]
        heapify(self._heap)

    def _place(self, name: str, at: int | None = None) -> None:
        """Put a schedule where its next tick is, or at an instant."""
        entry = self._entries[name]
        at = due_at(entry.value, entry.state) if at is None else at
        if at is None:
            self._due.pop(name, None)
        else:
            self._due[name] = at
            heappush(self._heap, (at, name))

    def _pop(self, now: int) -> list[str]:
        """Return the schedules with which something is to be done now, and take them off the heap."""
        found: list[str] = []
        while self._heap and len(found) < AT_ONCE:
            at, name = self._heap[0]
            if self._due.get(name) == at and at > now:
                break
            heappop(self._heap)
            if self._due.get(name) == at:
                del self._due[name]
                found.append(name)
        return found

    # what is due --------------------------------------------------------------------------------------------------
    def _fire(self, names: Sequence[str]) -> None:
        alive, now = self._alive(names), self._clock.now() + self._ahead
        firings = [firing for name in names if (firing := self._decided(name, now, name in alive)) is not None]
        try:
            fired = self._store.fire(firings, self._clock.now()) if firings else []
        except StoreError:
            raise
        except MainstayError as error:  # one of them; the others must not wait for it
            if len(firings) == 1:
                self._failed(firings[0].name, error, now)
            else:
                for firing in firings:
                    self._fire([firing.name])
            return
        for firing, found in zip(firings, fired, strict=True):
            self._done(firing, found, now)

    def _decided(self, name: str, now: int, alive: bool) -> Firing | None:
        """Return what to do with a schedule; one that cannot be read or whose job cannot be made is put aside."""
        entry = self._entries[name]
        try:
            firing = decide(name, entry.value, entry.state, now, alive)
            for draft in firing.drafts if firing is not None else ():
                known = self._app.registry.get(draft.type)
                if known is not None:
                    known.arguments(draft.payload, draft.version)
        except Exception as error:  # noqa: BLE001  (whatever is stored there: the others go on)
            self._failed(name, error, now)
            return None
        if firing is None:
            self._place(name)
        return firing

    def _alive(self, names: Sequence[str]) -> set[str]:
        """Return the schedules whose last job has not ended, of those to which that matters."""
        jobs = {}  # by schedule; two have the same one if their jobs have the same key
        for name in names:
            value, state = self._entries[name].value, self._entries[name].state
            if state and state.get("job") and effective(value)["overlap"] != ALLOW:
                jobs[name] = state["job"]
        found = self._store.get_many(list({*jobs.values()})) if jobs else []
        alive = {job.id for job in found if job.state not in ENDED}
        return {name for name, job in jobs.items() if job in alive}

    def _done(self, firing: Firing, found: Fired, now: int) -> None:
        name = firing.name
        if found.value is None:  # removed
            self._entries.pop(name, None)
            return
        self._entries[name] = Entry(found.value, found.state)
        if found.verdict == "early":
            self._looked = None  # our measure of the engine's clock is out of date
        self._place(name, now + 1 if found.verdict == "early" else None)
        if found.jobs:
            self._events.emit("fired", schedule=name, jobs=[job for job, _ in found.jobs])

    def _failed(self, name: str, error: Exception, now: int) -> None:
        """Record why a tick could not be fired, and try again later: what is missed then is a matter of `catch_up`."""
        self._events.emit("schedule_failed", schedule=name, error=error)
        entry = self._entries[name]
        problem = clean(f"{type(error).__name__}: {error}", PROBLEM)
        state = (_readable(entry.state) or State([], None, now))._replace(problem=problem)._asdict()
        if entry.state != state:
            (found,) = self._store.fire([Firing(name, entry.value, entry.state, state)], self._clock.now())
            if found.verdict != "fired":  # others were at it meanwhile
                return self._done(Firing(name, entry.value, None, None), found, now)
        self._entries[name] = Entry(entry.value, state, entry.failed + 1)
        return self._place(name, now + min(LONGEST, AGAIN << min(entry.failed, 10)))


def _readable(state: Mapping[str, Any] | None) -> State | None:
    try:
        return state_of(state)
    except TypeError:
        return None

"""A store that fails: a wrapper around a real one, which decides call by call what goes wrong this time.

`fail`   the call never reaches the store           `lose`   it is committed, and the answer lost
`busy`   it waits for the write lock, in vain       `delay`  it or its answer takes long; the caller's other threads go on
`pause`  the whole process stops, before the call or after its commit, and goes on much later as if nothing had been
`crash`  the process dies, before the call or after its commit
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mainstay.core.errors import StoreBusy, StoreUnavailable
from tests.simulation.scheduler import Crash

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.simulation.scheduler import Process, Scheduler

    Around = Callable[[Process, str, Callable[..., Any], tuple[Any, ...]], Any]

# The verbs that may fail, and which of their arguments is the caller's time.
VERBS: dict[str, int | None] = {
    "enqueue": 1, "claim": 3, "finish": None, "cancel": 1, "retry": 1, "resolve_review": 2, "delete": 1, "change": 1, "claimed_by": None,
    "register": None, "renew": 1, "deregister": None, "orphans": 0, "retract_crashes": None, "prune": 0, "register_types": None, "get": None,
    "checkpoint": None, "set_rule": None, "admit": 0, "expire": 0, "schedules_version": 0, "fire": 1,
}  # fmt: skip

# How much likelier a call is to fail than the others: those that are called seldom.
RARE = {"claim": 3, "finish": 3, "sweep": 12, "register": 3, "deregister": 4, "claimed_by": 3, "retry": 2}


class Faults(NamedTuple):
    """How likely each fault is, a call."""

    fail: float = 0.0
    lose: float = 0.0
    busy: float = 0.0
    delay: float = 0.0
    pause: float = 0.0
    crash: float = 0.0


CALM = Faults()
_STRENGTHS = Faults(fail=0.1, lose=0.15, busy=0.05, delay=0.15, pause=0.06, crash=0.02)


def swarm(random: Random) -> Faults:
    """The faults of one seed: some kinds, each at a strength of its own. Too many at once would hide one another."""
    return Faults._make(random.choice((0.0, 0.0, 0.4, 1.0)) * strength for strength in _STRENGTHS)


class Nemesis:
    """Decides what goes wrong. `lease` sets the scale: a pause is made to outlast it more often than not."""

    def __init__(self, random: Random, faults: Faults, lease: int) -> None:
        self.faults, self.lease = faults, lease
        self.down_until = 0  # an outage: nothing reaches the store before
        self._random = random
        self._cut_off: dict[Process, tuple[int, str]] = {}

    def cut_off(self, process: Process, now: int) -> None:
        """Cut a process off for a while: most calls fail, or most replies are lost, or only renewals get through."""
        kind = self._random.choice(("fail", "lose", "beats"))
        self._cut_off[process] = (now + self._random.randrange(self.lease // 2, self.lease * 3), kind)

    def pick(self, process: Process, now: int, verb: str) -> str:
        """The fault of this call; "" for none."""
        if now < self.down_until:
            return "fail"
        until, kind = self._cut_off.get(process, (0, ""))
        if now < until and self._random.random() < 0.9:
            return kind if kind != "beats" else "lose" if verb == "renew" else "fail"
        if self._random.random() >= min(0.8, sum(self.faults) * RARE.get(verb, 1)):
            return ""
        return self._random.choices(Faults._fields, self.faults)[0]

    def mend(self) -> None:
        """No more faults."""
        self.faults, self.down_until = CALM, 0
        self._cut_off.clear()

    def before(self) -> bool:
        """Whether it strikes before the call or after its commit."""
        return self._random.random() < 0.5

    def delay(self, name: str) -> int:
        """How long a slow call takes. A sweep's write often comes late: between its read and its write much can happen."""
        longest = self.lease * 2 if self._random.random() < (0.7 if name == "sweep" else 0.2) else 500
        return self._random.randrange(5, longest)

    def pause(self) -> int:
        """How long a process stands still."""
        return self._random.randrange(self.lease // 2, self.lease * 3)


def _named(verb: str, args: tuple[Any, ...]) -> str:
    """Return the verb; `sweep` for the finish of a sweep."""
    return "sweep" if verb == "finish" and args[0] and args[0][0].outcome == "crashed" else verb


class Observer(Protocol):
    """Records what was committed."""

    def committed(self, process: Process, verb: str, args: tuple[Any, ...], answer: Any) -> None:
        """A call has reached the store; its reply may not reach the caller."""
        ...

    def struck(self, process: Process, kind: str, verb: str = "") -> None:
        """A process suffers a fault."""
        ...


class FaultyStore:
    """One process's way to the store. Everything that is not a verb passes through."""

    def __init__(
        self, store: Any, process: Process, scheduler: Scheduler, nemesis: Nemesis, observer: Observer,
        own_clock: bool = False, around: Around | None = None,
    ) -> None:  # fmt: skip
        self._store, self._process, self._scheduler = store, process, scheduler
        self._around = around  # what befalls the call itself
        self._nemesis, self._observer = nemesis, observer
        self._own_clock = own_clock  # the engine judges by its own time, whatever the caller says

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        if name == "due_reviews" and self._own_clock:
            return lambda _, limit: real(self._scheduler.now, limit)
        if name == "set_review":
            return partial(self._set_review, real)
        if name == "prune_jobs":  # in no time: its pace would depend on the machine
            return lambda jobs: real(jobs)._replace(ms=0.0)
        if name in VERBS:
            real = self._verb(name, real)
            setattr(self, name, real)
        return real

    def _verb(self, verb: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            act = partial(real, **named) if verb == "resolve_review" else real
            args += () if verb == "resolve_review" else tuple(named.values())  # in the order of the verb's parameters
            self._process.check()
            name = _named(verb, args)
            fault = self._nemesis.pick(self._process, self._scheduler.now, name)
            early = fault not in ("", "lose") and self._nemesis.before()
            if early or fault in ("fail", "busy"):
                self._strike(fault, name)
            answer = self._ask(verb, act, args)
            if fault and not early:
                self._strike(fault, name)
            return answer

        return call

    def _set_review(self, real: Callable[..., bool], job: str, was: str, body: str, due: int | None) -> bool:
        """Change what a review asks. It meets no fault, and a reminder is recorded."""
        self._process.check()
        done = real(job, was, body, due)
        if done and was != body:
            self._observer.committed(self._process, "set_review", (job, was, body, due), done)
        return done

    def _ask(self, verb: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if self._own_clock:
            args = self.engine_args(verb, args)
        answer = real(*args) if self._around is None else self._around(self._process, verb, real, args)
        self._observer.committed(self._process, verb, args, answer)
        return answer

    def engine_args(self, verb: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The call as an engine with a clock of its own understands it."""
        place, now = VERBS[verb], self._scheduler.now
        if verb == "register":
            return (args[0]._replace(expires_at=now + args[0].expires_at - args[0].started_at), *args[1:])
        if verb == "set_rule":
            return (args[0]._replace(at=now), *args[1:])
        return args if place is None else (*args[:place], now, *args[place + 1 :])

    def _strike(self, fault: str, name: str) -> None:
        self._observer.struck(self._process, fault, name)
        if fault == "crash":
            self._process.alive = False
            raise Crash(self._process.name)
        if fault in ("fail", "lose"):
            raise StoreUnavailable(f"simulated: {'the answer was lost' if fault == 'lose' else 'no connection'}")
        if not self._scheduler.deep:
            self._wait(fault, name)
        if fault == "busy":
            raise StoreBusy("simulated: another process has held the write lock for too long")

    def _wait(self, fault: str, name: str) -> None:
        length = self._nemesis.pause() if fault == "pause" else self._nemesis.delay(name)
        until = self._scheduler.now + length
        if fault == "pause":
            self._process.pause(until)
        self._scheduler.pump(until)
        while self._process.paused_until > self._scheduler.now:  # another thread's call has met a pause meanwhile
            self._scheduler.pump(self._process.paused_until)
        self._process.check()

"""Schedules in a simulated world: processes that fire them, whose clocks are put forward and back, and somebody who pauses them.

I11: a tick of a schedule fires once, and none is missing while the schedule is not paused.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from mainstay.app import Mainstay
from mainstay.core import schedule as core
from mainstay.core.clock import HOUR, SECOND
from mainstay.core.rules import SCHEDULE, TICK
from mainstay.upkeep.schedule import Schedules
from tests.simulation.hardships import TICKING
from tests.simulation.scheduler import Service
from tests.simulation.workload import TYPES

if TYPE_CHECKING:
    from mainstay.core.draft import Draft
    from mainstay.core.schedule import Fired, Firing
    from tests.simulation.scheduler import Process
    from tests.simulation.world import World

PROCESSES = 3
LENGTH = 12 * SECOND  # of the time in which schedules have ticks
CATCHING_UP = 120 * SECOND  # … and then at most so long until all have fired
TIMES: dict[str, dict[str, Any]] = {
    "each": {"every": 1_000}, "odd": {"every": 1_700, "overlap": "skip"}, "cron": {"cron": "*/2 * * * * *"},
    "queue": {"every": 2_300, "overlap": "queue"}, "cancel": {"every": 1_900, "overlap": "cancel"}, "newest": {"every": 1_300, "catch_up": "latest"},
    "few": {"every": 1_000, "limit": 5}, "late": {"every": 1_100, "jitter": 800},
}  # fmt: skip


class Ticking:
    """The schedules of a world, if it has any, and the processes that fire them."""

    def __init__(self, world: World) -> None:
        self._world, self._luck = world, Random(f"ticks of {world.seed}")
        self.used = bool(world.hardships & TICKING.keys())
        self._app = Mainstay(store=world.store, clock=Engine(world))  # of the one who makes and pauses schedules
        self._pauses: dict[str, list[list[int]]] = {}  # name → from, until
        self._fired: dict[tuple[str, int], str] = {}  # what has fired → by whom

    def begin(self) -> None:
        """Make schedules, and start the processes."""
        if not self.used:
            return
        end = (self._world.scheduler.now + LENGTH) / 1000
        for name, times in TIMES.items():
            values = {"catch_up": "all", **times, "end": end}
            spans = {each: value / 1000 if each in ("every", "jitter") else value for each, value in values.items()}
            self._app.create_schedule(name, TYPES["quick"].prepare(), **spans)
        for number in range(PROCESSES):
            self._start(number)
        for _ in range(4):
            self._world.scheduler.after(self._luck.randrange(500, 9_000), self._world.supervisor, self._pause)

    # processes ----------------------------------------------------------------------------------------------------
    def _start(self, number: int) -> None:
        world = self._world
        process = world.process(f"ticker-{number}")
        world.scheduler.after(1, process, partial(self._run, process))
        world.scheduler.after(1_000, world.supervisor, partial(self._look, process, number))

    def _run(self, process: Process) -> None:
        chore = Schedules(Mainstay(store=self._world.store_of(process), clock=process))
        Service(self._world.scheduler, self._world.broken, chore.name, chore.step).start()

    def _look(self, process: Process, number: int) -> None:
        """Replace a process that died; now and then kill one, pause one, or put its clock forward or back by an hour."""
        world, luck = self._world, self._luck
        if not process.alive:
            self._start(number)
            return
        if not world.stage.calm and luck.random() < 0.3:
            fault = luck.choice(("kill", "pause", "clock", "clock"))
            if fault == "kill":
                process.alive = False
            elif fault == "pause":
                process.pause(world.scheduler.now + luck.randrange(4_000))
            else:
                process.set_clock(luck.choice((-HOUR, HOUR)))
            world.recorder.struck(process, fault)
        world.scheduler.after(1_000, world.supervisor, partial(self._look, process, number))

    def _pause(self) -> None:
        name = self._luck.choice(sorted(TIMES))
        if self._world.stage.calm or any(len(each) == 1 for each in self._pauses.get(name, ())):
            return
        self._app.pause_schedule(name)
        self._pauses.setdefault(name, []).append([self._world.scheduler.now])
        self._world.scheduler.after(
            self._luck.randrange(200, 4_000), self._world.supervisor, partial(self._resume, name)
        )

    def _resume(self, name: str) -> None:
        self._app.resume_schedule(name)
        self._pauses[name][-1].append(self._world.scheduler.now)

    # what must hold -------------------------------------------------------------------------------------------------
    def committed(self, process: Process, firings: list[Firing], answers: list[Fired]) -> None:
        """Record the jobs of ticks, before their moves are; a tick that has fired before is a violation."""
        for firing, fired in zip(firings, answers, strict=True):
            for draft in firing.drafts if fired.verdict == "fired" else ():
                self._world.recorder.add(process, "enqueue", "invoke", draft.id)
                self._check_once(process, draft)

    def _check_once(self, process: Process, draft: Draft) -> None:
        tick = draft.schedule or "", draft.tick or 0
        if tick in self._fired:
            self._world.breach("I11", f"is of the tick {tick}, which {self._fired[tick]} had fired", draft.id)
        self._fired[tick] = process.name

    def end(self) -> None:
        """Let everything fire that is due; then none may be missing."""
        world = self._world
        for _ in range(CATCHING_UP // SECOND if self.used else 0):
            world.scheduler.pump(world.scheduler.now + SECOND)
            if all(rule.value["next"] is None for rule in world.store.rules([TICK])):
                break
        for rule in world.store.rules([SCHEDULE]) if self.used else ():
            self._check_all(rule.name, core.effective(rule.value))

    def _check_all(self, name: str, spec: dict[str, Any]) -> None:
        rules = {rule.name: rule.value for rule in self._world.store.rules([TICK])}
        state = core.state_of(rules.get(name))
        found = sorted(tick for each, tick in self._fired if each == name)
        if state is None or state.next is not None:
            self._world.breach("I11", f"({name} does not come to its end: {state})")
            return
        due = [tick for tick in core.ticks(spec, state.anchor, state.anchor) if not self._was_paused(name, tick)]
        if spec["limit"] is not None:
            wrong = not min(spec["limit"], len(due)) <= len(found) <= spec["limit"]
        elif spec["catch_up"] == core.LATEST or spec["overlap"] == core.SKIP:
            wrong = len(due) > state.fired + state.missed + state.skipped  # none is forgotten
        else:
            wrong = not set(due) <= set(found)
        if wrong:
            self._world.breach("I11", f"({name} has fired {found}, and these were due: {due})")

    def _was_paused(self, name: str, tick: int) -> bool:
        """Whether a schedule was paused at a tick, or so soon after that nobody may have fired it before."""
        return any(tick <= until and since <= tick + LENGTH for since, until in self._pauses.get(name, ()))


class Engine:
    """The clock of the engine."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> int:
        """Return the engine's time."""
        return self._world.scheduler.now

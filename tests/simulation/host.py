"""A host: keeps one simulated worker running, and is its notifier."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from mainstay.app import Mainstay
from mainstay.core.errors import LeaseLost, MainstayError
from tests.simulation.workload import TYPES

if TYPE_CHECKING:
    from mainstay.stores.results import SlotOffer
    from mainstay.worker.worker import Worker
    from tests.simulation.scheduler import Process
    from tests.simulation.world import World


class Host:
    """Keeps one worker running: starts it, stops it gracefully now and then, starts another when it has died."""

    def __init__(self, world: World, number: int) -> None:
        self._world, self._number, self._lives = world, number, 0
        self.queue = f"host-{number}"  # served by this worker alone
        self.process: Process = world.process(f"worker-{number}.0")
        self.worker: Worker | None = None
        self._notified: list[str] = []
        self._listening: set[Worker] = set()

    def start(self) -> None:
        """Start a worker in a process of its own, and watch it."""
        self._lives += 1
        self.process = self._world.process(f"worker-{self._number}.{self._lives}")
        self.worker = None
        self._world.scheduler.after(1, self.process, self._run)
        self._world.scheduler.after(1_000, self._world.supervisor, partial(self._look, self._lives))

    def _run(self) -> None:
        world, process = self._world, self.process
        app = Mainstay(store=world.store_of(process), clock=process)
        for job_type in TYPES.values():
            app.registry.add(job_type)
        app.events.on("claimed", partial(world.recorder.claimed, process))
        app.events.on("started", partial(world.recorder.started, process))
        slots = world.random.choice((1, 2, 4))
        queues = ["default", self.queue, *("other",) * (self._number == 0 or world.random.random() < 0.7)]
        named: dict[str, Any] = {"identity": self.queue} if "identities" in world.hardships else {}
        # Schedules have processes of their own (`ticking`), whose clocks may be set without holding up the retries of jobs.
        worker = app.worker(concurrency=slots, queues=queues, lease=world.lease / 1000, runtime=world.runtime, **named)
        worker.chores = tuple(chore for chore in worker.chores if chore.name not in ("schedules", "alerts"))
        self._start(worker)

    def _start(self, worker: Worker) -> None:
        try:
            worker.start()
        except MainstayError:  # it exits, and whoever started it starts it again
            self.process.alive = False
        else:
            self.worker = worker

    def at_once(self, process: Process) -> None:
        """Start another worker in the moment in which a process has died."""
        if process is self.process:
            self._world.scheduler.after(self._world.trouble.random.randrange(20), self._world.supervisor, self.start)

    def _look(self, life: int) -> None:
        """Replace a worker that died; now and then stop one that lives."""
        world, chance = self._world, self._world.random.random()
        if life != self._lives:
            return
        if not self.process.alive:
            if "identities" not in world.hardships:
                world.scheduler.after(world.random.randrange(10, 3_000), world.supervisor, self.start)
            return
        if chance < world.restarts and not world.scheduler.deep and not world.stage.calm:
            world.scheduler.after(1, self.process, self._stop)
        elif chance > 1 - world.nemesis.faults.pause:
            self.process.pause(world.scheduler.now + world.nemesis.pause())
            world.recorder.struck(self.process, "pause")
        elif chance > 1 - world.nemesis.faults.pause - world.partitions and not world.stage.calm:
            world.nemesis.cut_off(self.process, world.scheduler.now)
        world.scheduler.after(1_000, world.supervisor, partial(self._look, life))

    def _stop(self) -> None:
        """Stop as on SIGTERM. The real stop waits for a step under way; here that one lies below us on the stack."""
        if self.worker is None or self.process.steps_under_way:
            return
        worker, self.worker = self.worker, None
        self._world.recorder.add(self.process, "stopping")
        worker.stop(self._world.random.choice((0.1, 8, 8)))
        if "workers again" in self._world.hardships:
            self._start(worker)
        elif "programs go on" in self._world.hardships:
            self._world.scheduler.after(self._world.trouble.random.randrange(20_000), self.process, self._exit)
        else:
            self._exit()

    def _exit(self) -> None:
        self._world.recorder.struck(self.process, "exit")
        self.process.alive = False

    def hear(self, what: str) -> None:
        """A notification arrives after a moment."""
        if self.worker is not None:
            self._world.scheduler.after(0, self.process, partial(self._listen, what))

    def _listen(self, what: str) -> None:
        """As the thread of a worker's listener, of which there is one: a notification that comes while it works is lost."""
        worker = self.worker
        if worker is None or worker in self._listening:
            return
        self._notified.append(what)
        self._listening.add(worker)
        try:
            worker.listener.step(self.process.now())
        finally:
            self._listening.discard(worker)

    def wait(self, timeout: int) -> str:
        """As a worker's notifier: return what was notified."""
        return self._notified.pop() if self._notified else ""

    def take(self, timeout: int, offer: SlotOffer) -> str:
        """As a notifier that claims a job with the notification."""
        heard, worker = self.wait(timeout), self.worker
        if heard and worker is not None:
            with suppress(LeaseLost):
                offer.take(worker.store.claim(worker.registration.registered, offer.wants, 1, self.process.now()).jobs)
        return heard

    def close(self) -> None:
        """As a worker's notifier."""

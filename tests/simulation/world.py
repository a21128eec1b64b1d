"""One simulated world: a store, workers, producers, an operator and their faults, all drawn from one seed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay import worker as worker_module
from mainstay.app import Mainstay
from mainstay.core.errors import LeaseLost, StoreError
from mainstay.core.ids import Ids
from mainstay.stores.sqlite import enqueue as enqueue_module
from mainstay.stores.sqlite.store import SqliteStore
from mainstay.upkeep import sweep as sweep_module
from mainstay.worker import slots as crew_module
from tests.simulation import ledger
from tests.simulation.checker import Violation, check
from tests.simulation.faulty import FaultyStore, Nemesis, swarm
from tests.simulation.history import History
from tests.simulation.neighbourhood import Neighbourhood
from tests.simulation.patches import patched
from tests.simulation.people import Operator, Producer
from tests.simulation.recorder import Recorder
from tests.simulation.scheduler import START, Process, Scheduler, Service
from tests.simulation.slots import SimulatedFlights, Slots
from tests.simulation.workload import TYPES, Stage, registry

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mainstay.core.outcome import Outcome
    from mainstay.stores.contract import SlotOffer
    from mainstay.worker import Worker
    from mainstay.worker.in_flight import Flight

TROUBLE = 12_000  # virtual milliseconds with faults
PEACE = 300_000  # … and then at most this long until everything must be at rest
EXAM = 60_000  # … and then for each worker to do one more job


class Result(NamedTuple):
    """What a seed came to."""

    seed: int
    history: History
    violations: list[Violation]
    steps: int
    virtual: int  # milliseconds


class Notifier:
    """Rings at every worker, sooner or later or not at all."""

    def __init__(self, world: World) -> None:
        self._world = world

    def notify(self, what: str) -> None:
        """Somebody has enqueued or cancelled something."""
        for host in self._world.hosts:
            if self._world.random.random() < 0.9:
                host.hear(what)


class Host:
    """A place for one worker: starts it, stops it gracefully now and then, and starts another when it died."""

    def __init__(self, world: World, number: int) -> None:
        self._world, self._number, self._lives = world, number, 0
        self.queue = f"host-{number}"  # served by this worker alone
        self.process: Process = world.process(f"worker-{number}.0")
        self.worker: Worker | None = None
        self._rings: list[str] = []
        self._listening: set[Worker] = set()

    def start(self) -> None:
        """Start a worker in a process of its own, and look after it."""
        self._lives += 1
        self.process = self._world.process(f"worker-{self._number}.{self._lives}")
        self.worker = None
        self._world.scheduler.after(1, self.process, self._run)
        self._world.scheduler.after(1_000, self._world.supervisor, self._look)

    def _run(self) -> None:
        world, process = self._world, self.process
        app = Mainstay(store=world.store_of(process), clock=process)
        app._registry = registry()
        app.events.on("claimed", partial(world.recorder.claimed, process))
        app.events.on("started", partial(world.recorder.started, process))
        slots = world.random.choice((1, 2, 4))
        queues = ["default", self.queue, *("other",) * (self._number == 0 or world.random.random() < 0.7)]
        worker = app.worker(concurrency=slots, queues=queues, lease=world.lease / 1000, random=world.random.random)
        try:
            worker.start()
        except StoreError:  # it exits, and whoever started it starts it again
            process.alive = False
        else:
            self.worker = worker

    def _look(self) -> None:
        """Replace a worker that died; now and then stop one that lives."""
        world, chance = self._world, self._world.random.random()
        if not self.process.alive:
            world.scheduler.after(world.random.randrange(10, 3_000), world.supervisor, self.start)
            return
        if chance < world.restarts and not world.scheduler.deep and not world.stage.calm:
            world.scheduler.after(1, self.process, self._stop)
        elif chance > 1 - world.nemesis.faults.pause:
            self.process.paused_until = world.scheduler.now + world.nemesis.pause()
            world.recorder.struck(self.process, "pause")
        elif chance > 1 - world.nemesis.faults.pause - world.partitions and not world.stage.calm:
            world.nemesis.cut_off(self.process, world.scheduler.now)
        world.scheduler.after(1_000, world.supervisor, self._look)

    def _stop(self) -> None:
        """Stop as on SIGTERM. The real stop waits for a step under way; here that one lies below us on the stack."""
        if self.worker is None or self.process.steps_under_way:
            return
        worker, self.worker = self.worker, None
        worker.stop(self._world.random.choice((0.1, 8, 8)))
        self._world.recorder.struck(self.process, "exit")
        self.process.alive = False

    def hear(self, what: str) -> None:
        """A ring arrives after a moment."""
        if self.worker is not None:
            self._world.scheduler.after(0, self.process, partial(self._listen, what))

    def _listen(self, what: str) -> None:
        """As the thread of a worker's bell, of which there is one: what rings while it is at work is lost, as a ring may be."""
        worker = self.worker
        if worker is None or worker in self._listening:
            return
        self._rings.append(what)
        self._listening.add(worker)
        try:
            worker._listen(self.process.now())
        finally:
            self._listening.discard(worker)

    def wait(self, timeout: int) -> str:
        """As a worker's bell: what rang."""
        return self._rings.pop() if self._rings else ""

    def take(self, timeout: int, offer: SlotOffer) -> str:
        """As the bell of an engine that claims in the moment of a ring."""
        rang, worker = self.wait(timeout), self.worker
        if rang and worker is not None:
            with suppress(LeaseLost):
                offer.take(worker.store.claim(worker.claimer.worker, offer.wants, 1, self.process.now()).jobs)
        return rang

    def close(self) -> None:
        """As a worker's bell."""


class World:
    """Everything that one seed decides."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.seed, self.scheduler, self.history = seed, Scheduler(random), History()
        self.bugs: list[Violation] = []
        self.lease = random.choice((1_000, 2_000, 4_000))
        self.skewed = random.random() < 0.3
        self.restarts, self.partitions = random.choice((0.0, 0.2, 0.5)), random.choice((0.0, 0.1, 0.3))
        self.supervisor = Process(self.scheduler, "supervisor")
        self.nemesis = Nemesis(random, swarm(random), self.lease)
        self._names = 0
        self._neighbourhood: Neighbourhood | None = None
        self._open()
        self.hosts = [Host(self, number) for number in range(random.choice((1, 2, 3, 3)))]

    def _open(self) -> None:
        if self.random.random() < 0.1:
            self._neighbourhood = Neighbourhood()
            self.store = self._neighbourhood.store
        else:
            self.store = SqliteStore("sqlite:///:memory:")
        connection = self.store.db.writer()
        ledger.install(connection, "0")
        self.store.notifiers.add(Notifier(self))  # type: ignore[arg-type]
        self.ids = Ids(self.random.randbytes)
        self.recorder = Recorder(self.history, self.scheduler, connection)
        self.stage = Stage(self.random, self.recorder, self.ids)

    def process(self, name: str) -> Process:
        """A new process, with a clock of its own where clocks differ."""
        if not self.skewed:
            return Process(self.scheduler, name)
        offset, drift = self.random.randrange(-20_000, 20_000), self.random.uniform(-0.01, 0.01)
        return Process(self.scheduler, name, offset, drift)

    def store_of(self, process: Process) -> Any:
        """A process's way to the store."""
        store: Any = FaultyStore(
            self.store, process, self.scheduler, self.nemesis, self.recorder, own_clock=self.skewed
        )
        host = next((host for host in self.hosts if host.process is process), None)
        store.notifier = lambda worker: host
        store.sweep_interval = self.random.choice((500, 1_000, 2_000))
        return store

    def identity(self) -> str:
        """A worker's identity, from the seed."""
        self._names += 1
        return f"w{self._names}"

    # run ----------------------------------------------------------------------------------------------------------
    def run(self) -> Result:
        """Trouble, then peace; answers what came of it."""
        with self._laws():
            self._populate()
            self.scheduler.pump(self.scheduler.now + TROUBLE)
            self._calm_down()
            self._rest(PEACE)
            self._examine()
            self.recorder.close()
        self._close()
        violations = self.bugs + check(self.history, live=True)
        return Result(self.seed, self.history, violations, self.scheduler.steps, self.scheduler.now - START)

    def _rest(self, budget: int) -> None:
        """Let time pass until everything is at rest."""
        for _ in range(budget // 1_000):
            if not self.recorder.unrest:
                return
            self.scheduler.pump(self.scheduler.now + 1_000)

    def _examine(self) -> None:
        """Whether every worker still works: one more job for each, which no other can do."""
        for host in self.hosts:
            draft = TYPES["quick"].options(queue=host.queue).prepare()
            draft.id = self.ids.new(self.scheduler.now)
            self.recorder.add(self.supervisor, "enqueue", "invoke", draft.id)
            answers = self.store.enqueue([draft], self.scheduler.now)
            self.recorder.committed(self.supervisor, "enqueue", ([draft],), answers)
            self.recorder.add(self.supervisor, "enqueue", "ok", draft.id, sent=draft.id, created=True)
        self._rest(EXAM)

    def _close(self) -> None:
        if self._neighbourhood is not None:
            self._neighbourhood.close([f"w{number + 1}" for number in range(self._names)])
        self.store.close()

    def _populate(self) -> None:
        for host in self.hosts:
            host.start()
        for number in range(self.random.choice((1, 2))):
            process = self.process(f"producer-{number}")
            Producer(
                self.scheduler, process, self.store_of(process), self.recorder, self.random, self.ids,
                self.random.randrange(5, 25),
            ).start()  # fmt: skip
        process = self.process("operator")
        count = self.random.choice((0, 4, 12))
        Operator(self.scheduler, process, self.store_of(process), self.recorder, self.random, count).start()
        if self.random.random() < 0.2:
            self.scheduler.after(self.random.randrange(10_000), self.supervisor, self._outage)

    def _outage(self) -> None:
        self.nemesis.down_until = self.scheduler.now + self.random.randrange(500, self.lease * 3)

    def _calm_down(self) -> None:
        self.nemesis.mend()
        self.stage.calm = True
        for host in self.hosts:
            host.process.paused_until = min(host.process.paused_until, self.scheduler.now)

    def _ended(self, flight: Flight, outcome: Outcome) -> None:
        process = self.scheduler.current
        self.recorder.add(process, "end", "ok", flight.job.id, flight.job.token, outcome=outcome.kind)

    def _broken(self, error: BaseException) -> None:
        import traceback

        story = "".join(traceback.format_exception(error))
        self.bugs.append(Violation("bug", "", len(self.history), f"a step raised:\n{story}"))

    def _laws(self) -> AbstractContextManager[None]:
        """Put virtual time and the seed where the real worker would use threads, the clock and the system's randomness."""
        play = lambda flight, context: self.stage.play(self.scheduler.current, flight, context)  # noqa: E731
        laws: list[tuple[Any, str, Any]] = [
            (worker_module, "Service", partial(Service, self.scheduler, self._broken)),
            (crew_module, "Threads", partial(Slots, self.scheduler, play, self._ended)),
            (crew_module, "Loop", partial(Slots, self.scheduler, play, self._ended)),
            (worker_module, "Flights", partial(SimulatedFlights, self.scheduler, 10_000)),
            (worker_module, "new_identity", self.identity),
            (enqueue_module, "IDS", self.ids),
            (sweep_module, "GRACE", self.random.choice((1_000, 5_000, 60_000))),
        ]
        return patched(*laws)


def simulate(seed: int) -> Result:
    """Run one seed. The same seed gives the same history, everywhere."""
    return World(seed).run()

"""One simulated world: a store, workers, producers, an operator and their faults, all drawn from one seed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay.app import Mainstay
from mainstay.core.errors import LeaseLost, StoreError
from mainstay.core.ids import IDS, Ids
from mainstay.stores.sqlite.store import SqliteStore
from mainstay.worker.worker import Runtime
from tests.simulation import commit_log
from tests.simulation.actors import Operator, Producer
from tests.simulation.checker import Violation, check
from tests.simulation.concurrent_writer import ConcurrentWriter
from tests.simulation.executors import SimulatedExecutor, SimulatedInFlight, SimulatedThreads
from tests.simulation.faulty import FaultyStore, Nemesis, swarm
from tests.simulation.history import History
from tests.simulation.patches import patched
from tests.simulation.recorder import Recorder
from tests.simulation.scheduler import START, Process, Scheduler, Service
from tests.simulation.workload import TYPES, Stage

if TYPE_CHECKING:
    from mainstay.context import Context
    from mainstay.core.outcome import Outcome
    from mainstay.stores.contract import SlotOffer
    from mainstay.worker.in_flight import Execution
    from mainstay.worker.worker import Worker
    from tests.simulation.executors import Script

TROUBLE = 12_000  # virtual milliseconds with faults
PEACE = 300_000  # … and then at most this long until everything must be at rest
EXAM = 60_000  # … and then for each worker to do one more job


class Result(NamedTuple):
    """The result of a seed."""

    seed: int
    history: History
    violations: list[Violation]
    steps: int
    virtual: int  # milliseconds


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
        self._world.scheduler.after(1_000, self._world.supervisor, self._look)

    def _run(self) -> None:
        world, process = self._world, self.process
        app = Mainstay(store=world.store_of(process), clock=process)
        for job_type in TYPES.values():
            app.registry.add(job_type)
        app.events.on("claimed", partial(world.recorder.claimed, process))
        app.events.on("started", partial(world.recorder.started, process))
        slots = world.random.choice((1, 2, 4))
        queues = ["default", self.queue, *("other",) * (self._number == 0 or world.random.random() < 0.7)]
        worker = app.worker(concurrency=slots, queues=queues, lease=world.lease / 1000, runtime=world.runtime)
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
        self._other: ConcurrentWriter | None = None
        self._open()
        self.runtime = self._runtime()
        self.hosts = [Host(self, number) for number in range(random.choice((1, 2, 3, 3)))]

    def _open(self) -> None:
        if self.random.random() < 0.1:
            self._other = ConcurrentWriter()
            self.store = self._other.store
        else:
            self.store = SqliteStore("sqlite:///:memory:")
        connection = self.store.db.writer()
        commit_log.install(connection, "0")
        self.store.notify = self._notify  # type: ignore[method-assign]
        self.ids = Ids(self.random.randbytes)
        self.recorder = Recorder(self.history, self.scheduler, connection)
        self.stage = Stage(self.random, self.recorder, self.ids)

    def _notify(self, what: str = "jobs") -> None:
        """As the store's: every worker is notified, sooner or later or not at all."""
        for host in self.hosts:
            if self.random.random() < 0.9:
                host.hear(what)

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
        """Run with faults, then without; return the result."""
        with patched((IDS, "new", self.ids.new)):
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
        if self._other is not None:
            self._other.close([f"w{number + 1}" for number in range(self._names)])
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

    def _ended(self, execution: Execution, outcome: Outcome) -> None:
        process = self.scheduler.current
        self.recorder.add(process, "end", "ok", execution.job.id, execution.job.token, outcome=outcome.kind)

    def _broken(self, error: BaseException) -> None:
        import traceback

        story = "".join(traceback.format_exception(error))
        self.bugs.append(Violation("bug", "", len(self.history), f"a step raised:\n{story}"))

    def _runtime(self) -> Runtime:
        """Return virtual time and the seed, where the real worker uses threads, the clock and the system's randomness."""
        executors = (
            partial(kind, self.scheduler, self._play, self._ended) for kind in (SimulatedThreads, SimulatedExecutor)
        )
        threads, loop = executors
        return Runtime(
            service=partial(Service, self.scheduler, self._broken), threads=threads, loop=loop,
            in_flight=partial(SimulatedInFlight, self.scheduler, 10_000), identity=self.identity,
            random=self.random.random, sweep_grace=self.random.choice((1_000, 5_000, 60_000)),
        )  # fmt: skip

    def _play(self, execution: Execution, context: Context) -> Script:
        return self.stage.play(self.scheduler.current, execution, context)


def simulate(seed: int) -> Result:
    """Run one seed. The same seed gives the same history, everywhere."""
    return World(seed).run()

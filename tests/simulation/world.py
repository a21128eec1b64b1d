"""One simulated world: a store, workers, producers, an operator and their faults, all drawn from one seed."""

from __future__ import annotations

import sqlite3
from collections import Counter
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay.core.ids import IDS, Ids
from mainstay.core.states import DEAD
from mainstay.query import parse
from mainstay.stores import local_workers, turns
from mainstay.stores.sqlite.store import SqliteStore
from mainstay.worker.worker import Runtime
from tests.simulation import commit_log
from tests.simulation.actors import Approver, Changer, Deleter, Operator, Producer, Reuser
from tests.simulation.checker import Violation, check
from tests.simulation.concurrent_writer import ConcurrentWriter
from tests.simulation.executors import SimulatedExecutor, SimulatedInFlight, SimulatedThreads
from tests.simulation.faulty import CALM, FaultyStore, Nemesis, swarm
from tests.simulation.flow_control import Flow
from tests.simulation.hardships import ON_FILES, OWN_CLOCKS, WITHOUT_FAULTS, complete, draw
from tests.simulation.history import History
from tests.simulation.host import Host
from tests.simulation.patches import patched
from tests.simulation.recorder import Recorder
from tests.simulation.scheduler import START, Process, Scheduler, Service
from tests.simulation.ticking import Ticking
from tests.simulation.trouble import Trouble
from tests.simulation.workload import TYPES, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mainstay.context import Context
    from mainstay.core.decide import Transition
    from mainstay.core.draft import Draft
    from mainstay.core.outcome import Outcome
    from mainstay.worker.in_flight import Execution
    from tests.simulation.executors import Script

TROUBLE = 12_000  # virtual milliseconds with faults
PEACE = 300_000  # … and then at most this long until everything must be at rest
LONG_PEACE = 2_000_000  # … where a limit lets one job after the other pass
STILL = 200_000  # … unless nothing has moved for so long
EXAM = 150_000  # … and then for each worker to do one more job; a handler that hangs takes up to 60,000


class Result(NamedTuple):
    """The result of a seed."""

    seed: int
    history: History
    violations: list[Violation]  # without those that are known
    hardships: frozenset[str]
    steps: int
    virtual: int  # milliseconds


class World:
    """Everything that one seed decides."""

    def __init__(self, seed: int, hardships: frozenset[str] = frozenset()) -> None:
        self.random = random = Random(seed)
        self.seed, self.scheduler, self.history = seed, Scheduler(random), History()
        self.hardships, self.trouble = hardships, Trouble(self, hardships)
        self.bugs: list[Violation] = []
        self.lease = random.choice((1_000, 2_000, 4_000))
        self.skewed = random.random() < 0.3 or bool(hardships & OWN_CLOCKS)
        self.restarts, self.partitions = random.choice((0.0, 0.2, 0.5)), random.choice((0.0, 0.1, 0.3))
        self.supervisor = Process(self.scheduler, "supervisor")
        self.nemesis = Nemesis(random, swarm(random), self.lease)
        if hardships & WITHOUT_FAULTS:
            # Processes whose clocks differ need an engine with a clock of its own: the clock of a file is its machine's.
            self.nemesis.faults, self.partitions, self.skewed = CALM, 0.0, bool(hardships & OWN_CLOCKS)
        self._names = 0
        self._other: ConcurrentWriter | None = None
        self._open()
        self.flow, self.ticking = Flow(self), Ticking(self)
        self.recorder.fired = self.ticking.committed
        self.runtime = self._runtime()
        self.hosts = [Host(self, number) for number in range(random.choice((1, 2, 3, 3)))]

    def _open(self) -> None:
        if self.random.random() < 0.1 or self.hardships & ON_FILES:
            self._other = ConcurrentWriter()
            self.store = self._other.store
        else:
            self.store = SqliteStore("sqlite:///:memory:")
        connection = self.store.db.writer()
        commit_log.install(connection, "0")
        self.store.notify = self._notify  # type: ignore[method-assign]
        self.store.stalled = self._stalled  # type: ignore[method-assign]
        self.store.spared = self._spared  # type: ignore[method-assign]
        self.ids = Ids(self.random.randbytes)
        self.recorder = Recorder(self.history, self.scheduler, connection, self._other is not None)
        self.stage = Stage(self.random, self.recorder, self.ids, self.hardships, self.trouble.random, self.breach)
        self.recorder.stored = self._stored

    def _notify(self, what: str = "jobs") -> None:
        """As the store's: every worker is notified, sooner or later or not at all."""
        for host in self.hosts:
            if self.random.random() < 0.9:
                host.hear(what)

    def _stalled(self) -> int:
        return self.scheduler.current.stall.ms()

    def _spared(self, late: Any, now: int) -> list[str]:
        """As the store's, by what the process that sweeps has seen."""
        process = self.scheduler.current
        self.store.watched = process.watched
        found = local_workers.spared(self.store, late, now)
        process.watched = self.store.watched
        return found

    def process(self, name: str) -> Process:
        """A new process, with a clock of its own where clocks differ."""
        process = self._process(name)
        process.died = self.trouble.died
        return process

    def _process(self, name: str) -> Process:
        if not self.skewed:
            return Process(self.scheduler, name)
        offset, drift = self.random.randrange(-20_000, 20_000), self.random.uniform(-0.01, 0.01)
        return Process(self.scheduler, name, offset, drift)

    def store_of(self, process: Process) -> Any:
        """A process's way to the store."""
        store: Any = FaultyStore(
            self.store, process, self.scheduler, self.nemesis, self.recorder, self.skewed, self.trouble.call
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
        full = 1 + self.seed % 2 * turns.FULL  # in every other seed also claims of a single job leave lines for later
        with patched((IDS, "new", self.ids.new), (IDS, "many", self.ids.many), (turns, "FULL", full)):
            self._live()
            found = self.bugs if self.scheduler.halted else self.bugs + check(self.history, live=True)
        self._close()
        virtual = self.scheduler.now - START
        return Result(self.seed, self.history, found, self.hardships, self.scheduler.steps, virtual)

    def _live(self) -> None:
        self._populate()
        self.trouble.begin()
        self.flow.begin()
        self.ticking.begin()
        self.scheduler.pump(self.scheduler.now + TROUBLE)
        self._calm_down()
        self.ticking.end()
        self._rest(LONG_PEACE if self.flow.used else PEACE)
        if not self.scheduler.halted:
            self._examine()
            self._check_dead()
            self.recorder.close()

    def _rest(self, budget: int) -> None:
        """Let time pass until everything is at rest."""
        for _ in range(budget // 1_000):
            still = self.scheduler.now - self.recorder.moved_at
            if not self.recorder.unrest or (self.flow.used and still > STILL):
                return
            self.flow.approve()
            self.scheduler.pump(self.scheduler.now + 1_000)

    def _examine(self) -> None:
        """Whether every worker still works: one more job for each, which no other can do."""
        for host in self.hosts:
            draft = self.announced(host.queue)
            try:
                self.store.enqueue([draft], self.scheduler.now)
            except sqlite3.OperationalError as error:  # of the same thread: nobody else writes any more
                self.breach("I19", f"could not be enqueued after all was over: {error}", draft.id)
                return
            self.acknowledged(draft)
        self._rest(EXAM)

    def found(self, search: str) -> Sequence[str]:
        """Return the ids of the jobs that match."""
        return self.store.search(parse(search, self.scheduler.now), 1_000, None, self.scheduler.now).ids

    def announced(self, queue: str) -> Draft:
        """Return a draft that is about to be sent, recorded as such."""
        draft = TYPES["quick"].options(queue=queue).prepare()
        draft.id = self.ids.new(self.scheduler.now)
        self.recorder.add(self.supervisor, "enqueue", "invoke", draft.id)
        return draft

    def acknowledged(self, draft: Draft) -> None:
        """Record that such a draft was accepted."""
        self.recorder.committed(self.supervisor, "enqueue", ([draft],), [(draft.id, True)])
        self.recorder.add(self.supervisor, "enqueue", "ok", draft.id, sent=draft.id, created=True)

    def undisturbed(self, call: Callable[[], str]) -> str:
        """Make a call without the neighbour: a thread that writes would wait for its store, which a fork has locked."""
        if self._other is None:
            return call()
        self._other.away = True
        try:
            return call()
        finally:
            self._other.away = False

    def _close(self) -> None:
        if self._other is not None:
            self._other.close([f"w{number + 1}" for number in range(self._names)] + [host.queue for host in self.hosts])
        self.store.close()

    def _populate(self) -> None:
        for host in self.hosts:
            host.start()
        for number in range(self.random.choice((1, 2))):
            process = self.process(f"producer-{number}")
            Producer(
                self.scheduler, process, self.store_of(process), self.recorder, self.random, self.ids,
                self.random.randrange(5, 25), self.hardships, self.flow.drafts,
            ).start()  # fmt: skip
        process = self.process("operator")
        count = self.random.choice((0, 4, 12))
        Operator(self.scheduler, process, self.store_of(process), self.recorder, self.random, count).start()
        if self.random.random() < 0.2 and not self.hardships & WITHOUT_FAULTS:
            self.scheduler.after(self.random.randrange(10_000), self.supervisor, self._outage)
        people: dict[str, Any] = {"drafts twice": Reuser, "reviews": Approver, "searches": Deleter, "changes": Changer}
        for name, person in people.items():
            if name in self.hardships:
                person(self, self.trouble.random).start()

    def _outage(self) -> None:
        self.nemesis.down_until = self.scheduler.now + self.random.randrange(500, self.lease * 3)

    def _calm_down(self) -> None:
        self.nemesis.mend()
        self.trouble.end()
        self.stage.calm = True
        self.flow.end()
        for host in self.hosts:
            host.process.paused_until = min(host.process.paused_until, self.scheduler.now)

    def _ended(self, execution: Execution, outcome: Outcome) -> None:
        self.recorder.ended(self.scheduler.current, execution.job, outcome)

    def broken(self, error: BaseException) -> None:
        import traceback

        story = "".join(traceback.format_exception(error))
        self.bugs.append(Violation("bug", "", len(self.history), f"a step raised:\n{story}"))

    def breach(self, invariant: str, story: str, job: str = "") -> None:
        """Record a violation that was seen as it happened."""
        self.bugs.append(Violation(invariant, job, len(self.history), story))

    def _stored(self, process: Process, transition: Transition) -> None:
        """Check the groups when a job has died, and the children of a job that gave the same draft to ctx.enqueue twice."""
        if transition.state == DEAD:
            self._check_dead()
        if (transition.id, transition.token) not in self.stage.twins or transition.state != "completed":
            return
        now = self.scheduler.now
        found = self.store.search(parse(f"parent:{transition.id}", now), 10, None, now).ids
        for child in found:
            self.recorder.add(process, "enqueue", "invoke", child, parent=transition.id, parent_token=transition.token)
        if len(found) != 2:
            self.breach("I2", f"gave ctx.enqueue two drafts and has {len(found)} children", transition.id)

    def _check_dead(self) -> None:
        """The groups have exactly the dead jobs, and each knows of what it died."""
        rows = (
            self.store.db.writer().execute("SELECT id, fingerprint FROM mainstay_job WHERE state = 'dead'").fetchall()
        )
        groups = Counter[str | None]()
        for count in self.store.dead_counts(0, 1_000_000):
            groups[count.fingerprint] += count.jobs
        if groups != Counter(name for _, name in rows):
            self.breach("I37", f"groups of dead jobs {groups}, but these are dead: {rows}")
        for job in (job for job, name in rows if name is None):
            self.breach("I37", "died, and has no fingerprint", job)

    def _runtime(self) -> Runtime:
        """Return virtual time and the seed, where the real worker uses threads, the clock and the system's randomness."""
        executors = (
            partial(kind, self.scheduler, self._play, self._ended) for kind in (SimulatedThreads, SimulatedExecutor)
        )
        threads, loop = executors
        return Runtime(
            service=partial(Service, self.scheduler, self.broken), threads=threads, loop=loop,
            in_flight=partial(SimulatedInFlight, self.scheduler, 10_000), identity=self.identity,
            updates=lambda: self.scheduler.current.updates, random=self.random.random, sweep_grace=self.random.choice((1_000, 5_000, 60_000)),
        )  # fmt: skip

    def _play(self, execution: Execution, context: Context) -> Script:
        return self.stage.play(self.scheduler.current, execution, context)


def simulate(seed: int, only: str = "") -> Result:
    """Run one seed. The same seed gives the same history, everywhere.

    `only` names one hardship, or several with "+" between them: the world has these and no others.
    """
    return World(seed, complete(only.split("+")) if only else draw(seed)).run()

"""The users of the simulated system: producers that send drafts until they get a reply, and an operator."""

from __future__ import annotations

from contextlib import nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from mainstay.app import Mainstay
from mainstay.cli.actions import COMMANDS, act
from mainstay.cli.output import Output, Shape
from mainstay.core.change import NOW, Edit, Wish
from mainstay.core.errors import DuplicateKey, NotFound, QueueFull, StoreError
from mainstay.query import parse
from tests.simulation.faulty import CALM, FaultyStore, Nemesis
from tests.simulation.recorder import mode_of
from tests.simulation.scheduler import Process
from tests.simulation.workload import TYPES

if TYPE_CHECKING:
    from random import Random

    from mainstay.core.draft import Draft
    from tests.simulation.flow_control import RuledDrafts
    from tests.simulation.recorder import Recorder
    from tests.simulation.scheduler import Scheduler
    from tests.simulation.world import World


def parents_of(draft: Draft) -> dict[str, list[str]]:
    """Return what the history says about the parents of a draft."""
    return {"after": list(draft.after)} if draft.after else {}


KEYS = ("a", "b")
DELETE = next(command for command in COMMANDS if command.name == "delete")
MOST_SENDS = 4  # sends of one draft before a producer gives up


class Producer:
    """Sends drafts at its own pace. A draft without a reply is sent again with the same id."""

    def __init__(
        self, scheduler: Scheduler, process: Process, store: FaultyStore, recorder: Recorder, random: Random, ids: Any,
        count: int, hardships: frozenset[str], ruled: RuledDrafts,
    ) -> None:  # fmt: skip
        self._scheduler, self.process, self._store = scheduler, process, store
        self._recorder, self._random, self._ids = recorder, random, ids
        self._left = count
        self._batches = self._works = 0
        self._hardships, self._ruled = hardships, ruled

    def start(self) -> None:
        """Send the first draft soon."""
        self._scheduler.after(self._random.randrange(1, 200), self.process, self._next)

    def _next(self) -> None:
        drafts = self._drafts()
        self._left -= len(drafts)
        self._send(drafts, MOST_SENDS)

    def _drafts(self) -> list[Draft]:
        random = self._random
        if random.random() < 0.15:
            return [self._draft({}) for _ in range(random.randrange(2, 6))]
        return [self._draft(self._options())]

    def _options(self) -> dict[str, Any]:
        random = self._random
        options: dict[str, Any] = {}
        if "replacements" in self._hardships:
            return {"key": random.choice(KEYS), "on_conflict": "replace"}
        if random.random() < 0.45:
            options |= {
                "key": random.choice(KEYS),
                "on_conflict": random.choice(("existing", "existing", "replace", "raise")),
            }
            options |= {"unique": random.choice(("alive", "alive", "start"))}
        if random.random() < 0.3:
            options["delay"] = random.randrange(1, 6_000) / 1000
        if random.random() < 0.3:
            options["priority"] = random.randrange(-2, 3)
        if random.random() < 0.3:
            options["keep"] = 20
        return options

    def _draft(self, options: dict[str, Any]) -> Draft:
        self._works += 1
        names = ("waits",) if "stubborn" in self._hardships else tuple(TYPES)
        draft = TYPES[self._random.choice(names)].options(**options).prepare(self._works)
        draft.id = self._ids.new(self.process.now())
        if "delay" in options:
            draft.run_at = self.process.now() + round(options["delay"] * 1000)
        self._ruled.dress(draft, self.process.now())
        return draft

    def _send(self, drafts: list[Draft], tries: int) -> None:
        if tries == MOST_SENDS:
            self._announce(drafts)
        try:
            replies = self._store.enqueue(drafts, self.process.now())
        except DuplicateKey:
            self._recorder.add(self.process, "enqueue", "fail", drafts[0].id)
        except (QueueFull, NotFound):
            phase = "fail" if tries == MOST_SENDS else "unknown"  # sent before, it may have been accepted and deleted
            for draft in drafts:
                self._recorder.add(self.process, "enqueue", phase, draft.id)
        except (StoreError, KeyboardInterrupt):
            self._no_reply(drafts, tries)
            return
        else:
            for draft, (job, created) in zip(drafts, replies, strict=True):
                self._recorder.add(self.process, "enqueue", "ok", job, sent=draft.id, created=created)
                self._ruled.accepted.append(job)
        self._go_on()

    def _announce(self, drafts: list[Draft]) -> None:
        self._batches += 1
        batch = f"{self.process.name}/{self._batches}" if len(drafts) > 1 else None
        for draft in drafts:
            self._recorder.add(
                self.process,
                "enqueue",
                "invoke",
                draft.id,
                key=draft.lock,
                mode=mode_of(draft),
                batch=batch,
                **parents_of(draft),
            )

    def _no_reply(self, drafts: list[Draft], tries: int) -> None:
        for draft in drafts:
            self._recorder.add(self.process, "enqueue", "unknown", draft.id)
        if tries > 1:
            self._scheduler.after(
                self._random.randrange(10, 1_000), self.process, lambda: self._send(drafts, tries - 1)
            )
        else:
            self._go_on()

    def _go_on(self) -> None:
        if self._left > 0:
            self._scheduler.after(self._random.randrange(1, 600), self.process, self._next)


class Operator:
    """Cancels, retries, reviews and deletes what it finds."""

    def __init__(
        self, scheduler: Scheduler, process: Process, store: FaultyStore, recorder: Recorder, random: Random, count: int
    ) -> None:  # fmt: skip
        self._scheduler, self.process, self._store = scheduler, process, store
        self._recorder, self._random, self._left = recorder, random, count

    def start(self) -> None:
        """Do the first thing soon."""
        self._scheduler.after(self._random.randrange(200, 2_000), self.process, self._act)

    def _act(self) -> None:
        known = self._store.find("", 1000)
        if known:
            verb = self._random.choice(("cancel", "cancel", "retry", "retry", "resolve_review", "delete"))
            self._do(verb, self._random.choice(known))
        self._left -= 1
        if self._left > 0:
            self._scheduler.after(self._random.randrange(50, 2_000), self.process, self._act)

    def _do(self, verb: str, job: str) -> None:
        now = self.process.now()
        try:
            if verb == "resolve_review":
                self._store.resolve_review(job, self._random.random() < 0.5, now, "operator", "")
            else:
                getattr(self._store, verb)([job], now, "operator")
        except (StoreError, KeyboardInterrupt):
            self._recorder.add(self.process, verb, "unknown", job)


class Person:
    """Somebody who acts now and then on a store that works."""

    name = ""

    def __init__(self, world: World, random: Random) -> None:
        self._scheduler, self._recorder, self._random, self._world = world.scheduler, world.recorder, random, world
        self.process = Process(world.scheduler, self.name)
        calm = Nemesis(random, CALM, world.lease)
        self._store: Any = FaultyStore(
            world.store, self.process, world.scheduler, calm, world.recorder, own_clock=world.skewed
        )
        self._app = Mainstay(store=self._store, clock=self.process)
        self._left = 8

    def start(self) -> None:
        """Act for the first time soon."""
        self._scheduler.after(self._random.randrange(200, 2_000), self.process, self._again)

    def _again(self) -> None:
        self.act()
        self._left -= 1
        if self._left > 0:
            self._scheduler.after(self._random.randrange(50, 2_000), self.process, self._again)

    def act(self) -> None:
        """Do one thing."""
        raise NotImplementedError

    def found(self, search: str) -> list[str]:
        """Return the ids of the jobs that match."""
        now = self.process.now()
        return list(self._world.store.search(parse(search, now), 1_000, None, now).ids)


class Reuser(Person):
    """Enqueues each prepared draft twice: two jobs."""

    name = "reuser"

    def act(self) -> None:
        draft = TYPES["quick"].prepare(1)
        answers = [(handle.id, handle.created) for _ in range(2) for handle in self._app.enqueue_many([draft])]
        for job, created in answers:
            self._recorder.add(self.process, "enqueue", "invoke", job)
            self._recorder.add(self.process, "enqueue", "ok", job, sent=job, created=created)
        if len(set(answers)) < 2:
            self._world.breach("I2", "was the reply to two enqueues, both times as new", answers[0][0])


class Approver(Person):
    """Decides what is in review."""

    name = "approver"

    def act(self) -> None:
        for job in self.found("state:review"):
            if self._random.random() < 0.2:
                self._store.retry([job], self.process.now(), self.name)
            else:
                self._store.resolve_review(job, self._random.random() < 0.7, self.process.now(), self.name, "")


class Changer(Person):
    """Gives jobs another priority, queue, time or payload, and lets retried ones wait; its calls may fail as others do."""

    name = "changer"

    def __init__(self, world: World, random: Random) -> None:
        super().__init__(world, random)
        self._store = FaultyStore(
            world.store, self.process, world.scheduler, world.nemesis, world.recorder, own_clock=world.skewed
        )
        self._left = 20

    def act(self) -> None:
        jobs = self.found("")
        some = self._random.sample(jobs, min(len(jobs), self._random.choice((1, 1, 5))))
        if not some:
            return
        now = self.process.now()
        verb = self._random.choice(("change", "change", "change", "retry"))
        try:
            if verb == "retry":
                self._store.retry(some, now, self.name, (), None, "", False, [self._time(now) for _ in some])
            else:
                self._store.change(some, now, self.name, self._wish(some, now))
        except (StoreError, KeyboardInterrupt):
            for job in some:
                self._recorder.add(self.process, verb, "unknown", job)

    def _time(self, now: int) -> int:
        return now + self._random.randrange(-500, 3_000)

    def _wish(self, jobs: list[str], now: int) -> Wish:
        kind = self._random.choice(("priority", "queue", "run_at", "edits"))
        if kind == "priority":
            return Wish(priority=self._random.randrange(-2, 3))
        if kind == "queue":
            return Wish(queue=self._random.choice(("default", "other")))
        if kind == "run_at":
            return Wish(run_at=self._random.choice((NOW, self._time(now))))
        found = self._world.store.get_many(jobs)
        return Wish(edits={job.id: Edit(job.payload, '{"n":77}', None) for job in found})


class Deleter(Person):
    """Deletes dead jobs by the command, while somebody else queues them again."""

    name = "deleter"

    def act(self) -> None:
        self._store.search = self._slow_search
        with redirect_stderr(StringIO()), redirect_stdout(StringIO()):
            act(
                DELETE, target=SimpleNamespace(open=lambda: nullcontext(self._app)),
                output=Output(Shape(quiet=True)),
                jobs=("state:dead",), everything=False, dry_run=False, yes=True,
            )  # fmt: skip

    def _slow_search(self, *args: Any) -> Any:
        """Return what a search finds, after a while in which others were quicker."""
        page = self._world.store.search(*args)
        if page.ids and self._random.random() < 0.5:
            answers = self._world.store.retry(page.ids, self._scheduler.now, "operator")
            self._recorder.committed(self._world.supervisor, "retry", (), answers)
        return page

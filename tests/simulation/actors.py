"""The users of the simulated system: producers that send drafts until they get a reply, and an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainstay.core.errors import DuplicateKey, StoreError
from tests.simulation.recorder import mode_of
from tests.simulation.workload import TYPES

if TYPE_CHECKING:
    from random import Random

    from mainstay.core.draft import Draft
    from tests.simulation.faulty import FaultyStore
    from tests.simulation.recorder import Recorder
    from tests.simulation.scheduler import Process, Scheduler

KEYS = ("a", "b")
MOST_SENDS = 4  # sends of one draft before a producer gives up


class Producer:
    """Sends drafts at its own pace. A draft without a reply is sent again with the same id."""

    def __init__(
        self, scheduler: Scheduler, process: Process, store: FaultyStore, recorder: Recorder, random: Random, ids: Any,
        count: int,
    ) -> None:  # fmt: skip
        self._scheduler, self.process, self._store = scheduler, process, store
        self._recorder, self._random, self._ids = recorder, random, ids
        self._left = count
        self._batches = 0

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
        draft = TYPES[self._random.choice(tuple(TYPES))].options(**options).prepare()
        draft.id = self._ids.new(self.process.now())
        if "delay" in options:
            draft.run_at = self.process.now() + round(options["delay"] * 1000)
        return draft

    def _send(self, drafts: list[Draft], tries: int) -> None:
        if tries == MOST_SENDS:
            self._announce(drafts)
        try:
            replies = self._store.enqueue(drafts, self.process.now())
        except DuplicateKey:
            self._recorder.add(self.process, "enqueue", "fail", drafts[0].id)
        except StoreError:
            self._no_reply(drafts, tries)
            return
        else:
            for draft, (job, created) in zip(drafts, replies, strict=True):
                self._recorder.add(self.process, "enqueue", "ok", job, sent=draft.id, created=created)
        self._go_on()

    def _announce(self, drafts: list[Draft]) -> None:
        self._batches += 1
        batch = f"{self.process.name}/{self._batches}" if len(drafts) > 1 else None
        for draft in drafts:
            self._recorder.add(
                self.process, "enqueue", "invoke", draft.id, key=draft.lock, mode=mode_of(draft), batch=batch
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
        except StoreError:
            self._recorder.add(self.process, verb, "unknown", job)

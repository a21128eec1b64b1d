"""An installation with a bit of everything: jobs in every state, with keys, tags, parents, attempts, logs and results."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from mainstay.core import keys, rules
from mainstay.core.clock import DAY, HOUR, SECOND
from mainstay.core.decide import decide
from mainstay.core.draft import Draft
from mainstay.core.export import DeliveryRecord
from mainstay.core.job import Rule, TypeInfo, WorkerInfo
from mainstay.core.outcome import Outcome
from mainstay.core.updates import Checkpoint, Log, Progress
from tests.contract.invariants import block

if TYPE_CHECKING:
    from mainstay.core.clock import ManualClock
    from mainstay.core.job import Claimed
    from mainstay.core.updates import Update
    from mainstay.stores.contract import Store

QUEUES = {"default": ["mail", "invoice"], "slow": ["extract"]}
WORKER = "w-filler"
FOREVER = 1_000 * DAY  # as a lease
CHUNK = 1_000
WORDS = ("done", "größer", "\N{SNOWMAN} melts", 'a "quoted" line', "tab\tand\nline", "")
ENDS = {
    Outcome("completed", result='{"pages":3,"ratio":0.25}'): 30,
    Outcome("completed"): 25,
    Outcome("failed", error="ValueError: größer", traceback="Traceback:\n  größer"): 20,
    Outcome("failed", error="KeyError: 'x'", traceback="Traceback", retry=False, reason="permanent"): 8,
    Outcome("review", reason="3 fields uncertain", result='{"proposed":[1,2.5,null]}'): 5,
    Outcome("cancelled", reason="not wanted any more"): 5,
}
HELD = 7  # of a hundred that are claimed stay in the hands of their worker


class SampleData:
    """Fills a store; the same seed makes the same jobs."""

    def __init__(self, store: Store, clock: ManualClock, seed: int) -> None:
        self.store, self.clock, self.random = store, clock, Random(seed)
        self.made = 0
        self.scheduled: list[Draft] = []
        self.parents: list[str] = []  # scheduled jobs of earlier rounds: others wait for them

    def fill(self, jobs: int) -> None:
        """So many jobs and what belongs to them; at the end nobody works there any more."""
        now = self.clock.now()
        names = [(name, queue) for queue, types in QUEUES.items() for name in types]
        self.store.register_types(
            [TypeInfo(name, queue, f"{name}(n: int)", {"priority": 1}, now) for name, queue in names]
        )
        self.store.set_setting("colour", "blü")
        self.store.set_rule(Rule("limit", "printer", {"set": {"running": 2}}, "opérateur", now))
        self.store.register(worker(now))
        for n in range(200):
            error = "the receiver replied 500 größer" if n % 3 else None
            self.store.record_delivery(
                DeliveryRecord(f"hook{n % 2}", 0, f"j{n}", n, 1, 500, n, error, "größer"), now + n
            )
        while self.made < jobs:
            self._round(min(CHUNK, jobs - self.made))
            self.clock.advance(1)
        self.store.deregister(WORKER)

    def _round(self, jobs: int) -> None:
        self.parents = [draft.id for draft in self.scheduled]
        drafts = [self._draft() for _ in range(jobs)]
        self.store.enqueue(drafts, self.clock.now())
        claimed = self.store.claim(WORKER, QUEUES, jobs * 6 // 10, self.clock.now()).jobs
        self.store.finish([], [note for job in claimed for note in self._updates(job)])
        running = [job for job in claimed if self.random.randrange(100) >= HELD]
        outcomes = self.random.choices(list(ENDS), list(ENDS.values()), k=len(running))
        now = self.clock.now()
        self.store.finish([decide(*pair, now, self.random.random) for pair in zip(running, outcomes, strict=True)])
        self.store.cancel([draft.id for draft in self.random.sample(drafts, jobs // 50)], now, "opérateur")
        self.store.retry([job.id for job in claimed[: jobs // 50]], now, "someone")
        self._block([draft.id for draft in drafts[-jobs // 50 :]])

    def _block(self, ids: list[str]) -> None:
        """There is no verb for this state yet."""
        for job in self.store.get_many(ids):
            if job.state == "queued":
                block(self.store, job.id)

    def _draft(self) -> Draft:
        self.made += 1
        random, n, now = self.random, self.made, self.clock.now()
        queue = random.choice(list(QUEUES))
        given: dict[str, Any] = {
            "queue": queue,
            "priority": random.choice((-1000, -1, 0, 0, 0, 5)),
            "tags": self._tags(),
        }
        if n % 5 == 0:
            until = random.choice((None, 0, now + HOUR, keys.FOREVER))
            given |= {"key": f"k-{n}", "lock_until": until}
        if n % 7 == 0:
            given |= {"tenant": random.choice(("acme", "größer", "")), "ref": f"doc:{n}", "parent": f"P{n:025d}"}
        if n % 9 == 0:
            given |= {"run_at": now + random.randrange(1, 3_600) * SECOND}
        if n % 11 == 0:
            given |= {"timeout": None, "keep": random.choice((None, DAY)), "backoff": "1000 60000 2.0 1"}
        if n % 13 == 0 and "run_at" not in given and self.parents:
            given |= {
                "after": (random.choice(self.parents),),
                "rules": rules.pack({"after": "run"}),
                "waits": rules.EXAMINE,
            }
        type = random.choice(QUEUES[queue])
        if "key" in given:
            given["lock"] = f"{type}:{given['key']}"
        draft = Draft(type, f'{{"n":{n},"text":"{random.choice(WORDS[:3]) * random.randrange(30)}"}}', **given)
        self.scheduled += [draft] if "run_at" in given else []
        return draft

    def _tags(self) -> tuple[str, ...]:
        return tuple(self.random.sample(("eu", "a b", "größer", "x:y"), self.random.choice((0, 0, 0, 1, 2))))

    def _updates(self, job: Claimed) -> list[Update]:
        random, now = self.random, self.clock.now()
        fields = random.choice((None, '{"page": 1, "ratio": 1.10}'))
        found: list[Update] = [
            Log(job.seq, job.token, n, now, "info", random.choice((None, "read")), random.choice(WORDS), fields)
            for n in range(random.choice((0, 0, 1, 2, 5)))
        ]
        if random.randrange(4) == 0:
            found.append(
                Progress(job.seq, job.token, now, random.choice((1.5, 0.1, 7.0)), random.choice((None, 10.0)), "read")
            )
            found.append(Checkpoint(job.seq, job.token, now, '{"page": 3}'))
        return found


def worker(now: int) -> WorkerInfo:
    """One worker for all that is claimed."""
    types = tuple(name for names in QUEUES.values() for name in names)
    return WorkerInfo(WORKER, "host", 1, 8, tuple(QUEUES), types, now, now, now + FOREVER, 0, stopping=False)


def claims(store: Store, now: int) -> list[str]:
    """The order in which a store hands out everything that is due."""
    store.register(worker(now))
    while any(count.label in ("scheduled", "retrying") and count.oldest <= now for count in store.counts(1)):
        store.claim(WORKER, {}, 0, now)  # which queues a bounded number of due jobs
    taken: list[str] = []
    while jobs := store.claim(WORKER, QUEUES, CHUNK, now).jobs:
        taken += [job.id for job in jobs]
    return taken

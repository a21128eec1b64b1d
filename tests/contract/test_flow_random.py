"""Random verbs on jobs with rules of every kind: nothing gets stuck, no limit is exceeded, and every index agrees afterwards."""

import contextlib
import random
from collections import Counter

import pytest

from mainstay.core import rules
from mainstay.core.errors import DuplicateKey, QueueFull
from mainstay.core.outcome import COMPLETED, RELEASED
from tests.contract.building import CANCELLED, FAILED, FINAL, draft, keyed, transition
from tests.contract.invariants import check, every
from tests.contract.ruled import Operator, after, fair, limited, rated, ruled, watched

WANTS = {"default": ["work", "other"], "slow": ["work", "other"]}
PAUSES = ("all", "queue:slow", "type:other")
OUTCOMES = (COMPLETED, COMPLETED, COMPLETED, FAILED, FINAL, RELEASED, CANCELLED)


class Chaos:
    """Random verbs, from a seed."""

    def __init__(self, desk, seed):
        self.desk, self.store, self.random = desk, desk.store, random.Random(seed)
        self.operator, self.running, self.ids = Operator(desk), [], []

    def step(self):
        weights = {
            self.enqueue: 6, self.take: 6, self.finish: 6, self.act: 2, self.pause: 1, self.limit: 1, self.wait: 3, self.bound: 0.3,
            self.chores: 0.5,
        }  # fmt: skip
        self.random.choices(list(weights), weights.values())[0]()

    def made(self):
        """A draft of any kind."""
        pick = self.random
        given = {
            "type": pick.choice(["work", "other"]), "queue": pick.choice(["default", "default", "slow"]),
            "priority": pick.choice([0, 0, 0, 5]), "max_attempts": 3,
            "run_at": pick.choice([None, None, None, self.desk.now + pick.randrange(1, 3_000)]),
            "start_by": pick.choice([None] * 5 + [self.desk.now + 2_000]),
        }  # fmt: skip
        key = pick.choice("ab")
        both = {"limits": [["all", "", 4], ["mail", key, 2]], "rates": [["api", key, 300_000, 2]]}
        kind = pick.randrange(8)
        if kind == 0 and self.ids:
            return after(
                *pick.sample(self.ids, min(len(self.ids), 2)), then=pick.choice(["cancel", "run", "dead"]), **given
            )
        if kind == 1:
            queue = given.pop("queue")
            return fair(key, pick.choice([1, 2]), queue, **given)
        if kind == 2:
            lock = keyed(pick.choice("xy"), on_conflict=pick.choice(["existing", "replace"]))
            lock.rules, lock.waits = limited(key, 2).rules, limited(key, 2).waits
            return lock
        return pick.choice([
            lambda: limited(key, 2, **given), lambda: rated(key, 300, 2, **given), lambda: ruled(both, **given),
            lambda: watched(of=10, rest=500, **given), lambda: draft(**given),
        ])()  # fmt: skip

    def enqueue(self):
        drafts = [self.made() for _ in range(self.random.choice([1, 1, 5, 30]))]
        drafts = [each for each in drafts if all(self.store.get(parent) for parent in each.after)]
        with contextlib.suppress(QueueFull, DuplicateKey):
            self.ids += [job for job, _ in self.store.enqueue(drafts, self.desk.now)]
        self.ids = self.ids[-60:]

    def take(self):
        finishing, self.running = self.running[:2], self.running[2:]
        ended = [transition(job, self.random.choice(OUTCOMES), self.desk.now) for job in finishing]
        claims = self.desk.claim(self.random.choice([0, 1, 3, 20]), wants=WANTS, finishing=ended)
        self.stop(finishing, claims.verdicts)
        self.running += claims.jobs
        self.watch()

    def stop(self, jobs, verdicts):
        """End those that were asked to stop."""
        asked = [job for job, verdict in zip(jobs, verdicts, strict=True) if verdict == "cancelling"]
        self.store.finish([transition(job, CANCELLED, self.desk.now) for job in asked])

    def finish(self):
        self.random.shuffle(self.running)
        finishing, self.running = self.running[:3], self.running[3:]
        self.ended(finishing, [self.random.choice(OUTCOMES) for _ in finishing])

    def ended(self, jobs, outcomes):
        given = [transition(job, outcome, self.desk.now) for job, outcome in zip(jobs, outcomes, strict=True)]
        self.stop(jobs, self.store.finish(given))

    def act(self):
        chosen = self.random.sample(self.ids, min(len(self.ids), 3))
        getattr(self.store, self.random.choice(["cancel", "retry", "delete"]))(chosen, self.desk.now, "me")
        self.ids = [job for job in self.ids if self.store.get(job)]

    def pause(self):
        name = self.random.choice(PAUSES)
        self.random.choice([self.operator.pause, self.operator.resume, self.operator.resume])(name)

    def limit(self):
        name, value = self.random.choice([
            ("mail", {"running": 1}), ("mail", {"running": 3}), ("all", {"running": None}), ("api", {"every": 100_000}),
        ])  # fmt: skip
        if self.random.random() < 0.5:
            self.operator.set("limit", name, set=value)
        else:
            self.operator.remove("limit", name)

    def bound(self):
        if self.random.random() < 0.5:
            self.operator.set("queue", "slow", set={"max_depth": 30})
        else:
            self.operator.remove("queue", "slow")

    def wait(self):
        self.desk.clock.advance(f"{self.random.choice([1, 50, 400, 1_500])}ms")
        self.desk.join()

    def chores(self):
        self.store.admit(self.desk.now, 100)
        self.store.expire(self.desk.now, 100)
        self.store.prune(self.desk.now, 100)

    def watch(self):
        """No more run of a slot than the highest limit that it ever had."""
        held = Counter(slot for job in self.running for slot in rules.limit_slots(rules.unpack(job.rules)))
        assert all(number <= 4 for slot, number in held.items() if slot.startswith("mail")), held

    def end(self):
        """Lift every rule and run everything to its end."""
        for rule in self.store.rules(["pause", "limit", "queue", "breaker"]):
            self.operator.remove(rule.kind, rule.name)
        self.ended(self.running, [COMPLETED] * len(self.running))
        for _ in range(400):
            jobs = self.desk.claim(50, wants=WANTS).jobs
            self.ended(jobs, [COMPLETED] * len(jobs))
            self.desk.clock.advance("200ms")
            self.desk.join()
            if not jobs and not any(
                job.state in ("queued", "scheduled", "blocked") for job in every(self.store, self.desk.now)
            ):
                return
        left = [job for job in every(self.store, self.desk.now) if job.state in ("queued", "scheduled", "blocked")]
        raise AssertionError(f"{len(left)} jobs are stuck: {left[:3]}")


@pytest.mark.parametrize("seed", range(4))
def test_nothing_gets_stuck_and_every_index_agrees(desk, seed):
    chaos = Chaos(desk, seed)
    for n in range(150):
        chaos.step()
        if n % 30 == 0:
            check(desk.store, desk.now)
    check(desk.store, desk.now)
    chaos.end()
    check(desk.store, desk.now)

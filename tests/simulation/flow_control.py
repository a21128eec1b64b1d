"""Flow control in a simulated world: drafts with rules, and somebody who changes what holds jobs back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainstay.core.errors import StoreError, StoreUnavailable
from mainstay.core.job import Rule
from mainstay.core.limits import set_rules
from tests.simulation.actors import Person
from tests.simulation.hardships import FLOW

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mainstay.core.draft import Draft
    from tests.simulation.world import World

LIMITS = {"api": 2, "mail": 1, "print": 3}  # how many of each name may run
RATES = {"calls": (400_000, 1), "texts": (150_000, 3)}  # µs between two starts, and how many at once
BREAKERS = {"moody": [0.5, 4, 1_500], "waits": [0.75, 3, 800]}
PAUSES = ("all", "queue:default", "queue:other", "type:quick", "type:slow", "type:moody", "type:waits")
TENANTS = {"a": 1, "b": 3, "c": 1}
CHANCE = 0.3  # that a call is cut off before its next transaction


class RuledDrafts:
    """Gives drafts the rules of a world's hardships, by a randomness of its own."""

    def __init__(self, hardships: frozenset[str], luck: Random) -> None:
        self._hardships, self._luck = hardships, luck
        self.accepted: list[str] = []  # jobs that may be parents

    def dress(self, draft: Draft, now: int) -> None:
        """Give a draft its rules."""
        carried: dict[str, Any] = {}
        for name, give in self._givers().items():
            if name in self._hardships:
                give(draft, carried, now)
        if carried:
            set_rules(draft, carried)

    def _givers(self) -> dict[str, Callable[[Draft, dict[str, Any], int], None]]:
        return {
            "limits": self._limits, "rates": self._rates, "breakers": self._breaker, "parents": self._parents,
            "deadlines": self._deadline, "tenants": self._tenant,
        }  # fmt: skip

    def _limits(self, draft: Draft, carried: dict[str, Any], now: int) -> None:
        luck = self._luck
        names = luck.sample(sorted(LIMITS), luck.choice((0, 1, 1, 2, 2, 3)))
        if names:
            carried["limits"] = [[name, luck.choice(("", "k")), LIMITS[name]] for name in sorted(names)]
        draft.priority = luck.choice((draft.priority, luck.randrange(-3, 4)))

    def _rates(self, draft: Draft, carried: dict[str, Any], now: int) -> None:
        names = self._luck.sample(sorted(RATES), self._luck.choice((0, 1, 1, 2)))
        if names:
            carried["rates"] = [[name, self._luck.choice(("", "k")), *RATES[name]] for name in sorted(names)]

    def _breaker(self, draft: Draft, carried: dict[str, Any], now: int) -> None:
        if draft.type in BREAKERS:
            carried["breaker"] = BREAKERS[draft.type]

    def _parents(self, draft: Draft, carried: dict[str, Any], now: int) -> None:
        if self.accepted and draft.lock is None and self._luck.random() < 0.6:
            recent = self.accepted[-6:]
            draft.after = tuple(self._luck.sample(recent, min(len(recent), self._luck.choice((1, 1, 2, 3)))))
            carried["after"] = self._luck.choice(("cancel", "run", "dead"))

    def _deadline(self, draft: Draft, carried: dict[str, Any], now: int) -> None:
        if self._luck.random() < 0.5:
            carried["start_by"] = draft.start_by = now + self._luck.randrange(100, 6_000)

    def _tenant(self, draft: Draft, carried: dict[str, Any], now: int) -> None:
        draft.tenant = self._luck.choice(sorted(TENANTS))


class Governor(Person):
    """Pauses and resumes, raises and lowers limits."""

    name = "governor"

    def act(self) -> None:
        if self._world.stage.calm:
            return
        if "pauses" in self._world.hardships:
            self._pause()
        if "changed limits" in self._world.hardships:
            self._change()

    def _pause(self) -> None:
        name = self._random.choice(PAUSES)
        paused = {rule.name for rule in self._world.store.rules(["pause"])}
        self._put(Rule("pause", name, {}, self.name, self.process.now()), name in paused or len(paused) > 2)

    def _change(self) -> None:
        name = self._random.choice(sorted(LIMITS))
        rule = Rule("limit", name, {"set": {"running": self._random.randrange(1, 4)}}, self.name, self.process.now())
        self._put(rule, self._random.random() < 0.2)

    def _put(self, rule: Rule, remove: bool) -> None:
        try:
            self._store.set_rule(rule, remove)
        except StoreError:  # cut off
            self._recorder.add(self.process, "rule", "unknown", kind=rule.kind, name=rule.name)


class Flow:
    """Flow control in one world, as its hardships say."""

    def __init__(self, world: World) -> None:
        self._world, self._luck = world, world.trouble.random
        self.used = world.hardships & FLOW.keys()
        self.drafts = RuledDrafts(world.hardships, self._luck)
        self._transactions, self._cuts = 0, False  # of the call that is made now
        if "cut short" in world.hardships:
            self._cut_calls(world.store)

    def begin(self) -> None:
        """Set the rules of queues, and let the governor come."""
        if "tenants" in self.used:
            self._set(
                Rule(
                    "queue", "default", {"set": {"fair": True, "weights": TENANTS}}, "setup", self._world.scheduler.now
                )
            )
        if "full queues" in self.used:
            self._set(Rule("queue", "other", {"set": {"max_depth": 4}}, "setup", self._world.scheduler.now))
        if self.used & {"pauses", "changed limits"}:
            Governor(self._world, self._luck).start()

    def end(self) -> None:
        """Resume all that is paused."""
        for rule in self._world.store.rules(["pause"]) if self.used else ():
            self._set(rule._replace(at=self._world.scheduler.now), remove=True)

    def _set(self, rule: Rule, remove: bool = False) -> None:
        self._world.store.set_rule(rule, remove)
        self._world.recorder.committed(self._world.supervisor, "set_rule", (rule, remove), None)

    def approve(self) -> None:
        """Decide what is in review, once the faults have stopped: other jobs may wait for it."""
        world = self._world
        for job in world.found("state:review") if "parents" in self.used else ():
            world.store.resolve_review(job, self._luck.random() < 0.7, world.scheduler.now, "supervisor", "")
            world.recorder.drain()

    # a verb of several transactions -------------------------------------------------------------------------------
    def call(self, real: Callable[..., Any], *args: Any) -> Any:
        """Make a call to the store; it may be cut off between two transactions."""
        self._transactions, self._cuts = 0, not self._world.stage.calm
        try:
            return real(*args)
        finally:
            self._cuts = False

    def _cut_calls(self, store: Any) -> None:
        real = store.single

        def single(operations: Any, by_worker: bool = False) -> Any:
            self._transactions += 1
            if self._transactions > 1 and self._cuts and self._luck.random() < CHANCE:
                self._world.recorder.drain()
                raise StoreUnavailable("simulated: cut off between two transactions of one call")
            return real(operations, by_worker)

        store.single = single

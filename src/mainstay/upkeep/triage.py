"""Dead jobs: fingerprints for those that have none, and the note that a resolved group is open again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.clock import HOUR, MINUTE
from ..core.dead import ACTOR, AGAIN, CAP, OPEN, RESOLVED
from ..core.errors import StoreError
from ..core.job import RuleChanged
from ..core.rules import TRIAGE

if TYPE_CHECKING:
    from ..core.events import Events
    from ..core.job import Rule
    from ..stores.contract import Store

CHUNK = 100  # jobs that one step gives a fingerprint


class Triage:
    """Once a minute. A job without a fingerprint died before an upgrade of the store, or under a worker that knows no fingerprints."""

    name = "triage"

    def __init__(self, store: Store, events: Events) -> None:
        self._store, self._events = store, events
        self._since = 0  # jobs that died before have their fingerprints

    def step(self, now: int) -> int:
        """Look after the dead jobs; return when to do it again."""
        try:
            missing = self._store.unprinted(self._since, CHUNK)
            if missing:
                self._print(missing)
            else:
                self._since = now - HOUR  # a worker of an older version may be late
                reopen(self._store, self._events, now)
        except StoreError as error:
            self._events.emit("store_error", error=error, wait=MINUTE)
            return MINUTE
        return 0 if len(missing) == CHUNK else MINUTE

    def _print(self, missing: list[str]) -> None:
        from ..core.fingerprint import print_of

        jobs = self._store.get_many(missing)
        self._store.set_fingerprints({job.id: print_of(job, self._store.attempts(job.id)) for job in jobs})


def reopen(store: Store, events: Events, now: int) -> None:
    """Record that resolved groups are open again in which a job has died since. Of several processes, one does."""
    resolved = {rule.name: rule for rule in store.rules([TRIAGE]) if rule.value["status"] == RESOLVED}
    if not resolved:
        return
    for count in store.dead_counts(0, CAP):
        rule = resolved.get(count.fingerprint or "")
        if rule is not None and count.last > rule.at and _set_open(store, rule, now):
            del resolved[rule.name]
            events.emit("dead_reopened", fingerprint=rule.name, type=count.type, job=count.sample)


def _set_open(store: Store, rule: Rule, now: int) -> bool:
    opened = rule._replace(value={**rule.value, "status": OPEN}, actor=ACTOR, at=now, reason=AGAIN)
    try:
        store.set_rule(opened, was=(rule,))
    except RuleChanged:
        return False
    return True

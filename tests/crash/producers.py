"""Producers: what they are about to enqueue is written down before, what they were answered after.

A producer that is killed in between leaves an unknown enqueue. Its successor sends those that have a key again, with the
same key, as a careful program would; the others must turn out to be absent or to run to their end.
"""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from mainstay import StoreError

from . import mutations
from .engines import ENGINES
from .journal import Journal, lines
from .waiting import rest
from .workload import announced, build
from .zygote import listening

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mainstay import Mainstay
    from mainstay.core.draft import Draft

    from .engines import Engine

FOREVER = "3650d"
BULK = 12
KINDS = {
    "quick": 24, "loop": 8, "slow": 8, "steps": 6, "flaky": 6, "hopeless": 3, "nap": 6, "parent": 6, "keyed": 12,
    "named": 4, "delayed": 6, "bulk": 3, "ledger": 8, "order": 8, "cancel": 4,
}  # fmt: skip
TRANSACTIONAL = ("ledger", "order")


def produce(
    folder: str, engine: str, slot: int, slots: int, seed: str, longest: float, pace: float = 0.03, broken: str = ""
) -> int:
    """A producer process that goes on where the one before it was killed, until SIGTERM."""
    mutations.apply(broken)
    store = ENGINES[engine](Path(folder))
    journal = Journal(Path(folder), f"producer-{slot}")
    past = sum(line["op"] == "enqueue" for line in lines(journal.path))
    producer = Producer(build(store, journal, slots), store, journal, f"p{slot}", past, Random(f"{seed}-{slot}-{past}"))
    producer.longest = longest
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    listening()
    producer.settle_unknown()
    while not asked.is_set():
        producer.one()
        rest(producer.random.uniform(0, 2 * pace))
    producer.settle_unknown()
    journal.write("done")
    return 0


class Producer:
    """Enqueues one thing after another."""

    longest = 0.3  # seconds a slow handler takes

    def __init__(self, app: Mainstay, engine: Engine, journal: Journal, name: str, count: int, random: Random) -> None:
        self.app, self.engine, self.journal, self.name, self.random = app, engine, journal, name, random
        self.types = {type.name: type for type in app.registry.values()}
        self.count = count
        self.recent: list[str] = []
        self.kinds = {kind: n for kind, n in KINDS.items() if engine.transactions or kind not in TRANSACTIONAL}

    def one(self) -> None:
        """Enqueue something, or cancel something."""
        kind = self.random.choices(list(self.kinds), list(self.kinds.values()))[0]
        if kind == "cancel":
            self.cancel()
            return
        self.count += 1
        item = f"{self.name}-{self.count}"
        if kind == "bulk":
            self.bulk([f"{item}-{n}" for n in range(BULK)])
        else:
            self.send(kind, item, self.payload(kind, item))

    def payload(self, kind: str, item: str) -> dict[str, Any]:
        """What the handler is given."""
        timed = kind in ("slow", "steps", "loop", "parent", "ledger")
        return {"item": item, "seconds": round(self.random.uniform(0, self.longest), 3)} if timed else {"item": item}

    def send(self, kind: str, item: str, payload: dict[str, Any]) -> None:
        """One enqueue, written down before and after."""
        delay = self.random.randrange(100, 800) if kind == "delayed" else 0
        draft = self.draft(kind, item, payload, delay)
        answers = self.accept(kind, [item], [draft], payload=payload, delay=delay)
        self.recent = [*self.recent[-20:], *answers]

    def draft(self, kind: str, item: str, payload: dict[str, Any], delay: int) -> Draft:
        """The job, in the way of its kind."""
        if kind == "keyed":
            return self.types["quick"].options(key=item, period=FOREVER).prepare(**payload)
        if kind == "delayed":
            return self.types["quick"].options(delay=delay / 1000).prepare(**payload)
        return self.app._draft("quick", payload, {}) if kind == "named" else self.types[kind].prepare(**payload)

    def bulk(self, items: list[str]) -> None:
        """Many jobs, all or none."""
        self.accept("bulk", items, [self.types["quick"].prepare(item) for item in items])

    def accept(self, kind: str, items: list[str], drafts: list[Draft], **fields: Any) -> list[str]:
        """Enqueue, with a line before and a line after; answers the ids, or nothing when nobody can know."""
        ids = [draft.id for draft in announced(drafts, self.journal, kind, items, **fields)]
        try:
            handles = self.order(items[0], drafts) if kind == "order" else self.app.enqueue_many(drafts)
        except (StoreError, *self.engine.errors) as error:
            self.journal.write("refused", items=items, ids=ids, error=f"{type(error).__name__}: {error}")
            return []
        answers = [handle.id for handle in handles]
        self.journal.write(
            "acked", items=items, ids=ids, answers=answers, created=[handle.created for handle in handles]
        )
        return answers

    def order(self, item: str, drafts: list[Draft]) -> list[Any]:
        """A row of the user's own and a job, in one transaction."""
        with self.engine.transaction() as tx:
            self.engine.order(tx, item)
            return self.app.enqueue_many(drafts, tx=tx)

    def cancel(self) -> None:
        """Cancel something that was enqueued a moment ago."""
        if not self.recent:
            return
        job = self.random.choice(self.recent)
        self.journal.write("cancel", job=job)
        try:
            answer = self.app.store.cancel([job], self.app.clock.now(), self.name)[job]
        except StoreError as error:
            answer = f"{type(error).__name__}: {error}"
        self.journal.write("cancelled", job=job, answer=answer)

    def settle_unknown(self) -> None:
        """Send again, with their keys, the enqueues whose answer nobody got."""
        for item, payload in unknown(lines(self.journal.path)).items():
            self.send("keyed", item, payload)


def unknown(past: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The enqueues with a key that were begun and never answered: their payloads by item."""
    begun: dict[str, dict[str, Any]] = {}
    for line in past:
        if line["op"] == "enqueue" and line["kind"] == "keyed":
            begun[line["items"][0]] = line["payload"]
        elif line["op"] == "acked":
            begun.pop(line["items"][0], None)
    return begun

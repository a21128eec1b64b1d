"""The work under which processes are killed: handlers of every kind, each attempt written down by the handler itself.

Roles for the zygote: `work` is a worker process. Producers are in `producers`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mainstay import Mainstay, Retry, Snooze, ctx
from mainstay.core.ids import IDS
from mainstay.core.outcome import INTERRUPTED

from . import mutations
from .engines import ENGINES
from .journal import GIVEN_UP, Journal
from .waiting import rest
from .zygote import listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mainstay.core.decide import Transition
    from mainstay.core.draft import Draft

    from .engines import Engine

KEEN = Retry(attempts=30, base="20ms", cap="200ms")
SHORT = Retry(attempts=2, base="20ms")
NAPS = 2
CHILDREN = 2


def work(
    folder: str, engine: str, slot: int, slots: int, lease: str | None = None, concurrency: int = 4, broken: str = ""
) -> int:
    """A worker process that serves the common queue and a probe queue of its own."""
    mutations.apply(broken)
    store = ENGINES[engine](Path(folder))
    journal = Journal(Path(folder), f"worker-{slot}")
    app = build(store, journal, slots)
    listen(app, journal)
    options = {} if lease is None else {"lease": lease}
    worker = app.worker(concurrency=concurrency, queues=["default", probe_queue(slot)], **options)
    app.events.on("worker_started", lambda worker: listening())
    journal.write("up", worker=worker.id)
    code = worker.run()
    journal.write("down", worker=worker.id)
    return code


def probe_queue(slot: int) -> str:
    """The queue that only the worker in this place serves."""
    return f"probe-{slot}"


class Recorder:
    """Writes down the start and the end of every attempt."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @contextmanager
    def __call__(self, item: str) -> Iterator[int]:
        job = ctx.job
        self._journal.write("start", job=job.id, token=job.token, attempt=job.attempt, type=job.type, item=item)
        ended = "returned"
        try:
            yield job.token
        except BaseException as error:
            ended = type(error).__name__
            raise
        finally:
            self._journal.write("end", job=job.id, token=job.token, type=job.type, item=item, how=ended)


def build(engine: Engine, journal: Journal, slots: int) -> Mainstay:
    """The application: every kind of handler, and one probe for each worker's place."""
    app = Mainstay(engine.url)
    attempt = Recorder(journal)
    plain_jobs(app, attempt)
    failing_jobs(app, attempt)
    families(app, attempt, journal)
    if engine.transactions:
        transactional_jobs(app, attempt, engine)
    for slot in range(slots):
        probe(app, attempt, slot)
    return app


def plain_jobs(app: Mainstay, attempt: Recorder) -> None:
    """Jobs that succeed at once or after a while, on a thread or on the loop."""

    @app.job(retry=KEEN)
    def quick(item: str) -> dict[str, int]:
        with attempt(item) as token:
            return {"token": token}

    @app.job(retry=KEEN)
    async def loop(item: str, seconds: float) -> dict[str, int]:
        with attempt(item) as token:
            await asyncio.sleep(seconds)
            return {"token": token}

    @app.job(retry=KEEN)
    def slow(item: str, seconds: float) -> dict[str, int]:
        with attempt(item) as token:
            rest(seconds)
            return {"token": token}

    @app.job(retry=KEEN)
    def steps(item: str, seconds: float) -> dict[str, int]:
        with attempt(item) as token:
            for step in range(ctx.checkpoint.get("step", 0), 4):
                rest(seconds / 4)
                ctx.progress(step + 1, 4)
                ctx.save(step=step + 1)
            return {"token": token}


def failing_jobs(app: Mainstay, attempt: Recorder) -> None:
    """Jobs that fail at first, fail always, take their worker down with them, or are put off."""

    @app.job(retry=KEEN)
    def flaky(item: str) -> dict[str, int]:
        with attempt(item) as token:
            if ctx.attempt < 3:
                raise ConnectionError("not yet")
            return {"token": token}

    @app.job(retry=SHORT)
    def hopeless(item: str) -> None:
        with attempt(item):
            raise ValueError("never")

    @app.job(retry=KEEN)
    def killer(item: str) -> None:
        with attempt(item):
            os.kill(os.getpid(), signal.SIGKILL)

    @app.job(retry=KEEN)
    def nap(item: str) -> dict[str, int]:
        with attempt(item) as token:
            naps = ctx.checkpoint.get("naps", 0)
            if naps < NAPS:
                ctx.save(naps=naps + 1)
                raise Snooze("50ms")
            return {"token": token}


def families(app: Mainstay, attempt: Recorder, journal: Journal) -> None:
    """Jobs that have children if and only if they complete."""

    @app.job(retry=KEEN)
    def child(item: str) -> dict[str, int]:
        with attempt(item) as token:
            return {"token": token}

    @app.job(retry=KEEN)
    def parent(item: str, seconds: float) -> dict[str, int]:
        with attempt(item) as token:
            rest(seconds)
            items = [f"{item}.{n}" for n in range(CHILDREN)]
            ctx.enqueue(
                *announced([child.prepare(name) for name in items], journal, "child", items, parent=ctx.id, token=token)
            )
            return {"token": token}


def announced(drafts: list[Draft], journal: Journal, kind: str, items: list[str], **fields: Any) -> list[Draft]:
    """The drafts, each with an id, written down before anyone has sent them."""
    for draft in drafts:
        draft.id = IDS.new(time.time_ns() // 1_000_000)
    journal.write("enqueue", kind=kind, items=items, ids=[draft.id for draft in drafts], **fields)
    return drafts


def transactional_jobs(app: Mainstay, attempt: Recorder, engine: Engine) -> None:
    """Jobs whose row and whose completion are one transaction, and jobs that were enqueued together with a row."""

    @app.job(retry=KEEN)
    def ledger(item: str, seconds: float) -> None:
        with attempt(item) as token:
            rest(seconds)
            with engine.transaction() as tx:
                engine.book(tx, item, ctx.id, token)
                ctx.complete_in(tx, {"token": token})

    @app.job(retry=KEEN)
    def order(item: str) -> dict[str, int]:
        with attempt(item) as token:
            return {"token": token}


def probe(app: Mainstay, attempt: Recorder, slot: int) -> None:
    """A job that only the worker in this place can run: proves in the end that it still works."""

    @app.job(name=f"probe-{slot}", queue=probe_queue(slot), retry=KEEN)
    def probe(item: str) -> dict[str, int]:
        with attempt(item) as token:
            return {"token": token}


def ending(transition: Transition) -> str:
    """Return how an attempt ended; one that was given up with its lease is told apart: its handler stops when it sees that."""
    return GIVEN_UP if transition.error == INTERRUPTED.error else transition.outcome


def listen(app: Mainstay, journal: Journal) -> None:
    """Write down what the worker is told: what it holds, and what became of each outcome that it or its sweep sent."""
    store = app.store
    claim, finish = store.claim, store.finish

    def verdicts(transitions: Any, answers: list[str]) -> None:
        told = [[t.id, t.token, t.state, ending(t), answer] for t, answer in zip(transitions, answers, strict=True)]
        if told:
            journal.write("verdicts", jobs=told)

    def claimed(worker: str, wants: Any, limit: int, now: int, finishing: Any = (), updates: Any = ()) -> Any:
        claims = claim(worker, wants, limit, now, finishing, updates)
        verdicts(finishing, claims.verdicts)
        return claims

    def finished(transitions: Any, updates: Any = ()) -> list[str]:
        answers = finish(transitions, updates)
        verdicts(transitions, answers)
        return answers

    def taken(jobs: Any) -> None:
        journal.write("claimed", worker=jobs[0].worker, jobs=[[job.id, job.token] for job in jobs])

    store.claim, store.finish = claimed, finished  # type: ignore[method-assign]
    app.events.on("claimed", taken)  # by a claim, with a ring, or found after an answer was lost
    app.events.on("lease_lost", lambda worker: journal.write("lease_lost", worker=worker))
    app.events.on(
        "store_error", lambda error, wait: journal.write("store_error", error=f"{type(error).__name__}: {error}")
    )

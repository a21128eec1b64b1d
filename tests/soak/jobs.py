"""The application of the soak: a handler of every kind, each attempt written to the journal of its process."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mainstay import Mainstay, Retry, Review, Snooze, ctx
from tests.crash.journal import Journal
from tests.crash.waiting import rest
from tests.soak.kinds import ENDLESS

if TYPE_CHECKING:
    from collections.abc import Iterator

KEEP = "20s"
FAST = Retry(attempts=5, base="20ms", cap="100ms")
TWICE = Retry(attempts=2, base="20ms")
LINES, LARGE = 2_000, 1_500_000  # log lines of a chatty job; characters of a large result

app = Mainstay()
journal = Journal(Path(os.environ["SOAK_FOLDER"]), f"handlers-{os.getpid()}")


@contextmanager
def attempt(item: str) -> Iterator[None]:
    """Write down the start and the end of an attempt."""
    told = {"job": ctx.job.id, "token": ctx.job.token, "kind": ctx.job.type, "item": item}
    journal.write("start", **told)
    how = "returned"
    try:
        yield
    except BaseException as error:
        how = type(error).__name__
        raise
    finally:
        journal.write("end", how=how, **told)


# Handlers that succeed ------------------------------------------------------------------------------------------------
@app.job(keep=KEEP, retry=FAST)
def quick(item: str) -> None:
    with attempt(item):
        pass


@app.job(keep=KEEP, retry=FAST)
def unique(item: str) -> None:
    with attempt(item):
        rest(0.02)


@app.job(keep=KEEP, retry=FAST)
async def awaited(item: str) -> dict[str, str]:
    with attempt(item):
        await asyncio.sleep(0.1)
        return {"item": item}


@app.job(keep=KEEP, retry=FAST)
def chatty(item: str) -> None:
    with attempt(item):
        for number in range(LINES):
            ctx.log("a line of a handler that talks a lot", number=number)


@app.job(keep="5s", retry=FAST)
def large(item: str) -> str:
    with attempt(item):
        return "x" * LARGE


@app.job(keep=KEEP, retry=FAST, process=True)
def separate(item: str) -> int:
    with attempt(item):
        return sum(range(100_000))


@app.job(keep=KEEP, retry=FAST)
def steps(item: str) -> None:
    with attempt(item), ctx.stage("work"):
        for step in range(4):
            rest(0.02)
            ctx.progress(step + 1, 4)
            ctx.save(step=step + 1)


@app.job(keep=KEEP, retry=FAST)
def child(item: str) -> None:
    with attempt(item):
        pass


@app.job(keep=KEEP, retry=FAST)
def parent(item: str) -> None:
    with attempt(item):
        items = [f"{item}.{number}" for number in range(2)]
        journal.write("asked", items=items, parent=item)
        ctx.enqueue(*(child.prepare(each) for each in items))


# Handlers that are put off, decided by a person, or fail -------------------------------------------------------------
@app.job(keep=KEEP, retry=FAST)
def reviewed(item: str) -> None:
    with attempt(item):
        raise Review("please look", output={"item": item})


@app.job(keep=KEEP, retry=FAST)
def reviewed_parent(item: str) -> None:
    """Is approved, so its children run."""
    with attempt(item):
        journal.write("asked", items=[f"{item}.child"], parent=item)
        ctx.enqueue(child.prepare(f"{item}.child"))
        raise Review("please look")


@app.job(keep=KEEP, retry=FAST)
def rejected_parent(item: str) -> None:
    """Is rejected: a child of it that runs was never accepted."""
    with attempt(item):
        ctx.enqueue(child.prepare(f"{item}.child"))
        raise Review("please look")


@app.job(keep=KEEP, retry=FAST)
def napping(item: str) -> None:
    with attempt(item):
        naps = ctx.checkpoint.get("naps", 0)
        if naps < 2:
            ctx.save(naps=naps + 1)
            raise Snooze("50ms")


@app.job(keep=KEEP, retry=FAST)
def flaky(item: str) -> None:
    with attempt(item):
        if ctx.attempt < 3:
            raise ConnectionError("not yet")


@app.job(timeout="1s", retry=TWICE)
def overrun(item: str) -> None:
    """Runs past its time limit, and stops at a safe point."""
    with attempt(item):
        while True:
            rest(0.02)
            ctx.check()


@app.job(timeout="1s", retry=TWICE)
async def overrun_async(item: str) -> None:
    with attempt(item):
        await asyncio.sleep(30)


# Handlers that never end ----------------------------------------------------------------------------------------------
def run_for_ever(item: str) -> None:
    """Write a line every moment, so that the audit knows until when the attempt ran."""
    with attempt(item):
        while True:
            rest(0.1)
            journal.write("alive", item=item, token=ctx.job.token)


@app.job(timeout="3s", retry=TWICE, process=True)  # enough to begin, and write that down, on a busy machine
def endless_process(item: str) -> None:
    run_for_ever(item)


@app.job(timeout="1s", retry=TWICE, queue=ENDLESS)
def endless(item: str) -> None:
    """Keeps its thread until the supervisor replaces the process."""
    run_for_ever(item)

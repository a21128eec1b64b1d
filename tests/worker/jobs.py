"""The program under test: `conftest` copies it beside a database of its own, where workers and their processes find it.

Handlers tell what they do in a journal and wait at gates, both of them files beside the database.
"""

import asyncio
import ctypes
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path

from mainstay import Mainstay, Retry, Review, ctx, transient

HERE = Path(__file__).parent
ONCE = Retry(1)
AT_ONCE = Retry(3, base="1ms", jitter=False)
PATIENCE = 60.0

URL = HERE / "url"

app = Mainstay(URL.read_text(encoding="utf-8") if URL.exists() else f"sqlite:///{HERE / 'jobs.db'}")
app.store.sweep_interval = int(os.environ.get("SWEEP", "500"))


def mark(*words):
    """One line in the journal, whole even if several processes write."""
    line = " ".join(map(str, words)) + "\n"
    descriptor = os.open(HERE / "journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def wait_at(gate):
    """Block until the test opens the gate; when asked to stop, only write that."""
    pause, told = threading.Event(), False
    for _ in range(int(PATIENCE / 0.01)):
        if (HERE / gate).exists():
            return
        if ctx.cancelled and not told:
            told = mark("told", gate) is None
        pause.wait(0.01)
    raise TimeoutError(f"nobody opened {gate}")


# plain, async, process: the same three kinds of the same thing


@app.job(retry=ONCE)
def plain(gate: str = "") -> str:
    mark("started plain", gate)
    if gate:
        wait_at(gate)
    mark("ended plain", gate)
    return "plain"


@app.job(retry=ONCE)
async def asynchronous(gate: str = "") -> str:
    mark("started asynchronous", gate)
    try:
        if gate:
            await asyncio.to_thread(wait_at, gate)
    except asyncio.CancelledError:
        mark("interrupted asynchronous")
        raise
    mark("ended asynchronous", gate)
    return "asynchronous"


@app.job(retry=ONCE, on_timeout="abandon")
def abandoned(gate: str = "") -> str:
    mark("started abandoned", gate)
    if gate:
        wait_at(gate)
    mark("ended abandoned", gate)
    return "abandoned"


@app.job(retry=ONCE)
async def stubborn(gate: str) -> str:
    """Swallows every request to stop."""
    mark("started stubborn")
    while not (HERE / gate).exists():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            mark("told stubborn")
    mark("ended stubborn")
    return "stubborn"


@app.job(retry=ONCE, on_timeout="abandon")
async def forgotten() -> None:
    """Swallows every request to stop, and so does a task that it starts."""
    mark("started forgotten")
    background = asyncio.create_task(stubborn.function("late"))
    await stubborn.function("late")
    await background


@app.job(retry=ONCE)
async def blocks(gate: str) -> None:
    mark("started blocks")
    wait_at(gate)


@app.job(retry=ONCE)
async def tidies() -> None:
    mark("started tidies")
    try:
        await asyncio.sleep(PATIENCE)
    finally:
        await asyncio.sleep(0.3)
        mark("tidied")


@app.job(
    retry=ONCE, process=True, aliases=["apart"], version=2, upgrades={1: lambda old: {"gate": old.get("door", "")}}
)
def separate(gate: str = "") -> str:
    mark("started separate", gate, os.getpid())
    if gate:
        wait_at(gate)
    mark("ended separate", gate)
    return "separate"


# what can go wrong in a process


@app.job(retry=ONCE, process=True)
def die(how: str) -> None:
    mark("dying", os.getpid())
    if how == "exit 0":
        os._exit(0)
    if how == "exit 3":
        os._exit(3)
    if how == "SIGKILL":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "SIGSEGV":
        ctypes.string_at(0)
    if how == "no pipe":
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))


class Strange(BaseException):
    """Not an Exception."""


@app.job(retry=ONCE, process=True)
def give_up(how: str) -> None:
    raise {"SystemExit": SystemExit(0), "Strange": Strange("very"), "KeyboardInterrupt": KeyboardInterrupt()}[how]


@app.job(retry=ONCE, process=True)
def big(size: int) -> str:
    return "x" * size


@app.job(retry=ONCE, process=True)
def talk() -> str:
    print('{"outcome": "printed"}')
    sys.__stdout__.write("written\n")
    os.write(1, b'{"note": "raw"}\n')
    subprocess.run(["echo", "echoed"], check=True)
    return f"read {sys.stdin.read()!r}"


@app.job(retry=ONCE, process=True)
def forks() -> str:
    copy = os.fork()
    if copy == 0:
        ctx.log("said by the copy")
        return "the copy's answer"  # as a careless handler would
    os.waitpid(copy, 0)
    return "the original's answer"


@app.job(retry=ONCE)
def forks_in_a_thread() -> int:
    copy = os.fork()
    return os.waitpid(copy, 0)[1] if copy else -1


@app.job(retry=ONCE)
async def forks_in_a_task() -> int:
    copy = os.fork()
    return os.waitpid(copy, 0)[1] if copy else -1  # noqa: ASYNC222  (the copy ends at once)


@app.job(retry=ONCE, process=True)
def forks_in_c() -> None:
    """The copy runs none of Python's hooks, so it holds the pipes open when the original is gone."""
    c = ctypes.CDLL(None)
    copy = c.fork()
    if copy == 0:
        c.pause()
    mark("copied", copy)
    os._exit(5)


@app.job(retry=ONCE, process=True)
def starts_another(gate: str, own_session: bool = False) -> None:
    program = subprocess.Popen(["sleep", "60"], start_new_session=own_session)
    mark("program", program.pid)
    wait_at(gate)


@app.job(retry=ONCE, process=True)
def stops_another() -> int:
    program = subprocess.Popen(["sleep", "60"])
    program.terminate()
    return program.wait()


@app.job(retry=ONCE, process=True)
def surroundings() -> dict:
    links = [str(link.readlink()) for link in list(Path("/proc/self/fd").iterdir()) if link.is_symlink()]
    kept = {name: value for name, value in os.environ.items() if "PYTHONPATH" in name}
    return {"files": links, "environment": kept, "pid": os.getpid(), "path": sys.path}


# what a process slot shares with the other kinds


@app.job(retry=ONCE, process=True)
def family(names: list[str]) -> int:
    ctx.log("raising", level="warning", count=len(names))
    ctx.progress(1, 2)
    ctx.enqueue(*(child.options(tags=["born"], priority=3).prepare(name) for name in names))
    return len(names)


@app.job
def child(name: str) -> str:
    return name


@app.job(retry=AT_ONCE, process=True)
def resumes() -> list[int]:
    seen = ctx.checkpoint.get("n", 0)
    if seen < 2:
        ctx.save(n=seen + 1)
        raise ValueError("not yet")
    return [ctx.attempt, seen]


@app.job(retry=ONCE, process=True)
def asks() -> None:
    raise Review("unsure", output={"guess": 7})


@app.job(retry=ONCE, process=True)
def with_my_data(commit: bool) -> None:
    connection = sqlite3.connect(HERE / "jobs.db", timeout=10)
    connection.execute("CREATE TABLE IF NOT EXISTS mine (n)")
    connection.commit()
    connection.execute("INSERT INTO mine VALUES (1)")
    ctx.complete_in(connection, {"rows": 1})
    if commit:
        connection.commit()
    connection.close()


@app.job(retry=ONCE, process=True)
def polite() -> None:
    """Stops at a safe point, and says so."""
    mark("started polite", os.getpid())
    try:
        pages(0)
    finally:
        mark("tidied up")


@app.job(retry=AT_ONCE)
def reads() -> int:
    return pages(ctx.checkpoint.get("page", 0))


@app.job(retry=AT_ONCE, process=True)
def reads_separately() -> int:
    return pages(ctx.checkpoint.get("page", 0))


# cancelled while they run


@app.job(retry=ONCE, process=True)
def sleeps_apart() -> None:
    """Reaches no safe point, but cleans up."""
    mark("started sleeps_apart", os.getpid())
    try:
        threading.Event().wait(PATIENCE)
    finally:
        mark("tidied up")


@app.job(retry=ONCE)
def goes_on() -> str:
    """Is told to stop, and returns all the same."""
    ctx.enqueue(child.prepare("of the cancelled"))
    mark("started goes_on")
    try:
        pages(0)
    except BaseException as error:  # noqa: BLE001  (what careless handlers do)
        mark("caught", type(error).__name__)
    return "done"


@app.job(retry=AT_ONCE)
async def cleans_up_badly() -> None:
    mark("started cleans_up_badly")
    try:
        await asyncio.sleep(PATIENCE)
    finally:
        raise OSError("the disk is full")


def pages(start: int) -> int:
    """Goes on until the gate `enough` is open; every page is a safe point."""
    page, pause = start, threading.Event()
    mark("from page", start)
    while not (HERE / "enough").exists():
        page += 1
        ctx.save(page=page)
        mark("page", page)
        pause.wait(0.01)
    return page


# timeouts, shutdown, GIL


@app.job(retry=ONCE)
def fails(gate: str) -> None:
    mark("started fails")
    wait_at(gate)
    raise ValueError("on its own")


@app.job
def counts(n: int) -> None:
    mark("did", n)


@app.job(retry=AT_ONCE)
def holds_the_gil(seconds: float) -> int:
    """Blocks every thread of its process: PyDLL calls C without letting go of the interpreter's lock.

    Not while one of them is in the middle of a write: that would lock everyone out of the database, not only this worker.
    """
    mark("started", ctx.job.token, os.getpid())
    with nullcontext() if app.store.remote else app.store.db._lock:
        ctypes.PyDLL(None).usleep(ctypes.c_uint(int(seconds * 1e6) if ctx.job.token == 1 else 0))
    mark("ended", ctx.job.token, os.getpid())
    return ctx.job.token


@app.job(retry=ONCE, process=True)
def freezes() -> None:
    mark("started freezes", os.getpid())
    ctypes.PyDLL(None).pause()


@app.job
def kills_its_worker() -> None:
    mark("killing", os.getpid())
    os._exit(9)


@app.job
def whoami() -> int:
    return os.getpid()


def facts() -> dict:
    """Everything that `ctx` knows about its job."""
    names = ("id", "type", "queue", "attempt", "max_attempts", "priority", "tenant", "ref", "key", "tags", "parent")
    return {name: getattr(ctx, name) for name in names} | {"created_at": ctx.created_at.isoformat()}


@app.job(tags=["of-type"])
def knows() -> dict:
    return facts()


@app.job(tags=["of-type"])
async def knows_async() -> dict:
    return facts()


@app.job(tags=["of-type"], process=True)
def knows_separately() -> dict:
    return facts()


class Limited(Exception):
    """As an HTTP client raises it."""

    status_code = 429


@app.job(retry=Retry(2, base="1ms", when=transient))
def limited(last: int) -> None:
    raise Limited if ctx.attempt == 1 else type("Refused", (Exception,), {"status": last})("no")


@app.job(retry=Retry(2, base="1ms", when=transient), process=True)
def limited_separately(last: int) -> None:
    raise Limited if ctx.attempt == 1 else type("Refused", (Exception,), {"status": last})("no")


@app.job(retry=Retry(2, base="1ms", when=transient))
async def limited_async(last: int) -> None:
    raise Limited if ctx.attempt == 1 else type("Refused", (Exception,), {"status": last})("no")


@app.job(batch=8, wait="50ms", retry=AT_ONCE)
def together(items: list[str]) -> list[str]:
    """Waits at the gate that each of its items names."""
    mark("started together", len(items), os.getpid())
    for gate in set(filter(None, items)):
        wait_at(gate)
    mark("ended together", len(items))
    return items

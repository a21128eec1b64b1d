"""The public API as users write it. Never run: mypy and basedpyright read it (`python3 dev.py check`).

Right uses have no mark. Every wrong use carries two: `type: ignore[…]` for mypy and `pyright: ignore[…]` for pyright.
Both checkers report a mark that suppresses nothing, so each mark is also a test that the mistake is seen, by both.
"""

import sqlite3
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict, assert_type

from mainstay import (
    Breaker,
    Cancel,
    Conflict,
    Draft,
    DuplicateKey,
    Handle,
    InvalidPayload,
    Job,
    JobEvent,
    JobFailed,
    Limit,
    Mainstay,
    MainstayError,
    ManualClock,
    NotFound,
    Permanent,
    QueueFull,
    ResultTimeout,
    Retry,
    Review,
    Snooze,
    StoreError,
    TypeDisabled,
    by,
    by_payload,
    ctx,
    transient,
)
from mainstay.control.records import Change, LimitRecord, QueueRecord, TypeRecord, Why
from mainstay.handlers import files
from mainstay.testing import Kit, Trial

app = Mainstay("sqlite:///jobs.db")
Mainstay()
Mainstay("sqlite:///:memory:", clock=ManualClock())
Mainstay(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@dataclass
class Picture:
    path: str
    width: int = 800


class Address(TypedDict):
    street: str
    town: str


# Define: with and without options, plain and async -----------------------------------------------------------------------


@app.job
def resize(path: str, width: int = 800) -> str:
    return f"{path} {width}"


@app.job(queue="images", priority=5, retry=Retry(5, base="2s", cap="1h", never=(ValueError,)), timeout="5m", keep="7d")
def thumbnail(picture: Picture, *, square: bool = False) -> Picture:
    return picture


@app.job
async def extract(doc_id: int, tenant: str) -> dict[str, int]:
    return {"pages": doc_id + len(tenant)}


@app.job(name="mail.send", retry=3, timeout=timedelta(minutes=1), keep=None, tags=["mail"], stages=["render", "send"])
async def send(to: list[str], address: Address | None = None) -> None:
    ctx.log("sent", to=len(to))


@app.job(process=True, timeout=None)
def crunch(rows: int) -> None: ...


@app.job(quue="mail")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]
def misspelt_option() -> None: ...


@app.job(priority="high")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportArgumentType]
def wrong_option() -> None: ...


# Call: a plain call stays a plain call ------------------------------------------------------------------------------------

assert_type(resize("a.png"), str)
assert_type(resize("a.png", width=300), str)
assert_type(thumbnail(Picture("a.png"), square=True), Picture)
coroutine = assert_type(extract(7, tenant="acme"), Coroutine[Any, Any, dict[str, int]])

resize(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
resize("a.png", widht=300)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def call_directly() -> None:
    assert_type(await extract(7, tenant="acme"), dict[str, int])
    len(extract(7, "acme"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# Enqueue ------------------------------------------------------------------------------------------------------------------

assert_type(resize.enqueue("a.png"), Handle[str])
assert_type(resize.enqueue(path="a.png", width=300), Handle[str])
assert_type(thumbnail.enqueue(Picture("a.png"), square=True), Handle[Picture])
assert_type(extract.enqueue(7, tenant="acme"), Handle[dict[str, int]])
assert_type(send.enqueue(["a@b.c"], {"street": "Main St", "town": "Ely"}), Handle[None])

resize.enqueue()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
resize.enqueue(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
resize.enqueue("a.png", "300")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
resize.enqueue("a.png", widht=300)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
resize.enqueue("a.png", 300, 200)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
resize.enqueue("a.png", delay="5m")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
thumbnail.enqueue("a.png")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
thumbnail.enqueue(Picture("a.png"), True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
send.enqueue(["a@b.c"], {"street": "Main St"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
resize.delay("a.png")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def enqueue_awaited() -> None:
    assert_type(await resize.aenqueue("a.png"), Handle[str])
    assert_type(await extract.aenqueue(7, tenant="acme"), Handle[dict[str, int]])
    await resize.aenqueue(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await resize.enqueue("a.png")  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    resize.aenqueue("a.png")  # type: ignore[unused-coroutine]  # pyright: ignore[reportUnusedCoroutine]
    resize.aenqueue("a.png").id  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


# Options keep the argument types -------------------------------------------------------------------------------------------

soon = resize.options(delay="5m", priority=5, key="a.png", tags=["eu"], tenant="acme", ref="photo/7")
assert_type(soon.enqueue("a.png", width=300), Handle[str])
assert_type(soon.prepare("a.png"), Draft)
assert_type(extract.options(delay=90).enqueue(7, tenant="acme"), Handle[dict[str, int]])
resize.options(delay=timedelta(minutes=5), retry=Retry.fixed(3, every="10s"), timeout=None, keep=None)
resize.options(at=datetime.now(UTC), unique="start", on_conflict="replace", queue="images")
resize.options(at="2030-01-31T09:30:00+00:00", tx=sqlite3.connect("jobs.db"))
resize.options(tx="django:shop").enqueue("a.png")
resize.options(key=by("path", "width"), unique="forever").enqueue("a.png")
resize.options(key=by_payload, period="1h").enqueue("a.png")
assert_type(resize.debounce("5s", key="a").enqueue("a.png"), Handle[str])
assert_type(resize.throttle(60, key=by("path"), priority=1).enqueue("a.png"), Handle[str])
assert_type(app.forget_key("resize", "a", actor="ada"), str)
resize.options(key=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
by(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

resize.options(dealy="5m")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
resize.options("5m")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
resize.options(priority="high")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
resize.options(delay=datetime.now(UTC))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
resize.options(unique="never")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
resize.options(on_conflict="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
soon.enqueue(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
soon.enqueue("a.png", widht=300)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
soon.prepare(width=300)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def options_awaited() -> None:
    assert_type(await soon.aenqueue("a.png"), Handle[str])
    await soon.aenqueue("a.png", width="300")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# Prepare, bulk, by name -----------------------------------------------------------------------------------------------------

assert_type(resize.prepare("a.png"), Draft)
assert_type(app.enqueue_many(resize.prepare(str(n)) for n in range(10)), list[Handle[Any]])
assert_type(app.enqueue_many([resize.prepare("a.png"), extract.prepare(7, "acme")]), list[Handle[Any]])
assert_type(app.enqueue(resize.prepare("a.png")), Handle[Any])
assert_type(app.enqueue("resize", {"path": "a.png"}, delay="5m", key="a.png"), Handle[Any])

resize.prepare(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
resize.prepare("a.png", widht=300)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
app.enqueue_many([resize.enqueue("a.png")])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
app.enqueue_many(resize.prepare("a.png"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
app.enqueue(resize)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
app.enqueue("resize", "a.png")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
app.enqueue("resize", {"path": "a.png"}, dealy="5m")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
app.enqueue("resize", {"path": "a.png"}, priority="high")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def bulk_awaited() -> None:
    assert_type(await app.aenqueue("resize", {"path": "a.png"}), Handle[Any])
    assert_type(await app.aenqueue_many([resize.prepare("a.png")]), list[Handle[Any]])
    await app.enqueue("resize", {"path": "a.png"})  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]


# Handles: the result has the handler's type, also of an async handler --------------------------------------------------------

handle = resize.enqueue("a.png")
assert_type(handle.id, str)
assert_type(handle.created, bool)
assert_type(handle.state, str)
assert_type(handle.job(), Job)
assert_type(handle.result(), str)
assert_type(handle.result(timeout="30s"), str)
assert_type(handle.cancel(), str)
assert_type(extract.enqueue(7, "acme").result(timeout=30), dict[str, int])

total: int = handle.result() + 1  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
extract.enqueue(7, "acme").result().upper()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
handle.result(timeout=[30])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
handle.resutl()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def results_awaited() -> None:
    assert_type(await handle.aresult(), str)
    assert_type(await (await extract.aenqueue(7, "acme")).aresult(timeout="5s"), dict[str, int])
    await handle.result()  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    handle.aresult().upper()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def errors() -> str:
    try:
        return handle.result(timeout=1)
    except ResultTimeout:
        return "later"
    except JobFailed as failed:
        return failed.state + failed.job_id
    except DuplicateKey as taken:
        return taken.existing
    except (Conflict, InvalidPayload, NotFound, StoreError, MainstayError) as error:
        return str(error)


# Inside a handler -------------------------------------------------------------------------------------------------------------


@app.job
def inside(con: str) -> dict[str, Any] | None:
    assert_type(ctx.id, str)
    assert_type(ctx.attempt, int)
    assert_type(ctx.cancelled, bool)
    assert_type(ctx.checkpoint, dict[str, Any])
    ctx.log("read", level="warning", page=3)
    ctx.progress(3, 10)
    with ctx.stage("read"):
        ctx.save(page=4)
    ctx.check()
    ctx.enqueue(resize.prepare("a.png"), extract.prepare(7, "acme"))
    assert_type(ctx.complete_in(sqlite3.connect(con), {"pages": 4}), None)
    ctx.log("read", level="loud")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ctx.progress("half")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ctx.save({"page": 4})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    ctx.enqueue(resize.enqueue("a.png"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ctx.logg("read")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    return None


@app.job
async def inside_awaited(con: str) -> None:
    await ctx.acomplete_in(con, {"pages": 4})
    ctx.acomplete_in(con)  # type: ignore[unused-coroutine]  # pyright: ignore[reportUnusedCoroutine]
    ctx.complete_in()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def in_a_transaction(session: object) -> None:
    assert_type(await app.aenqueue("resize", {"path": "a.png"}, tx=session), Handle[Any])
    assert_type(await app.aenqueue_many([resize.prepare("a.png")], tx=session), list[Handle[Any]])
    assert_type(await app.acancel("01J", tx=session), str)
    assert_type(await resize.options(tx=session).aenqueue("a.png"), Handle[str])
    assert_type(app.cancel("01J", tx=session, actor="ada"), str)
    assert_type(await handle.acancel(tx=session), str)
    assert_type(handle.cancel(tx=session), str)
    app.retry("01J", tx=session)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def signals(which: int) -> None:
    if which == 1:
        raise Snooze("30s", "the printer is busy")
    if which == 2:
        raise Review("3 fields uncertain", output={"total": 7})
    if which == 3:
        raise Cancel("nobody wants it")
    if which == 4:
        raise Snooze  # type: ignore[call-arg]  # pyright: ignore[reportGeneralTypeIssues]
    raise Permanent("no such customer", code="no-customer")


Retry(5, base="2s", on=(TimeoutError, ConnectionError))
Retry(on=ValueError)
Retry(when=transient)
Retry(when=lambda error: "429" in str(error))
Retry(when="transient")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Retry("5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Retry(times=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Retry(never=("ValueError",))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# Look, operate, run -------------------------------------------------------------------------------------------------------------

assert_type(app.get("01J"), Job)
assert_type(app.get("01J").created_at, datetime)
assert_type(app.get("01J").finished_at, datetime | None)
assert_type(app.get("01J").timeout, timedelta | None)
assert_type(app.copy("01J"), Handle[Any])
assert_type(app.list("state:dead"), list[Job])
assert_type(app.handle("01J"), Handle[Any])
assert_type(app.cancel("01J"), str)
app.retry("01J", actor="ada")
app.approve("01J", note="checked")
app.reject("01J", "wrong customer")
app.delete("01J")
app.get("01J").attempt.upper()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
app.cancel(handle)  # a handle will do
app.cancel(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

with app.worker(concurrency=8, queues=["mail"], grace="5s") as worker:
    assert_type(worker.id, str)
assert_type(app.drain(max_jobs=3, max_seconds=25, queues=["mail"]).processed, int)
app.drain(max_job=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
assert_type(app.cancel("01JQ93", wait="30s"), str)
app.worker(concurency=8)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def work() -> None:
    async with app.worker(concurrency=8):
        await extract.aenqueue(7, "acme")


# Test ---------------------------------------------------------------------------------------------------------------

assert_type(Trial(resize, attempt=2).run("a.png", width=300), str)
assert_type(Trial(extract, checkpoint={"page": 4}).run(7, tenant="acme"), dict[str, int])
Trial(resize).run(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Trial(resize).run("a.png", widht=300)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Trial(resize, atempt=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

with app.testing("inline") as kit:
    assert_type(kit, Kit)
    assert_type(kit.assert_enqueued(resize, count=1, path="a.png", delay="5m"), list[Job])
    kit.advance(minutes=5)
    assert_type(kit.drain().completed, int)
    kit.drain().finished  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
app.testing("online")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# Hooks, middleware and what a handler knows -------------------------------------------------------------------------------


@app.on_failed
def alert(event: JobEvent) -> None:
    assert_type(event.error, str | None)
    assert_type(event.final, bool)


@resize.on_complete
async def note(event: JobEvent) -> None:
    assert_type(event.created_at, datetime)


def wrong(event: str) -> None: ...


app.on_start(wrong)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]


@app.middleware
def around() -> Iterator[None]:
    assert_type(ctx.tenant, str | None)
    assert_type(ctx.tags, tuple[str, ...])
    assert_type(ctx.created_at, datetime)
    yield


assert_type(app.attempts("01JQ93")[0].code, str | None)


# Control the flow: declare, set, list ------------------------------------------------------------------------------------


@app.job(
    limit=Limit(running=5, rate="10/s", burst=3, key=by("a.b")),
    breaker=Breaker(0.5, of=20, rest="30s"),
    description="Calls.",
)
def call(n: int) -> int:
    ctx.rate_limited(retry_after="30s")


@app.job(limit=[Limit(running=5), Limit(rate="1/m", key=lambda payload: payload["n"])])
async def acall(n: int) -> int:
    await ctx.arate_limited("30s")


app.job(limit=5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
app.job(breaker=0.5)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
Limit(runing=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Limit(rate=10)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

parent = call.enqueue(1)
assert_type(
    call.options(after=[parent, "01J"], if_parent_fails="run", start_by="1h", tenant="acme/a").enqueue(2), Handle[int]
)
call.options(after=[app.get("01J")], start_by=datetime.now(UTC))
call.options(after=[7])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
call.options(if_parent_fails="die")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

app.queue(
    "mail", max_depth=10_000, when_full="wait", wait="5s", fair=True, weights={"acme": 3}, aging="1m", limit=Limit(5)
)
app.queue("mail", when_full="drop")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
app.queue("mail", max_dept=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

assert_type(app.pause(type="call", reason="outage", actor="ada"), Change)
assert_type(app.resume(queue="mail"), Change)
assert_type(app.types(), list[TypeRecord])
assert_type(app.queues(), list[QueueRecord])
assert_type(app.limits(), list[LimitRecord])
assert_type(app.why(parent), Why)
app.set_type("call", priority=3, attempts=5, timeout="1h", limit=Limit(3), actor="ada", dry_run=True)
app.set_type("call", prioritty=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
app.set_limit("call", running=3, rate="5/s")
app.set_limit("call", 3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

try:
    call.enqueue(1)
except QueueFull as full:
    assert_type(full.max_depth, int)
except TypeDisabled:
    pass


# Built-in handlers, and checks of completed jobs -----------------------------------------------------------------------
made = files.register(app, roots=["data"])
assert_type(made.create_file.enqueue("a.json", "{}", overwrite=True), Handle[files.Written])
assert_type(made.delete_file.enqueue("a.json"), Handle[files.Deleted])
made.create_file.enqueue("a.json")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
made.delete_file.enqueue("a.json", requires_exists=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def still_there(job: Job) -> str | None:
    return None if job.args["path"] else "is gone"


@app.job(verify=still_there, subject=by("path"))
def keep_file(path: str) -> None: ...


app.job(verify="path")(keep_file.function)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]

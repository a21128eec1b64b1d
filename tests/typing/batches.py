"""Batch types as users write them. Never run: mypy and basedpyright read it, as they read api.py."""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, assert_type

from mainstay import Breaker, Draft, Handle, Limit, Mainstay, Permanent, by, ctx
from mainstay.testing import Trial

app = Mainstay("sqlite:///jobs.db")


@dataclass
class Text:
    body: str
    language: str = "en"


@app.job(batch=32, wait="50ms", queue="vectors", retry=3, timeout="1m", on_timeout="abandon", tags=["gpu"])
def embed(texts: list[Text]) -> list[list[float]]:
    for text, job in zip(texts, ctx.batch, strict=True):
        job.log("embedding", language=text.language)
        assert_type(job.id, str)
        assert_type(job.cancelled, bool)
    return [[float(len(text.body))] for text in texts]


@app.job(batch=100)
async def notify(addresses: Sequence[str]) -> list[int | Exception]:
    return [len(each) if "@" in each else Permanent("no address") for each in addresses]


@app.job(batch=500, wait=0.2)
def insert(rows: list[dict[str, int]]) -> None: ...


assert_type(embed.enqueue(Text("hello")), Handle[list[float]])
assert_type(embed.enqueue(Text("hello")).result(), list[float])
assert_type(embed.prepare(Text("hello")), Draft)
assert_type(embed.options(delay="5m", key="7").enqueue(Text("hello")), Handle[list[float]])
assert_type(notify.enqueue("ada@example.com"), Handle[int])
assert_type(insert.enqueue({"n": 1}), Handle[None])
app.enqueue_many(embed.prepare(Text(body)) for body in ("a", "b"))

embed.enqueue([Text("hello")])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
embed.enqueue("hello")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
embed.enqueue()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
embed.enqueue(Text("a"), Text("b"))  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
notify.enqueue(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def awaited() -> None:
    assert_type(await embed.aenqueue(Text("hello")), Handle[list[float]])
    assert_type(await (await notify.aenqueue("ada@example.com")).aresult(), int)


# A plain call takes the list ----------------------------------------------------------------------------------------

assert_type(embed([Text("hello")]), Sequence[list[float] | Exception])
coroutine = assert_type(notify(["ada@example.com"]), Coroutine[Any, Any, Sequence[int | Exception]])
assert_type(insert([{"n": 1}]), None)
embed(Text("hello"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

assert_type(Trial(embed, attempt=2).run(Text("hello")), list[float])
Trial(embed).run([Text("hello")])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@app.job(batch=8, key=by("item.body"), unique="start", limit=Limit(rate="10/s"), breaker=Breaker(of=3), description="…")
def limited(items: list[Text]) -> None: ...


assert_type(limited.enqueue(Text("hello")), Handle[None])


# Mistakes -----------------------------------------------------------------------------------------------------------


@app.job(wait="50ms")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]
def wait_without_batch(items: list[int]) -> None: ...


@app.job(batch="32")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportArgumentType]
def text_as_size(items: list[int]) -> None: ...


@app.job(batch=32, process=True)  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportCallIssue, reportUntypedFunctionDecorator]
def in_a_process(items: list[int]) -> None: ...


@app.job(batch=32)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue, reportUntypedFunctionDecorator]
def two_parameters(items: list[int], more: int) -> None: ...


@app.job(batch=32)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue, reportUntypedFunctionDecorator]
def no_list(item: int) -> None: ...


@app.job(batch=32)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue, reportUntypedFunctionDecorator]
def one_result(items: list[int]) -> int:
    return len(items)

"""What `@app.job(batch=…)` accepts, the payload of one job, and what a batch handler may return."""

import asyncio
import typing
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from mainstay import InvalidPayload, Limit, Mainstay, Permanent, UsageError, by, ctx
from mainstay.core.batch import LONGEST, MOST, results
from mainstay.job_decorator import TypeOptions
from mainstay.registry import OWN_NAMES, TYPE_NAMES


@dataclass
class Text:
    body: str
    language: str = "en"


@pytest.fixture
def app():
    return Mainstay("sqlite:///:memory:")


def of_list(items: list[int]) -> None: ...


def nothing() -> None: ...


def two(items: list[int], more: int) -> None: ...


def bare(items: list) -> None: ...


def unannotated(items) -> None: ...


def of_text(items: "int") -> None: ...


def only_by_name(*, items: list[int]) -> None: ...


def broken(items: "list[") -> None: ...  # noqa: F722


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"batch": 0}, r"batch=0: how many jobs one call of of_list takes at most, a number from 1 to 1,000"),
        ({"batch": -1}, r"batch=-1: how many jobs"),
        ({"batch": "x"}, r"batch='x': how many jobs"),
        ({"batch": True}, r"batch=True: how many jobs"),
        ({"batch": 2.5}, r"batch=2.5: how many jobs"),
        ({"batch": None}, r"batch=None: how many jobs"),
        ({"batch": MOST + 1}, r"batch=1001: how many jobs"),
        ({"wait": "50ms"}, r"wait= needs batch="),
        ({"batch": 2, "wait": -1}, r"wait: -1 is not a duration: write seconds as a number"),
        ({"batch": 2, "wait": "soon"}, r"wait: 'soon' is not a duration"),
        ({"batch": 2, "wait": "11s"}, r"wait='11s': at most 10 seconds; give delay="),
        ({"batch": 2, "process": True}, r"of_list: a batch handler cannot run in a process slot; leave out batch= or"),
    ],
)
def test_a_wrong_option_is_refused_with_the_remedy(app, options, says):
    with pytest.raises(UsageError, match=says):
        app.job(**options)(of_list)


@pytest.mark.parametrize("function", [nothing, two, bare, unannotated, of_text, only_by_name, broken])
def test_a_handler_that_takes_no_list_is_refused(app, function):
    with pytest.raises(UsageError, match=rf"one parameter, a list with one item per job: def {function.__name__}\("):
        app.job(batch=2)(function)


def test_the_defaults_and_the_bounds(app):
    made = app.job(batch=MOST)(of_list).batch
    assert (made.size, made.wait, made.parameter) == (1_000, 50, "items")
    assert app.job(batch=1, wait=0, name="small")(of_list).batch.wait == 0
    assert app.job(batch=1, wait="10s", name="slow")(of_list).batch.wait == LONGEST


def quoted(items: "typing.Sequence[Text]") -> "list[Text | Exception]": ...


def aliased(items: list["Text"]) -> Sequence[Text]: ...


@pytest.mark.parametrize("function", [quoted, aliased])
def test_the_payload_is_one_item_and_the_result_is_of_one_job(app, function):
    made = app.job(batch=2)(function)
    assert made.schema.signature == f"{function.__name__}(item: Text)"
    assert made.prepare(Text("a")).payload == '{"item":{"body":"a","language":"en"}}'
    assert made.arguments('{"item":{"body":"a"}}', 1) == {"item": Text("a")}
    assert made.schema.decode_result('{"body":"a","language":"nl"}') == Text("a", "nl")
    with pytest.raises(InvalidPayload, match=r"payload.item"):
        made.prepare([Text("a")])


def test_a_type_around_the_handler_is_found(app):
    @dataclass
    class Local:
        n: int

    @app.job(batch=2)
    def work(items: "list[Local]") -> None: ...

    assert work.arguments('{"item":{"n":3}}', 1) == {"item": Local(3)}


def test_jobs_of_the_same_type_from_before_it_took_batches_are_upgraded(app):
    @app.job(batch=2, version=2, upgrades={1: lambda old: {"item": old}})
    def embed(items: list[Text]) -> None: ...

    assert embed.arguments('{"body":"a"}', 1) == {"item": Text("a")}


# what a handler returns ---------------------------------------------------------------------------------------------


def listing(items: list[int]) -> list[int]: ...


def test_one_entry_per_job(app):
    batch = app.job(batch=2)(listing).batch
    assert results(batch, [1, 2], 2) == [1, 2]
    assert results(batch, (1, 2), 2) == (1, 2)
    with pytest.raises(
        UsageError, match=r"the batch has 3 jobs, but the handler returned a list of 2: return one entry"
    ):
        results(batch, [1, 2], 3)


@pytest.mark.parametrize("returned", [None, 7, "ab", b"ab", {1: 2, 3: 4}, {1, 2}, (n for n in (1, 2))])
def test_anything_else_is_refused(app, returned):
    batch = app.job(batch=2)(listing).batch
    with pytest.raises(UsageError, match=rf"one entry per job, but this one returned {type(returned).__name__}"):
        results(batch, returned, 2)


def test_nothing_at_all_where_no_list_is_declared(app):
    assert results(app.job(batch=2)(of_list).batch, None, 2) == [None, None]


# a plain call -------------------------------------------------------------------------------------------------------


def test_the_key_of_a_job_is_read_from_its_item(app):
    @app.job(batch=8, key=by("item.body"), limit=Limit(rate="10/s", key=by("item.language")))
    def embed(items: list[Text]) -> None: ...

    first, second = embed.enqueue(Text("one")), app.enqueue("embed", {"item": {"body": "one", "language": "en"}})
    assert (second.id, app.get(first).key) == (first.id, "one")
    assert embed.enqueue(Text("two")).id != first.id


def test_type_checkers_know_the_options_of_a_type():
    own = set(OWN_NAMES.split(", ")) - {"process", "batch", "wait"}  # of one kind of type each
    assert set(TypeOptions.__annotations__) == own | set(TYPE_NAMES)


def test_a_plain_call_takes_a_list_and_has_a_context_for_each_item(app):
    @app.job(batch=2)
    def work(items: list[int]) -> list[int | Exception]:
        ctx.log("ignored")
        return [Permanent("no") if n < 0 else n * job.attempt for n, job in zip(items, ctx.batch, strict=True)]

    assert work([1, 2, 3]) == [1, 2, 3]
    assert work(items=[4]) == [4]
    assert isinstance(work([-1])[0], Permanent)
    assert len(ctx.batch) == 1


def test_a_plain_call_of_an_async_handler(app):
    @app.job(batch=2)
    async def work(items: list[int]) -> list[int]:
        return [n for n, _ in zip(items, ctx.batch, strict=True)]

    assert asyncio.run(work([1, 2, 3])) == [1, 2, 3]

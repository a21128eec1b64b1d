"""Handlers that complete their job in their own transaction, on a real worker: both are there, or neither."""

import pytest

from mainstay import UsageError, ctx
from tests.outbox.callers import ALL, AsyncCaller
from tests.waiting import eventually

ASYNC = [kind for kind in ALL if issubclass(ALL[kind], AsyncCaller)]
PLAIN = [kind for kind in ALL if kind not in ASYNC]
ENDS = ["commit", "raise", "forget"]
BLOCKS = ("django", "psycopg block")


@pytest.fixture
def kept():
    """Users whom a handler has left behind with an open transaction."""
    return []


def plain_handler(app, kind, place, kept):
    @app.job(retry=1)
    def ship(end: str) -> str:
        user = ALL[kind](place)
        user.begin()
        user.insert(1)
        ctx.complete_in(user.tx, {"end": end})
        if end == "forget":
            kept.append(user)
            return "not looked at"
        try:
            if end == "raise":
                user.rollback()
                raise ValueError("after all")
            user.commit()
        finally:
            user.close()
        return "not looked at"

    return ship


def async_handler(app, kind, place, kept):
    @app.job(retry=1)
    async def ship(end: str) -> str:
        user = await ALL[kind].inside(place)
        await user.abegin()
        await user.ainsert(1)
        await ctx.acomplete_in(user.tx, {"end": end})
        if end == "forget":
            kept.append(user)
            return "not looked at"
        try:
            if end == "raise":
                await user.arollback()
                raise ValueError("after all")
            await user.acommit()
        finally:
            await user.aclose()
        return "not looked at"

    return ship


def ended(app, handle):
    """How the job ended: its state, its result and the error of its attempt."""
    eventually(lambda: handle.state in ("completed", "dead"), "the job to end")
    return handle.state, app.store.result(handle.id), [attempt.error for attempt in app.attempts(handle)][-1:]


def check_end(app, place, handle, end):
    state, result, errors = ended(app, handle)
    if end == "commit":
        assert (state, result, place.rows()) == ("completed", '{"end":"commit"}', {1})
        return
    assert (state, result, place.rows()) == ("dead", None, set())
    assert errors[0].startswith("ValueError: after all" if end == "raise" else "NotCommitted: ")


CASES = [(kind, end) for kind in PLAIN for end in ENDS if end != "forget" or not kind.startswith(BLOCKS)]


@pytest.mark.parametrize(("kind", "end"), CASES)  # nobody forgets to end a block
def test_a_plain_handler(app, kind, place, kept, end):
    ship = plain_handler(app, kind, place, kept)

    @app.job
    def tidy() -> None:
        for user in kept:
            user.close()

    with app.worker(concurrency=1):
        check_end(app, place, ship.enqueue(end), end)
        eventually(lambda: not place.busy(), "the transaction to be rolled back")
        tidy.enqueue().result(timeout=20)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", ASYNC)
def test_an_async_handler(app, kind, place, kept, end):
    ship = async_handler(app, kind, place, kept)

    @app.job
    async def tidy() -> None:
        for user in kept:
            await user.aclose()

    with app.worker(concurrency=1):
        check_end(app, place, ship.enqueue(end), end)
        eventually(lambda: not place.busy(), "the transaction to be rolled back")
        tidy.enqueue().result(timeout=20)


def reports():
    """Report something of every kind."""
    ctx.log("a line", page=1)
    ctx.progress(3, 4)
    ctx.save(page=4)


def expect_reports(app, handle):
    """Fail unless the reports before and after the completion are stored."""
    eventually(lambda: len(app.logs(handle)) == 3, "the log lines")
    assert [(line.message, line.stage) for line in app.logs(handle)] == [
        ("a line", "ship"), ("a line", "ship"), ("ship done", "ship"),
    ]  # fmt: skip
    job = app.get(handle)
    assert (job.state, job.done, job.total, job.stage) == ("completed", 3.0, 4.0, "ship")
    assert app.store.checkpoint(handle.id) == '{"page":4}'


@pytest.mark.parametrize("kind", PLAIN)
def test_what_a_plain_handler_reports_is_kept(app, kind, place):
    @app.job(retry=1)
    def ship() -> None:
        with ctx.stage("ship"):
            user = ALL[kind](place)
            user.begin()
            user.insert(1)
            reports()
            ctx.complete_in(user.tx)
            user.commit()
            user.close()
            reports()

    with app.worker(concurrency=1):
        handle = ship.enqueue()
        handle.result(timeout=20)
        expect_reports(app, handle)


@pytest.mark.parametrize("kind", ASYNC)
def test_what_an_async_handler_reports_is_kept(app, kind, place):
    @app.job(retry=1)
    async def ship() -> None:
        with ctx.stage("ship"):
            user = await ALL[kind].inside(place)
            await user.abegin()
            await user.ainsert(1)
            reports()
            await ctx.acomplete_in(user.tx)
            await user.acommit()
            await user.aclose()
            reports()

    with app.worker(concurrency=1):
        handle = ship.enqueue()
        handle.result(timeout=20)
        expect_reports(app, handle)


@pytest.mark.parametrize("kind", [PLAIN[0], "psycopg"])
def test_children_after_the_completion_are_refused(app, kind, place):
    refused = []

    @app.job(retry=1)
    def ship() -> None:
        user = ALL[kind](place)
        user.begin()
        ctx.enqueue(app.registry["work"].prepare(1))
        ctx.complete_in(user.tx)
        with pytest.raises(UsageError, match="before it") as error:
            ctx.enqueue(app.registry["work"].prepare(2))
        refused.append(error)
        user.commit()
        user.close()

    with app.worker(concurrency=1):
        handle = ship.enqueue()
        handle.result(timeout=20)
    assert refused
    assert [job.payload for job in app.list("type:work")] == ['{"n":1}']

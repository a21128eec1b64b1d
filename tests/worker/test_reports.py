"""What handlers enqueue and report through `ctx`, on a real worker and every engine."""

import pytest

from mainstay import JobFailed, Mainstay, Review, ctx
from tests.waiting import eventually


@pytest.fixture
def app(engine_url):
    app = Mainstay(engine_url)
    app.job(name="child")(child)
    yield app
    app.close()


def child(n: int) -> int:
    return n


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_children_of_a_job_in_review_run_once_it_is_approved(app, is_async):
    def ask() -> None:
        ctx.enqueue(app.registry["child"].prepare(7))
        raise Review("look at this", output="proposed")

    async def aask() -> None:
        ask()

    parent = app.job(name="ask")(aask if is_async else ask).enqueue()
    with app.worker(concurrency=2):
        with pytest.raises(JobFailed, match="look at this"):
            parent.result(timeout=20)
        assert app.list("type:child") == []
        app.approve(parent)
        (job,) = eventually(lambda: app.list("type:child state:completed"), "the child to run")
    assert (job.parent, parent.result()) == (parent.id, "proposed")


def test_a_draft_may_be_a_child_of_several_jobs_and_several_times(app):
    draft = app.registry["child"].prepare(1)
    own = app.enqueue(draft)

    @app.job
    def parent() -> None:
        ctx.enqueue(draft, draft)
        ctx.enqueue(draft)

    with app.worker(concurrency=2):
        parents = [parent.enqueue() for _ in range(3)]
        for handle in parents:
            handle.result(timeout=20)
        eventually(lambda: len(app.list("type:child state:completed")) == 10, "the children to run")
    assert sorted(job.parent or "" for job in app.list("type:child")) == sorted(
        ["", *[handle.id for handle in parents] * 3]
    )
    assert own.job().parent is None


class Unprintable:
    def __str__(self):
        raise RuntimeError("no words")


def test_a_field_of_a_log_line_that_json_cannot_carry_is_written_as_text(app):
    @app.job(retry=1)
    def chatter() -> None:
        ctx.log("failed", level="warning", error=ValueError("no luck"), page=3, rows=[1, 2])
        ctx.log("odd", kind=print, nested={"deep": [len]}, words=Unprintable(), raw=b"\x00", long="x" * (11 << 20))
        ctx.log(Unprintable(), text="\0 \ud800", deep=nested(200), n=float("nan"), key={1: 2})
        ctx.log(ValueError("as a message"), one="x" * (6 << 20), other="y" * (6 << 20))

    with app.worker(concurrency=1):
        handle = chatter.enqueue()
        handle.result(timeout=30)
    failed, odd, worst, message = app.logs(handle)
    assert failed.fields == {"error": "ValueError: no luck", "page": 3, "rows": [1, 2]}
    assert odd.fields["kind"] == "<built-in function print>"
    assert odd.fields["nested"] == "{'deep': [<built-in function len>]}"
    assert odd.fields["words"] == worst.message == "(its __str__ raised RuntimeError)"
    assert odd.fields["raw"] == "AA=="
    assert "characters left out" in odd.fields["long"]
    assert worst.fields.keys() == {"text", "deep", "n", "key"}
    assert (worst.fields["n"], worst.fields["key"], message.message) == (None, {"1": 2}, "as a message")
    assert all("characters left out" in message.fields[name] for name in ("one", "other")), "too large together"


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value

"""What handlers enqueue and report through `ctx`, on a real worker and every engine."""

import pytest

from mainstay import JobFailed, Mainstay, Review, ctx
from tests.servers.engines import ENGINES
from tests.waiting import eventually


@pytest.fixture
def app(engine, tmp_path):
    with ENGINES[engine](tmp_path) as url:
        app = Mainstay(url)
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

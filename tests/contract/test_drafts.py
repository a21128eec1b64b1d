"""Prepared jobs: each enqueue of a draft is a job of its own, but a draft that is sent again after a failure is the same job."""

import asyncio

import pytest

from mainstay import Mainstay, StoreUnavailable


@pytest.fixture
def app(store):
    return Mainstay(store=store)


@pytest.fixture
def work(app):
    @app.job
    def work(n: int = 0) -> int:
        return n

    return work


def expect(app, handles, count):
    """Fail unless these are handles to so many new jobs, and there are no others."""
    assert len(handles) == len({handle.id for handle in handles}) == count
    assert all(handle.created for handle in handles)
    assert {job.id for job in app.list(limit=100)} == {handle.id for handle in handles}


def test_a_draft_that_is_enqueued_twice_is_two_jobs(app, work):
    draft = work.options(tags=["x"], tenant="acme").prepare(7)
    first, second = app.enqueue(draft), app.enqueue(draft)
    expect(app, [first, second], 2)
    one, other = first.job(), second.job()
    assert (
        (one.payload, one.tags, one.tenant) == (other.payload, other.tags, other.tenant) == ('{"n":7}', ("x",), "acme")
    )


def test_a_draft_that_is_awaited_twice_is_two_jobs(app, work):
    async def twice():
        draft = work.prepare()
        return [await app.aenqueue(draft), await app.aenqueue(draft)]

    expect(app, asyncio.run(twice()), 2)


def test_a_draft_that_is_given_twice_in_one_call_is_two_jobs(app, work):
    draft, other = work.prepare(1), work.prepare(2)
    handles = app.enqueue_many([draft, other, draft, draft])
    expect(app, handles, 4)
    expect(app, handles + app.enqueue_many([other] * 3), 7)
    assert [handle.job().payload for handle in handles] == [f'{{"n":{n}}}' for n in (1, 2, 1, 1)]


def test_a_draft_whose_first_enqueue_failed_after_it_was_stored_is_one_job(app, work, monkeypatch):
    draft, enqueue = work.prepare(), app.store.enqueue

    def lost_reply(drafts, now):
        enqueue(drafts, now)
        raise StoreUnavailable("the reply was lost")

    with monkeypatch.context() as patch:
        patch.setattr(app.store, "enqueue", lost_reply, raising=False)
        with pytest.raises(StoreUnavailable):
            app.enqueue(draft)
    expect(app, [app.enqueue(draft)], 1)


def test_a_draft_with_a_key_gives_the_same_job_again(app, work):
    draft = work.options(key="k").prepare()
    first, second = app.enqueue(draft), app.enqueue(draft)
    assert (first.id, first.created, second.created) == (second.id, True, False)

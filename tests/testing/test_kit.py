"""What users test their jobs with: the kit, inline mode, one handler alone."""

import asyncio
from datetime import date, timedelta

import pytest

from mainstay import Cancel, Draft, JobFailed, Mainstay, Retry, Review, Snooze, ctx
from mainstay.core.errors import UsageError
from mainstay.core.outcome import Cancelled, Stopping
from mainstay.testing import Kit, Trial
from mainstay.worker.drained import Drained


@pytest.fixture
def app(tmp_path):
    return Mainstay(f"sqlite:///{tmp_path}/jobs.db")


@pytest.fixture
def kit(app):
    kit = Kit()
    kit.use(app)
    yield kit
    kit.restore()


def test_a_kit_takes_the_place_of_the_store_and_gives_it_back(app, tmp_path):
    job = app.job(name="mail")(_mail)
    before, clock = app.store, app.clock
    with app.testing() as kit:
        job.enqueue("ada")
        kit.assert_enqueued(job, to="ada")
    assert (app.store, app.clock) == (before, clock)
    assert not (tmp_path / "jobs.db").exists()


def _mail(to: str) -> None:
    """Nothing to do."""


def test_assert_enqueued_tells_payload_from_options(app, kit):
    mail = app.job(name="mail")(_mail)
    mail.options(delay=timedelta(minutes=5), priority=3, tags=["eu"], key="k").enqueue("ada")
    assert len(kit.assert_enqueued(mail, to="ada", delay="5m", priority=3, tags=["eu"], key="k")) == 1
    kit.refute_enqueued(mail, to="bob")
    with pytest.raises(AssertionError, match=r"found 0; enqueued were:\n  mail \{\"to\":\"ada\"\} \(scheduled\)"):
        kit.assert_enqueued(mail, to="ada", delay="6m")
    with pytest.raises(AssertionError, match="expected 2 jobs mail"):
        kit.assert_enqueued("mail", count=2)
    with pytest.raises(AssertionError, match="expected no job mail"):
        kit.refute_enqueued(mail)


def test_a_wrong_name_is_a_mistake_and_not_a_pass(app, kit):
    mail = app.job(name="mail")(_mail)
    mail.enqueue("ada")
    for check in (kit.assert_enqueued, kit.refute_enqueued):
        for type in (mail, "mail"):
            with pytest.raises(
                UsageError, match=r'"tenat" \(did you mean "tenant"\?\) is neither a parameter nor an option'
            ):
                check(type, tenat="acme")
        with pytest.raises(
            UsageError, match=r'no application in use defines a job type "mial" \(did you mean "mail"\?\)'
        ):
            check("mial")


def test_a_type_of_an_application_that_is_not_in_use_is_a_mistake(kit):
    other = Mainstay("sqlite:///:memory:").job(name="other")(_mail)
    with pytest.raises(UsageError, match=r"belongs to an application that is not in use: call mainstay\.use\(app\)"):
        kit.refute_enqueued(other)


def test_names_that_only_a_worker_elsewhere_knows_can_be_refuted(app, kit):
    kit.refute_enqueued("elsewhere", to="ada")  # a producer without any code
    app.job(name="mail")(_mail)
    app.enqueue("elsewhere", {"to": "ada"})
    kit.refute_enqueued("elsewhere", to="bob")
    kit.assert_enqueued("elsewhere", to="ada")


def test_any_name_may_be_an_argument_of_a_handler_that_takes_any(app, kit):
    @app.job
    def free(**more: int) -> None: ...

    free.enqueue(a=1)
    kit.assert_enqueued(free, a=1)
    kit.refute_enqueued(free, b=1)


def test_drain_raises_what_a_handler_raised(app, kit):
    @app.job(retry=Retry(2))
    def fail(n: int) -> None:
        raise ValueError(f"no {n}")

    first, second = fail.enqueue(1), fail.enqueue(2)
    with pytest.raises(JobFailed, match=r"(?s)died \(and 1 more\): ValueError: no .*Traceback.*raise ValueError"):
        kit.drain()
    assert (first.state, second.state) == ("dead", "dead")
    assert kit.drain().dead == 0  # each death is told once
    fail.enqueue(3)
    assert kit.drain(raises=False).dead == 1


def test_a_result_that_nothing_produces_is_not_waited_for(app, kit):
    mail = app.job(name="mail")(_mail)
    handle = mail.enqueue("ada")
    for wait in (handle.result, lambda: asyncio.run(handle.aresult())):
        with pytest.raises(UsageError, match=r"call drain\(\) first"):
            wait()
    kit.drain()
    assert handle.result() is None
    later = mail.enqueue("bob")
    with app.worker():
        assert later.result(20) is None  # a worker of the test's own runs it


@pytest.mark.parametrize("due", [date(2030, 1, 31), "2030-01-31"])
def test_arguments_are_compared_as_they_were_given_or_as_json(app, kit, due):
    @app.job
    def remind(due: date) -> None: ...

    remind.enqueue(date(2030, 1, 31))
    kit.assert_enqueued(remind, due=due)
    kit.refute_enqueued(remind, due=date(2031, 1, 31))


def test_drain_runs_what_is_due_and_the_clock_makes_more_of_it_due(app, kit):
    seen = []

    @app.job
    def note(word: str) -> str:
        seen.append(word)
        return word

    now, later = note.enqueue("now"), note.options(delay="5m").enqueue("later")
    assert kit.drain().completed == 1
    assert (seen, later.state) == (["now"], "scheduled")
    kit.advance(minutes=4, seconds=59)
    assert kit.drain().completed == 0
    kit.advance("1s")
    assert kit.drain().completed == 1
    assert (now.result(), later.result()) == ("now", "later")


def test_drain_follows_retries_without_waiting(app, kit):
    @app.job(retry=Retry(3, base="1h", jitter=False))
    def flaky() -> int:
        if ctx.attempt < 3:
            raise ConnectionError("not yet")
        return ctx.attempt

    began, job = kit.clock.now(), flaky.enqueue()
    done = kit.drain()
    assert (done.completed, done.retried, job.result()) == (1, 2, 3)
    assert kit.clock.now() - began == 2 * 3_600_000  # base, then twice as long but no longer than the cap of an hour


def test_drain_counts_every_way_to_end(app, kit):
    ways = {"review": Review("sure?"), "snoozed": Snooze("1h"), "cancelled": Cancel(), "dead": ValueError("no")}

    @app.job(retry=1)
    async def end(how: str) -> None:
        await asyncio.sleep(0)
        raise ways[how]

    for how in ways:
        end.enqueue(how)
    assert kit.drain(raises=False)._asdict() == {
        "completed": 0,
        "retried": 0,
        "snoozed": 1,
        "review": 1,
        "cancelled": 1,
        "dead": 1,
        "left": 0,
        "more": False,
        "running": 0,
    }


def test_children_are_run_with_their_parent(app, kit):
    @app.job
    def child(n: int) -> int:
        return n

    @app.job
    def parent() -> None:
        ctx.enqueue(child.prepare(1), child.prepare(2))

    parent.enqueue()
    assert kit.drain().completed == 3
    kit.assert_enqueued(child, count=2)


def test_inline_mode_runs_a_job_as_it_is_enqueued_through_json(app):
    @app.job
    def pair(of: tuple[int, int]) -> list[int]:
        return list(of)

    @app.job
    def outer() -> None:
        pair.enqueue((3, 4))

    with app.testing("inline") as kit:
        assert pair.enqueue((1, 2)).result() == [1, 2]
        outer.enqueue()
        assert kit.assert_enqueued(pair, of=[3, 4])[0].state == "completed"
        with pytest.raises(JobFailed):
            app.job(retry=1)(_fails).enqueue().result()
    with pytest.raises(UsageError, match="inline"):
        app.testing("eager").__enter__()


def _fails() -> None:
    raise ValueError("no")


def test_a_kit_without_an_application_says_what_to_do():
    with pytest.raises(UsageError, match=r"mainstay\.use\(app\)"):
        _ = Kit().jobs


def test_a_trial_runs_one_handler_and_remembers_what_it_said(app):
    @app.job
    def pages(of: int) -> int:
        with ctx.stage("read"):
            for page in range(ctx.checkpoint.get("page", 0), of):
                ctx.progress(page, of)
                ctx.save(page=page + 1)
        ctx.enqueue(pages.prepare(1))
        return ctx.attempt

    trial = Trial(pages, attempt=3, checkpoint={"page": 4})
    assert trial.run(6) == 3
    assert trial.saved == {"page": 6}
    assert [(step.done, step.stage) for step in trial.progress] == [(None, "read"), (4.0, "read"), (5.0, "read")]
    assert [line.message for line in trial.logs] == ["read done"]
    assert [child.payload for child in trial.children] == ['{"of":1}']


def test_a_trial_raises_what_the_handler_raises_and_can_ask_it_to_stop(app):
    @app.job
    async def save() -> None:
        await asyncio.sleep(0)
        ctx.save(n=1)

    Trial(save).run()
    with pytest.raises(Stopping):
        Trial(save, stopping=True).run()
    with pytest.raises(Cancelled, match="too late"):
        Trial(save, cancelled="too late").run()
    with pytest.raises(ValueError, match="no"):
        Trial(app.job(_fails)).run()


def test_a_payload_that_cannot_be_read_leaves_no_job_behind_in_this_thread(app, kit):
    mail = app.job(name="mail")(_mail)
    app.enqueue(Draft("mail", '{"to": 7}'))
    assert kit.drain(raises=False).dead == 1
    assert repr(ctx) == "<ctx: no job runs here>"
    assert mail("ada") is None


# batch types --------------------------------------------------------------------------------------------------------


def test_a_drain_runs_full_batches_without_a_wait(app, kit):
    calls = []

    @app.job(batch=4, wait="10s", retry=Retry(2, base="1h"))
    def work(items: list[int]) -> list[int | Exception]:
        calls.append(items)
        return [ValueError("no") if n == 2 and job.attempt == 1 else n for n, job in zip(items, ctx.batch, strict=True)]

    jobs = app.enqueue_many(work.prepare(n) for n in range(6))
    kit.assert_enqueued(work, item=3, count=1)
    with pytest.raises(UsageError, match=r'"items" .did you mean "item"'):
        kit.assert_enqueued(work, items=3)
    assert kit.drain() == Drained(completed=6, retried=1)
    assert calls == [[0, 1, 2, 3], [4, 5], [2]]
    assert [job.result() for job in jobs] == list(range(6))


def test_inline_mode_runs_a_batch_as_it_is_enqueued(app):
    calls = []

    @app.job(batch=4, wait="10s")
    async def work(items: list[int]) -> list[int]:
        await asyncio.sleep(0)
        calls.append(items)
        return items

    with app.testing("inline"):
        assert work.enqueue(1).result() == 1
        assert [job.result() for job in app.enqueue_many(work.prepare(n) for n in range(3))] == [0, 1, 2]
    assert calls == [[1], [0, 1, 2]]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_trial_of_a_batch_handler_is_a_batch_of_one(app, is_async):
    def plain(items: list[date]) -> list[str | Exception]:
        ctx.log("to all")
        ctx.batch[0].save(seen=True)
        return [
            Cancel("old") if day.year < 2000 else f"{day} {job.attempt}"
            for day, job in zip(items, ctx.batch, strict=True)
        ]

    async def awaits(items: list[date]) -> list[str | Exception]:
        return plain(items)

    trial = Trial(app.job(batch=4, name="work")(awaits if is_async else plain), attempt=2)
    assert trial.run(date(2030, 1, 31)) == "2030-01-31 2"
    assert [line.message for line in trial.logs] == ["to all"]
    assert trial.saved == {"seen": True}
    with pytest.raises(Cancel, match="old"):
        trial.run(date(1999, 1, 1))

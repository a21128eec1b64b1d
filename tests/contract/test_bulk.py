"""Many jobs at once, from Python: found by a search, changed in chunks, stopped and resumed; one line in the audit trail."""

import subprocess
import sys

import pytest

from mainstay import Conflict, Limit, Mainstay, NotFound, UsageError, by
from mainstay.control import bulk_run
from mainstay.control.bulk import forget
from mainstay.core.clock import MINUTE
from tests.contract.building import FINAL, Desk, transition


class Stopped(Exception):
    """Raised by a callback."""


@pytest.fixture
def app(store, clock):
    app = Mainstay(store=store, clock=clock)

    @app.job(key=by("n"), retry=1, queue="default")
    def work(n: int, to: str = "x") -> None: ...

    @app.job(limit=Limit(running=1, key=by("to")))
    def mail(to: str) -> None: ...

    return app


@pytest.fixture
def small(monkeypatch):
    """Chunks of three jobs and pages of seven."""
    monkeypatch.setattr(bulk_run, "PAGE", 7)
    for name, verb in bulk_run.VERBS.items():
        monkeypatch.setitem(bulk_run.VERBS, name, verb._replace(chunk=min(verb.chunk, 3)))


def fill(app, count, state="queued"):
    jobs = [handle.id for handle in app.enqueue_many(app.registry["work"].prepare(n) for n in range(count))]
    if state == "dead":
        die(app, count)
    return jobs


def die(app, count):
    desk = Desk(app.store, app.clock)
    while taken := desk.take(min(count, 500)):
        app.store.finish([transition(job, FINAL, app.clock.now()) for job in taken])


def after(chunks):
    """A callback that stops after so many chunks."""
    seen = []

    def progress(step):
        seen.append(step.done)
        if len(seen) == chunks:
            raise Stopped

    return progress


def states(app, jobs):
    return [job.state for job in app.store.get_many(jobs)]


def line(app):
    return app.actions()[0]


ACTIONS = {
    "retry": ("dead", lambda bulk, **how: bulk.retry(**how), "queued"),
    "cancel": ("queued", lambda bulk, **how: bulk.cancel(**how), "cancelled"),
    "delete": ("queued", lambda bulk, **how: bulk.delete(**how), None),
    "reprioritise": ("queued", lambda bulk, **how: bulk.reprioritise(5, **how), "queued"),
    "requeue": ("queued", lambda bulk, **how: bulk.requeue("slow", force=True, **how), "queued"),
    "reschedule": ("queued", lambda bulk, **how: bulk.reschedule(delay="1h", **how), "scheduled"),
    "amend": ("queued", lambda bulk, **how: bulk.amend({"to": "ada"}, **how), "queued"),
}


@pytest.mark.parametrize("verb", ACTIONS)
def test_all_that_match_and_one_line_with_the_search_and_the_count(app, small, verb):
    state, act, becomes = ACTIONS[verb]
    jobs = fill(app, 10, state)
    other = app.enqueue("other", {})
    bulk = app.bulk(f"type:work state:{state}")
    assert act(bulk, dry_run=True).matched == bulk.count() == 10
    assert app.actions() == []
    report = act(bulk, actor="ada")
    assert (report.matched, report.changed, report.refused) == (10, 10, {})
    assert states(app, jobs) == [becomes] * 10 if becomes else states(app, jobs) == []
    assert app.get(other).state == "queued"
    (told,) = app.actions()
    assert (told.actor, told.action, told.detail["jobs"], told.detail["matched"]) == ("ada", verb, 10, 10)
    assert (told.detail["search"], told.detail["bulk"]) == (f"type:work state:{state}", report.id)
    assert not {"place", "plan"} & told.detail.keys()
    assert app.bulk_operations() == []
    assert [each.finished for each in app.bulk_operations(finished=True)] == [True]


@pytest.mark.parametrize("chunks", [1, 2, 3])
@pytest.mark.parametrize("verb", ACTIONS)
def test_stopped_and_resumed_it_changes_each_job_once(app, small, verb, chunks):
    state, act, _ = ACTIONS[verb]
    jobs = fill(app, 10, state)
    with pytest.raises(Stopped):
        act(app.bulk(f"state:{state}"), actor="ada", progress=after(chunks))
    (stopped,) = app.bulk_operations()
    assert (stopped.matched, stopped.changed, stopped.finished) == (10, 3 * chunks, False)
    later = app.enqueue("work", {"n": 99})  # is newer than the search
    report = app.bulk_resume(stopped.id[:6].lower(), actor="bob")
    assert (report.matched, report.changed, report.refused) == (10, 10, {})
    assert line(app).detail["resumed_by"] == "bob"
    assert line(app).detail["jobs"] == 10
    newer = app.get(later)
    assert (newer.state, newer.priority, newer.queue, newer.args["n"]) == ("queued", 0, "default", 99)
    assert len(states(app, jobs)) == (0 if verb == "delete" else 10)
    with pytest.raises(Conflict, match="is finished"):
        app.bulk_resume(stopped.id)


def test_refused_ones_are_counted_by_reason_over_a_stop(app, small):
    jobs = fill(app, 10)
    desk = Desk(app.store, app.clock)
    desk.take(4)
    for verb in ("delete", "reprioritise"):
        bulk = app.bulk("type:work")
        with pytest.raises(Stopped):
            bulk.delete(progress=after(3)) if verb == "delete" else bulk.reprioritise(1, progress=after(1))
        report = app.bulk_resume(app.bulk_operations()[0].id)
        assert report.refused == {"running": 4}
        assert line(app).detail["refused"] == {"running": 4}
    assert len(states(app, jobs)) == 4


def test_two_that_resume_the_same_operation(app, small):
    fill(app, 10)
    with pytest.raises(Stopped):
        app.bulk("state:queued").cancel(progress=after(1))
    (stopped,) = app.bulk_operations()

    def meanwhile(_):
        app.bulk_resume(stopped.id)

    with pytest.raises(Conflict, match="another process"):
        app.bulk_resume(stopped.id, progress=meanwhile)
    assert line(app).detail["jobs"] == 10


def test_one_that_is_given_up(app, small):
    jobs = fill(app, 10)
    with pytest.raises(Stopped):
        app.bulk("state:queued").cancel(progress=after(1))
    (stopped,) = app.bulk_operations()
    assert forget(app, stopped.id, "ada") == stopped.id
    assert app.bulk_operations() == []
    assert states(app, jobs).count("queued") == 7
    assert line(app).detail["given_up_by"] == "ada"
    with pytest.raises(NotFound):
        app.bulk_resume("ZZZ")


def test_a_job_that_no_longer_matches_is_left_alone(app, small):
    jobs = fill(app, 6)

    def meanwhile(step):
        if step.done == 3:
            app.store.cancel(jobs[:1], app.clock.now(), "another")

    report = app.bulk("state:queued").reprioritise(5, progress=meanwhile)
    assert (report.changed, report.refused) == (5, {"unmatched": 1})


def test_retries_are_spread_evenly_the_oldest_first(app, small, clock):
    jobs = fill(app, 10, "dead")
    now = clock.now()
    with pytest.raises(Stopped):
        app.bulk("state:dead").retry(stagger="10m", progress=after(2))
    clock.advance("30s")
    report = app.bulk_resume(app.bulk_operations()[0].id)
    assert (report.changed, report.refused) == (10, {})
    times = [job.run_at for job in app.store.get_many(jobs)]
    assert times == [None, *(now + n * MINUTE for n in range(1, 10))]


def test_instants_of_the_search_are_those_of_its_beginning(app, small, clock):
    fill(app, 4)
    clock.advance("2m")
    fill_later = app.enqueue("work", {"n": 50})
    with pytest.raises(Stopped):
        app.bulk("age:>1m").cancel(progress=after(1))
    clock.advance("10m")
    assert app.bulk_resume(app.bulk_operations()[0].id).changed == 4
    assert app.get(fill_later).state == "queued"


def test_by_id(app):
    jobs = fill(app, 3)
    report = app.bulk(ids=jobs[:2]).reprioritise(7)
    assert (report.changed, report.jobs) == (2, dict.fromkeys(jobs[:2], "changed"))
    assert [job.priority for job in app.store.get_many(jobs)] == [7, 7, 0]
    assert app.bulk(ids=jobs).preview().types == {"work": 3}
    assert app.bulk_operations() == []


def test_wrong_use_changes_nothing(app):
    jobs = fill(app, 2)
    bulk = app.bulk("type:work")
    for wrong in (
        app.bulk, lambda: app.bulk("  "), lambda: app.bulk("type:work", everything=True), lambda: app.bulk("state=dead"),
        lambda: app.bulk("text:a\0b").cancel(),
        lambda: bulk.reprioritise(5000), lambda: bulk.requeue(""), bulk.reschedule, lambda: bulk.reschedule(delay="1h", at=5),
        lambda: bulk.reschedule(at="tomorrow"), lambda: bulk.retry(stagger="soon"), lambda: bulk.amend({"a..b": 1}),
        lambda: bulk.amend({"to": object()}), lambda: bulk.amend({"to": "a\0b"}), lambda: bulk.cancel(actor="a\0b"),
    ):  # fmt: skip
        with pytest.raises((UsageError, NotFound)):
            wrong()
    assert app.actions() == []
    assert {(job.state, job.priority, job.payload) for job in app.store.get_many(jobs)} == {
        ("queued", 0, '{"n":0}'),
        ("queued", 0, '{"n":1}'),
    }


def test_a_queue_that_nobody_uses_is_a_mistake(app):
    fill(app, 1)
    app.store.register_types([app.registry["work"].info(1)])
    with pytest.raises(UsageError, match='did you mean "default"'):
        app.bulk("type:work").requeue("defualt")
    assert app.bulk("type:work").requeue("defualt", force=True).changed == 1


# payloads -------------------------------------------------------------------------------------------------------------
def test_an_edit_is_checked_by_the_code(app):
    jobs = fill(app, 2)
    report = app.bulk("type:work").amend({"n": "two"})
    assert (report.changed, report.refused) == (0, {"invalid": 2})
    assert "work(n: int" in report.why["invalid"]
    assert [job.payload for job in app.store.get_many(jobs)] == ['{"n":0}', '{"n":1}']


def test_an_edit_is_checked_by_what_workers_have_registered(app, store, clock):
    jobs = fill(app, 2)
    store.register_types([app.registry["work"].info(1)])
    other = Mainstay(store=store, clock=clock)  # without the code
    for wrong, why in (
        ({"n": "two"}, "not of type integer"),
        ({"m": 1}, "is not an argument"),
        ({"to": None}, "not of type string"),
    ):
        report = other.bulk("type:work").amend(wrong)
        assert (report.changed, report.refused) == (0, {"invalid": 2})
        assert why in report.why["invalid"]
    assert other.bulk("type:work").amend({}, remove=["n"]).refused == {"invalid": 2}
    assert other.bulk(ids=jobs[:1]).amend({"n": 7, "to": "b"}).changed == 1
    job = other.get(jobs[0])
    assert (job.args, job.key) == ({"n": 7, "to": "b"}, "7")


def test_a_function_edits_and_is_needed_to_resume(app, small):
    jobs = fill(app, 7)

    def double(payload):
        return payload | {"n": payload["n"] + 100}

    with pytest.raises(Stopped):
        app.bulk("type:work").amend(double, progress=after(1))
    (stopped,) = app.bulk_operations()
    with pytest.raises(UsageError, match="double"):
        app.bulk_resume(stopped.id)
    assert app.bulk_resume(stopped.id, amend=double).changed == 7
    assert [job.args["n"] for job in map(app.get, jobs)] == [100 + n for n in range(7)]


def test_the_slot_of_a_limit_follows_the_payload(app):
    mail = app.registry["mail"]
    jobs = [mail.enqueue("a").id, mail.enqueue("a").id]
    assert states(app, jobs) == ["queued", "blocked"]
    assert app.bulk(ids=jobs[1:]).amend({"to": "b"}).changed == 1
    assert states(app, jobs) == ["queued", "queued"]


# a kill ---------------------------------------------------------------------------------------------------------------
CHILD = """
import sys
from mainstay import Mainstay

app = Mainstay(sys.argv[1])
app.bulk("state:dead").retry(actor="child", stagger="1d", progress=lambda step: print(step.done, flush=True))
"""


@pytest.mark.slow
def test_killed_in_the_middle_and_resumed_it_changes_each_job_once(shared):
    """With the store's own clock, by another process that is killed while it writes."""
    with Mainstay(shared).store as store:
        app = Mainstay(store=store)

        @app.job(retry=1)
        def work(n: int) -> None: ...

        count = 4_000
        app.enqueue_many(work.prepare(n) for n in range(count))
        die(app, count)
        expected = app.bulk("state:dead").preview()
        assert expected.matched == count
        child = subprocess.Popen([sys.executable, "-c", CHILD, shared], stdout=subprocess.PIPE, text=True)
        for told in child.stdout:
            if int(told) >= 1_000:
                child.kill()
                break
        child.communicate()
        (stopped,) = app.bulk_operations()
        assert 1_000 <= stopped.changed < count
        assert app.bulk("state:dead").count() == count - stopped.changed
        seen = []
        report = app.bulk_resume(stopped.id, actor="ada", progress=lambda step: seen.append(step.done))
        assert (report.matched, report.changed, report.refused) == (count, count, {})
        assert seen == sorted(seen)
        assert app.bulk("state:scheduled").count() + app.bulk("state:queued").count() == count
        (told,) = [action for action in app.actions() if action.action == "retry"]
        assert (told.detail["jobs"], told.detail["from"]) == (count, {"dead": count})


def test_an_operation_on_given_ids_tells_its_progress_and_stops(app, small):
    jobs = fill(app, 7, "dead")
    seen = []
    found = app.bulk(ids=jobs[:5]).retry(progress=lambda step: seen.append((step.done, step.matched)), id="MINE")
    assert (seen, found.changed) == ([(3, 5), (5, 5)], 5)
    with pytest.raises(Stopped):
        app.bulk(ids=jobs).cancel(progress=after(1))
    assert [job.state for job in app.store.get_many(jobs)].count("cancelled") == 3


def test_the_caller_may_name_an_operation(app, small):
    fill(app, 4, "dead")
    assert app.bulk("state:dead").retry(id="ABCDEFGHJK").id == "ABCDEFGHJK"
    assert [each.id for each in app.bulk_operations(finished=True)] == ["ABCDEFGHJK"]

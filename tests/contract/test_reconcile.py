"""Reconciliation: whether what completed jobs did still holds, on each engine."""

import sys

import pytest

from mainstay import Mainstay, Permanent, UsageError, by
from mainstay.control import reconcile as module
from mainstay.testing.kit import InlineWorker


@pytest.fixture
def app(store, clock):
    return Mainstay(store=store, clock=clock)


class World(dict):
    """Things by name, and the types that set and remove them."""

    put = drop = other = None


@pytest.fixture
def world(app):
    things = World()

    def about(job):
        return f"thing {job.args['name']}"

    def is_set(job):
        name, value = job.args["name"], job.args["value"]
        return None if things.get(name) == value else f"is {things.get(name)}, not {value}"

    @app.job(verify=is_set, subject=about)
    def put(name: str, value: int) -> None:
        if value < 0:
            raise Permanent("no debts")
        things[name] = value

    @app.job(verify=lambda job: job.args["name"] not in things, subject=about)
    def drop(name: str) -> None:
        del things[name]

    @app.job
    def other() -> None:
        pass

    things.put, things.drop, things.other = put, drop, other
    return things


@pytest.fixture
def run(app, clock):
    """Enqueue a job and run what is due; time goes on."""

    def run(type, *args):
        handle = type.enqueue(*args)
        InlineWorker(app).drain()
        clock.advance("1s")
        return handle

    return run


def found(report):
    return {each.id: (each.kind, each.text) for each in report.found}


def test_what_holds_is_not_reported(app, world, run):
    run(world.put, "a", 1)
    run(world.put, "b", 2)
    run(world.drop, "b")
    run(world.other)
    report = app.reconcile()
    assert report == ((), 2, 1, 4, True, 0, 0, 0)


def test_what_does_not_hold_is_reported_with_its_job_and_changed_by_nobody(app, world, run, clock):
    first, second = run(world.put, "a", 1), run(world.put, "b", 2)
    world["a"] = 7
    events = []
    app.events.on("discrepancy", lambda found: events.extend([found]))
    app.events.on("reconciled", lambda report: events.extend([report]))
    report = app.reconcile()
    (each,) = report.found
    assert each[:5] == (first.id, "put", "thing a", "wrong", "is 7, not 1")
    assert each.finished_at == app.get(first).finished_at
    assert (report.wrong, report.checked) == (1, 2)
    assert events == [each, report]
    assert world == {"a": 7, "b": 2}
    assert app.get(second).state == "completed"


def test_the_last_completed_job_about_a_thing_counts(app, world, run):
    run(world.put, "a", 1)
    last = run(world.drop, "a")
    assert app.reconcile().found == ()
    world["a"] = 1  # as the first job left it, but it was removed since
    assert found(app.reconcile()) == {last.id: ("wrong", "does not hold any more")}
    again = run(world.put, "a", 3)
    assert app.reconcile().found == ()
    world["a"] = 4
    assert found(app.reconcile()) == {again.id: ("wrong", "is 4, not 3")}


def test_a_job_that_was_enqueued_first_and_ended_last_counts(app, world, run, clock):
    late = world.put.options(delay="1h").enqueue("a", 2)
    run(world.put, "a", 1)
    clock.advance("2h")
    InlineWorker(app).drain()
    clock.advance("1s")
    assert app.get(late).state == "completed"
    assert app.reconcile().found == ()


def test_jobs_that_did_not_complete_say_nothing(app, world, run):
    run(world.put, "a", 1)
    dead = run(world.put, "a", -1)
    assert app.get(dead).state == "dead"
    report = app.reconcile()
    assert (report.checked, report.superseded, report.found) == (1, 0, ())


def test_a_job_under_way_about_the_same_thing_is_named(app, world, run):
    first, elsewhere = run(world.put, "a", 1), run(world.put, "b", 1)
    world.clear()
    waiting = world.drop.options(delay="1h").enqueue("a")
    report = app.reconcile()
    assert {each.id: (each.kind, each.other) for each in report.found} == {
        first.id: ("changing", waiting.id),
        elsewhere.id: ("wrong", None),
    }
    assert (report.wrong, report.changing) == (1, 1)


def test_a_job_that_ends_during_the_check_is_named(app, world, run, clock):
    first = run(world.put, "a", 1)
    run(world.put, "z", 1)
    meanwhile = []

    def slow(job):
        if job.args["name"] == "z":  # which ended last, so it comes first
            meanwhile.append(run(world.drop, "a"))
        return is_set(job)

    is_set = world.put.verification.holds
    world.put.verification = world.put.verification._replace(holds=slow)
    (each,) = app.reconcile().found
    assert (each.id, each.kind, each.other) == (first.id, "changing", meanwhile[0].id)


def test_a_verify_that_raises_is_reported_as_such(app, world, run):
    job = run(world.put, "a", 1)
    for broken, text in (
        (lambda job: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda job: sys.exit(0), "SystemExit: 0"),
        (lambda job: 7, "TypeError: verify returned 7: return None if all holds, else a text that says what is wrong"),
    ):
        world.put.verification = world.put.verification._replace(holds=broken)
        report = app.reconcile()
        assert found(report) == {job.id: ("unchecked", text)}
        assert (report.wrong, report.unchecked, report.checked) == (0, 1, 1)


def test_what_a_verify_says_is_bounded_and_harmless(app, world, run):
    run(world.put, "a", 1)
    world.put.verification = world.put.verification._replace(holds=lambda job: "\x1b[2J\0" + "x" * 10_000_000)
    (each,) = app.reconcile().found
    assert len(each.text) <= module.TEXT
    assert "\0" not in each.text


def test_types_time_and_number_can_be_chosen(app, world, run, clock):
    run(world.put, "a", 1)
    run(world.put, "b", 1)
    clock.advance("1h")
    last = run(world.drop, "b")
    world.clear()
    world["b"] = 1
    assert app.reconcile().wrong == 2
    assert app.reconcile(["put"]).wrong == 1  # b was dropped later: another type supersedes, too
    assert found(app.reconcile(since="10m")).keys() == {last.id}
    report = app.reconcile(limit=1)
    assert (report.looked, report.complete, set(found(report))) == (1, False, {last.id})
    assert app.reconcile(limit=3).complete
    with pytest.raises(UsageError, match="other has no verify="):
        app.reconcile(["other"])
    with pytest.raises(UsageError, match="since: "):
        app.reconcile(since="soon")


def test_it_goes_on_over_pages_and_lists_no_more_than_fit(app, world, run, monkeypatch):
    monkeypatch.setattr(module, "PAGE", 3)
    monkeypatch.setattr(module, "LISTED", 4)
    for name in "abcdefgh":
        run(world.put, name, 1)
    world.clear()
    report = app.reconcile()
    assert (report.wrong, len(report.found), report.looked, report.complete) == (8, 4, 8, True)
    assert report.found[0].subject == "thing h"


def test_fields_of_the_payload_name_the_thing_among_jobs_of_a_type(app, run):
    wrong = []

    @app.job(verify=lambda job: job.args["path"] not in wrong, subject=by("path"))
    def one(path: str) -> None: ...

    @app.job(verify=lambda job: True, subject=by("path"))
    def two(path: str) -> None: ...

    @app.job(verify=lambda job: job.result == "done")
    def alone() -> str:
        return "done"

    first, second = run(one, "a"), run(one, "a")
    run(two, "a")
    run(alone)
    run(alone)
    wrong.append("a")
    report = app.reconcile()
    assert {each.id: each.subject for each in report.found} == {second.id: "one a"}
    assert (report.checked, report.superseded) == (4, 1)
    assert first.id != second.id


def test_async_functions_and_older_payloads_are_checked(store, clock, run):
    before = Mainstay(store=store, clock=clock)
    seen = []

    async def holds(job):
        seen.append((job.args, job.version))
        return "is gone"

    app = Mainstay(store=store, clock=clock)

    @before.job
    def save(path: str) -> None: ...

    handle = save.enqueue("a")
    InlineWorker(before).drain()

    @app.job(
        verify=holds, name="save", version=2, upgrades={1: lambda given: {"place": given["path"]}}, subject=by("place")
    )
    def stored(place: str) -> None: ...

    assert found(app.reconcile()) == {handle.id: ("wrong", "is gone")}
    assert seen == [({"place": "a"}, 2)]


def test_without_such_a_type_there_is_nothing_to_do(app):
    assert app.reconcile() == ((), 0, 0, 0, True, 0, 0, 0)

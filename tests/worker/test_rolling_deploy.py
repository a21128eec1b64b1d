"""Two versions of a program at work at the same time: what one cannot run, the other does."""

from dataclasses import make_dataclass
from datetime import datetime

import pytest

from mainstay import Mainstay
from mainstay.core.clock import MINUTE, ManualClock
from mainstay.core.draft import Draft
from mainstay.testing.kit import InlineWorker
from tests.contract.building import worker
from tests.waiting import eventually

pytestmark = pytest.mark.engines("sqlite", "postgres", "redis")


@pytest.fixture
def programs(engine_url):
    """Makes programs on one store."""
    made = []

    def program(clock=None):
        made.append(Mainstay(engine_url, clock=clock))
        return made[-1]

    yield program
    for app in made:
        app.close()


@pytest.fixture
def before(programs):
    """The program as it was."""
    app = programs()

    @app.job
    def resize(path: str) -> str:
        return f"before {path}"

    app.resize = resize
    return app


@pytest.fixture
def after(programs):
    """The program with another parameter."""
    app = programs()

    @app.job
    def resize(path: str, width: int) -> str:
        return f"after {path} {width}"

    app.resize = resize
    return app


def test_each_job_runs_where_its_signature_is(before, after):
    with before.worker(concurrency=2), after.worker(concurrency=2):
        jobs = [(before.resize.enqueue(str(n)), f"before {n}") for n in range(10)]
        jobs += [(after.resize.enqueue(str(n), n), f"after {n} {n}") for n in range(10)]
        assert [job.result(timeout=100) for job, _ in jobs] == [wanted for _, wanted in jobs]
    for job, _ in jobs:
        assert job.job().attempt == 1, "a release costs no attempt"


def test_a_change_within_an_argument_is_a_difference_too(programs):
    def program(*fields):
        app = programs()
        kind = make_dataclass("Size", fields)

        def resize(size):
            return type(size).__name__

        resize.__annotations__ = {"size": kind}
        return app, app.job(resize), kind

    old, resize, small = program(("width", int))
    new, resized, large = program(("width", int), ("height", int))
    with old.worker(concurrency=2), new.worker(concurrency=2):
        jobs = [resize.enqueue(small(1)) for _ in range(5)] + [resized.enqueue(large(1, 2)) for _ in range(5)]
        assert {job.result(timeout=60) for job in jobs} == {"Size"}


def test_a_payload_that_nobody_takes_is_dead_at_once(before, after):
    with before.worker(), after.worker():
        ((id, _),) = before.store.enqueue([Draft("resize", '{"path": 1}')], before.clock.now())
        eventually(lambda: before.get(id).state == "dead", "it is dead")
    job = before.get(id)
    assert (job.reason, job.token) == ("invalid payload", 1)


def test_a_worker_says_what_it_takes_before_it_claims(before):
    known = []
    claim = before.store.claim

    def claiming(*given, **named):
        known.append(bool(before.store.declarations(before.clock.now(), "resize")))
        return claim(*given, **named)

    before.store.claim = claiming
    with before.worker():
        eventually(lambda: known, "it claims")
    assert known[0]


# on a clock that the test moves: `turn` lets one program run what is due ------------------------------------------------
@pytest.fixture
def clock():
    return ManualClock()


def turn(app, id):
    """The job after the program has run everything that is due."""
    InlineWorker(app).drain()
    return app.store.get(id)


def dated(app, *more):
    """Declare a type of which the schema takes any text as a date; more parameters make it other code."""

    def note(at, **rest):
        raise AssertionError("no payload of these tests is valid")

    def wide(at, width=1):
        raise AssertionError("no payload of these tests is valid")

    function = wide if more else note
    function.__annotations__ = {"at": datetime, "rest": int, "width": int}
    app.job(name="note")(function)
    app.store.register(
        worker(f"live{len(more)}", app.clock.now(), 60 * MINUTE), [app.registry["note"].declaration("note")]
    )


def test_a_payload_that_every_live_code_has_refused_is_dead(programs, clock):
    one, two = programs(clock), programs(clock)
    dated(one)
    dated(two, "width")
    ((id, _),) = one.store.enqueue([Draft("note", '{"at": "no date"}')], clock.now())
    for tries in (1, 2):
        waiting = turn(one, id)
        assert (waiting.state, waiting.token) == ("scheduled", tries), (
            "the other takes any text, as far as its schema tells"
        )
        clock.move_to(waiting.run_at)
    dead = turn(two, id)
    assert (dead.state, dead.reason, dead.token, dead.attempt) == ("dead", "invalid payload", 3, 1)
    assert "no live worker took it within 2.5s" in dead.error
    one.retry(id)
    assert turn(two, id).state == "scheduled", "whoever retries it may have mended the code"


# ------------------------------------------------------------------------------------------------------------------------
def test_a_payload_of_a_newer_version_waits_for_its_code(before, programs):
    app = programs()

    @app.job(version=2)
    def resize(file: str) -> str:
        return f"second {file}"

    handle = resize.enqueue("a")
    with before.worker():
        waiting = eventually(lambda: handle.state == "scheduled" and handle.job(), "the first worker leaves it")
        assert waiting.reason == "waits for a worker with version 2 of resize"
        assert "the payload has version 2" in waiting.error
        assert [each.outcome for each in app.attempts(handle)] == ["released"]
        with app.worker():
            assert handle.result(timeout=60) == "second a"
    assert handle.job().attempt == 1


def test_older_payloads_are_upgraded_step_by_step(before, programs):
    app, handle = programs(), before.resize.enqueue("a")

    @app.job(version=4, upgrades={1: lambda old: {"file": old["path"]}, 3: lambda old: old | {"size": 7}})
    def resize(file: str, size: int) -> str:
        return f"{file} {size}"

    with app.worker():
        assert handle.result(timeout=30) == "a 7"
        assert resize.enqueue("b", 1).result(timeout=30) == "b 1"


def test_an_upgrade_that_fails_makes_the_payload_invalid(before, programs):
    app, handle = programs(), before.resize.enqueue("a")

    @app.job(version=2, upgrades={1: lambda old: old["missing"]})
    def resize(file: str) -> str:
        return file

    with app.worker():
        eventually(lambda: handle.state == "dead", "it is dead", 30)
    assert handle.job().reason == "invalid payload"
    assert "upgrades[1] of resize raised KeyError" in handle.job().error


def test_a_renamed_type_takes_the_jobs_of_its_old_name(before, programs):
    app, handle = programs(), before.resize.enqueue("a")

    @app.job(aliases=["resize", "shrink"])
    def scale(path: str) -> str:
        return f"scaled {path}"

    by_name = app.enqueue("shrink", {"path": "b"})
    assert by_name.job().type == "scale"
    with app.worker():
        assert (handle.result(timeout=30), by_name.result(timeout=30)) == ("scaled a", "scaled b")
        assert set(app.store.workers()[0].types) == {"resize", "scale", "shrink"}
    assert {info.name for info in app.store.types()} == {"resize", "scale", "shrink"}

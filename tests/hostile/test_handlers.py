"""Handlers that leave by every door but the right one: their job ends on record, and the worker goes on."""

import asyncio
import signal

import pytest

from mainstay import Mainstay, Retry
from mainstay.core.errors import ConfigError
from tests.hostile.conftest import at_work, ended, finished

DOORS = [
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
    asyncio.CancelledError,
    StopIteration,
    RecursionError,
    MemoryError,
]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
def test_an_attempt_that_leaves_by_another_door_has_failed(app, door, kind):
    def act():
        raise door("out")

    @app.job(retry=Retry.fixed(2, "1ms"))
    def plain():
        act()

    @app.job(retry=Retry.fixed(2, "1ms"))
    async def asynchronous():
        act()

    @app.job
    def fine():
        return "fine"

    with at_work(app, concurrency=1):
        job = ended(app, {"plain": plain, "asynchronous": asynchronous}[kind].enqueue())
        assert fine.enqueue().result(timeout=20) == "fine"
    assert (job.state, job.attempt) == ("dead", 2)
    attempts = app.attempts(job.id)
    assert [attempt.outcome for attempt in attempts] == ["failed", "failed"]
    assert all(door.__name__ in attempt.error or "StopIteration" in attempt.error for attempt in attempts)


def test_a_handler_that_recurses_without_end(app):
    @app.job(retry=1)
    def deep():
        return deep()

    with at_work(app):
        job = ended(app, deep.enqueue())
    assert "RecursionError" in job.error


POISONED = """
import os, sys
from mainstay import Mainstay
app = Mainstay(sys.argv[1])

@app.job(retry=99)
def poison():
    os._exit(7)

@app.job
def fine():
    return "fine"

if __name__ == "__main__":
    sys.exit(app.worker(concurrency=2, grace="1s").run())
"""


def test_b39_a_job_that_takes_its_worker_down_is_dead_after_three(app, program, path):
    """No supervisor, no process slots: the worker itself is gone each time, and others go on with the rest."""
    poison = app.enqueue("poison", {}, retry=99)
    for crash in range(1, 4):
        worker = program(POISONED, app.store.url)
        worker.communicate(timeout=30)
        assert worker.returncode == 7
        assert app.get(poison.id).token == crash
    fine = app.enqueue("fine", {})
    survivor = program(POISONED, app.store.url)
    job = ended(app, poison)
    assert (job.state, job.crashes, job.attempt) == ("dead", 3, 3)
    assert job.reason.startswith("poison")
    assert fine.result(timeout=20) == "fine"
    attempts = app.attempts(poison.id)
    assert [attempt.outcome for attempt in attempts] == ["crashed"] * 3
    assert all(attempt.error.startswith("WorkerLost") for attempt in attempts)
    survivor.send_signal(signal.SIGTERM)
    finished(survivor)


def test_b34_a_job_of_a_type_that_nobody_knows_waits_and_stops_nobody(app):
    @app.job
    def known():
        return "known"

    strange = [app.enqueue("nobody.knows", {}, priority=9) for _ in range(50)]
    before = app.store.get_many([handle.id for handle in strange])
    with at_work(app):
        assert known.enqueue().result(timeout=20) == "known"
    assert app.store.get_many([handle.id for handle in strange]) == before


def test_a_worker_that_knows_nothing_says_so(app):
    with pytest.raises(ConfigError, match=r"no @app.job is defined"):
        app.worker()


def test_a_handler_whose_types_cannot_be_read_stops_the_worker_before_its_first_job(app):
    @app.job
    def unreadable(value: "NoSuchType"):  # noqa: F821
        pass

    waiting = app.enqueue_many([])
    with pytest.raises(TypeError, match="NoSuchType"):
        app.worker().start()
    assert waiting == []
    assert app.store.workers() == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import nothing_of_that_name\n", "nothing_of_that_name"),
        ("raise RuntimeError('at import')\n", "at import"),
        ("def f(:\n", "broken.py"),
        ("app = 7\n", "app"),
        ("", "app"),
        ("import sys; sys.exit(3)\n", ""),  # its own decision
    ],
    ids=["missing module", "raises", "syntax", "no application", "empty", "exits"],
)
def test_a_module_that_cannot_be_imported_is_named_and_nothing_hangs(program, tmp_path, source, words):
    (tmp_path / "broken.py").write_text(source, encoding="utf-8")
    start = "import sys; from mainstay.cli.main import main; sys.exit(main(['worker', '--app', 'broken:app']))"
    worker = program(start)
    _, err = worker.communicate(timeout=30)
    assert worker.returncode not in (0, -signal.SIGKILL)
    assert words in err
    assert "Traceback" not in err


def test_two_applications_on_one_file_keep_to_their_own_types(path):
    first, second = Mainstay(f"sqlite:///{path}"), Mainstay(f"sqlite:///{path}")

    @first.job
    def of_first(n):
        return ["first", n]

    @second.job
    def of_second(n):
        return ["second", n]

    with at_work(first), at_work(second):
        handles = [second.enqueue("of_first", {"n": n}) for n in range(20)]
        handles += [first.enqueue("of_second", {"n": n}) for n in range(20)]
        found = [handle.result(timeout=20) for handle in handles]
    assert found == [["first", n] for n in range(20)] + [["second", n] for n in range(20)]
    first.close()
    second.close()


TWIN = """
import sys
from mainstay import Mainstay
app = Mainstay(sys.argv[1])

@app.job
def work(): pass

with app.worker(identity="twin") as worker:
    print(worker.id)
"""


def test_two_processes_with_one_name_are_two_workers(app, program):
    @app.job
    def work():
        pass

    with at_work(app, identity="twin"):
        (mine,) = (worker.id for worker in app.store.workers())
        theirs = finished(program(TWIN, app.store.url)).strip()
    assert mine != theirs
    assert mine.startswith("twin-")
    assert theirs.startswith("twin-")

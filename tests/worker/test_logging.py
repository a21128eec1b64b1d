"""What handlers log: by `logging` or by `ctx.log`, bounded, at the end of its attempt complete."""

import asyncio
import contextvars
import importlib
import logging
import sys
import threading
from contextlib import contextmanager

import pytest

from mainstay import Mainstay, UsageError, ctx
from mainstay.worker import logging_capture
from mainstay.worker.logging_capture import capture_logging
from tests.waiting import eventually

log = logging.getLogger("shop.mail")


@contextmanager
def bare(*handlers):
    """The root logger as in a program that has set up only these handlers. pytest adds its own for each phase of a test."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers[:] = handlers
    root.setLevel(logging.WARNING)
    try:
        yield root
    finally:
        root.handlers[:] = before
        root.setLevel(level)


@pytest.fixture
def app(engine_url):
    app = Mainstay(engine_url)
    yield app
    app.close()


@pytest.fixture
def local(tmp_path):
    app = Mainstay(f"sqlite:///{tmp_path}/jobs.db")
    yield app
    app.close()


def logged(app, handler, handlers=(), **options):
    """Run a handler in a worker and return its log."""
    job = app.job(retry=1)(handler).enqueue()
    with bare(*handlers), app.worker(concurrency=2, **options):
        eventually(lambda: app.get(job.id).finished_at, "the job to end")
    return app.logs(job.id, limit=100_000)


def shown(lines):
    return [(line.level, line.message) for line in lines]


class Unprintable:
    def __str__(self):
        raise RuntimeError("no words")


class Chatty:
    def __str__(self):
        log.warning("said while another record was written")
        return "chatty"


def talk():
    log.debug("not recorded")
    log.info("sent %s to %s", "mail", "ada")
    log.log(35, "a level of its own")
    with ctx.stage("send"):
        try:
            int("no luck")
        except ValueError:
            log.exception("failed")
    logging.getLogger().critical("the root logger")
    logging.getLogger("mainstay.worker").error("not captured")


TOLD = [
    ("info", "sent mail to ada"), ("warning", "a level of its own"), ("error", "failed"), ("info", "send done"),
    ("error", "the root logger"),
]  # fmt: skip


@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_records_of_logging_land_in_the_log_of_the_job(app, is_async):
    def plain() -> None:
        talk()

    async def loop() -> None:
        await asyncio.sleep(0)
        talk()

    lines = logged(app, loop if is_async else plain)
    assert [(level, message.split("\n")[0]) for level, message in shown(lines)] == TOLD
    failed = lines[2]
    assert "ValueError: invalid literal" in failed.message
    assert (failed.stage, failed.fields) == ("send", {"logger": "shop.mail"})
    assert lines[3].fields.keys() == {"ms"}


def test_records_of_a_process_slot_land_there_too(tmp_path, monkeypatch):
    (tmp_path / "logging_jobs.py").write_text(
        f"import logging\nfrom mainstay import Mainstay\napp = Mainstay('sqlite:///{tmp_path}/jobs.db')\n"
        "@app.job(process=True)\ndef apart() -> None:\n"
        "    logging.getLogger('shop').info('from another process')\n    logging.getLogger('shop').debug('no')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    jobs = importlib.import_module("logging_jobs")
    try:
        handle = jobs.apart.enqueue()
        with jobs.app.worker(concurrency=1, process_slots=1):
            handle.result(timeout=60)
        (line,) = jobs.app.logs(handle)
        assert (line.level, line.message, line.fields) == ("info", "from another process", {"logger": "shop"})
    finally:
        jobs.app.close()
        del sys.modules["logging_jobs"]


def test_a_thread_with_the_context_of_the_handler_logs_to_its_job(local):
    def handler() -> None:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(log.warning, "from a thread"))
        thread.start()
        thread.join()
        lost = threading.Thread(target=log.warning, args=("from no job",))
        lost.start()
        lost.join()

    assert shown(logged(local, handler)) == [("warning", "from a thread")]


def test_what_cannot_be_written_fails_nothing(local):
    def handler() -> None:
        log.warning("%s %s", *["too few"])
        log.warning(Unprintable())
        log.warning("%s", Chatty())
        log.warning("nul \0 and \x1b[31mcolour \ud800")
        log.warning("x" * (10 << 20))
        ctx.log("fields", big="y" * (10 << 20), n=10**30, nul="\0", when=3)

    lines = logged(local, handler, handlers=[logging.NullHandler()])
    texts = [line.message for line in lines]
    assert texts[0] == "%s %s (its arguments raised TypeError)"
    assert "raised RuntimeError" in texts[1]
    assert texts[2] == "chatty"
    assert texts[3] == "nul \ufffd and \x1b[31mcolour \ufffd"
    assert len(texts[4]) <= 10_100
    assert "characters left out" in texts[4]
    assert "characters left out" in lines[5].fields["big"]
    assert (lines[5].fields["n"], lines[5].fields["nul"], lines[5].fields["when"]) == (str(10**30), "\ufffd", 3)


@pytest.mark.parametrize(("level", "count"), [("off", 0), ("error", 1), ("debug", 3)])
def test_the_level_is_a_setting(local, level, count):
    def handler() -> None:
        for each in (logging.DEBUG, logging.INFO, logging.ERROR):
            log.log(each, "line")

    assert len(logged(local, handler, job_log_level=level)) == count


def test_records_outside_jobs_pass_untouched(capsys, monkeypatch):
    """Where nobody has set up `logging`, warnings go to stderr, and the level is as before when the last worker has ended."""
    monkeypatch.setattr(
        logging_capture, "_capture", logging_capture.LogCapture()
    )  # a worker that a test gave up counts there
    with bare() as root:
        ends = [capture_logging("info"), capture_logging("info")]
        log.info("not shown")
        log.warning("shown")
        ends.pop()()
        assert root.level == logging.INFO
        ends.pop()()
        assert (root.handlers, root.level) == ([], logging.WARNING)
    assert capsys.readouterr().err == "shown\n"


def test_the_levels_of_an_application_that_has_set_up_logging_stay(local, capsys):
    def handler() -> None:
        log.info("below the level of the application")
        log.warning("once")

    assert shown(logged(local, handler, handlers=[logging.StreamHandler()])) == [("warning", "once")]
    assert capsys.readouterr().err.count("once") == 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_log_is_bounded_and_says_so(app, fails):
    def handler() -> None:
        for n in range(200_000 if app.store.url.endswith("jobs.db") else 2_000):
            ctx.log(f"line {n}")
        if fails:
            raise ValueError("at the end")

    lines = logged(app, handler, job_log_lines=1_000)
    assert [line.message for line in lines[:1_000]] == [f"line {n}" for n in range(1_000)]
    first, last = lines[1_000:]
    assert first.message.startswith("… the log is full: an attempt keeps 1,000 lines")
    assert last.message.startswith("… ")
    assert "lines left out" in last.message
    assert (first.level, last.level) == ("warning", "warning")


def test_a_log_is_bounded_by_its_size(local):
    def handler() -> None:
        for _ in range(100):
            ctx.log("x" * 1_000)

    lines = logged(local, handler, job_log_size=10_000)
    assert len(lines) == 12
    assert lines[-1].message.startswith("… 90 lines left out")


def test_there_are_four_levels(local):
    def handler() -> None:
        for level in ("debug", "info", "warning", "error"):
            ctx.log("line", level=level)
        for wrong in ("warn", "critical", "stage", 7):
            with pytest.raises(UsageError, match="no such level"):
                ctx.log("line", level=wrong)

    assert [line.level for line in logged(local, handler)] == ["debug", "info", "warning", "error"]


def test_progress_is_a_number_a_share_or_an_object(app):
    at, go_on = threading.Event(), threading.Event()

    def handler() -> None:
        for report in (
            lambda: ctx.progress(3, 8),
            lambda: ctx.progress(0.4),
            lambda: ctx.progress(phase="embedding", batch=3, of=8),
        ):
            report()
            at.set()
            go_on.wait(20)
            go_on.clear()
        with pytest.raises(UsageError, match="the limit is 10,000"):
            ctx.progress(text="x" * 10_001)

    handle = app.job(handler).enqueue()
    found = []
    with app.worker(concurrency=1):
        for expected in (3 / 8, 0.4, None):
            assert at.wait(20)
            at.clear()
            job = eventually(
                lambda e=expected: (j := handle.job()).progress == e and (e is not None or j.details) and j, "progress"
            )
            found.append((job.progress, job.details))
            go_on.set()
        handle.result(timeout=20)
    assert found == [(3 / 8, None), (0.4, None), (None, {"phase": "embedding", "batch": 3, "of": 8})]

"""What a handler says does not reach the store, the worker's log or stderr with its secrets."""

import json
import logging
import sys

import pytest

from mainstay import Mainstay, Permanent, Retry, Review, Snooze, ctx, redacting
from mainstay.cli.worker import WorkerLog
from mainstay.core.export import PARTS

SECRETS = ("hunter-error", "hunter-frame", "hunter-log", "hunter-field", "hunter-own", "hunter-stage", "hunter-said", "hunter-asked", "hunter-cause", "hunter-code", "hunter-exit", "hunter-progress", "hunter-policy")  # fmt: skip


@pytest.fixture
def app(tmp_path, monkeypatch):
    monkeypatch.setenv("MAINSTAY_REDACT", "ssn")
    redacting.forget()
    app = Mainstay(f"sqlite:///{tmp_path}/jobs.db")
    app.job(fails, retry=1)
    app.job(asks)
    app.job(leaves, retry=1)
    app.job(waits)
    app.job(gives_up, process=True)
    app.job(lambda: 1 / 0, name="undecided", retry=Retry(when=decide))
    yield app
    app.close()
    redacting.forget()


def decide(error: BaseException) -> bool:
    raise LookupError("password=hunter-policy")


def fails() -> None:
    with ctx.stage("token=hunter-stage"):
        ctx.log(
            "sent with Authorization: Bearer hunter-log", headers={"Authorization": "hunter-field"}, ssn="hunter-own"
        )
    logging.getLogger("shop").warning("password=hunter-said")
    try:
        raise ConnectionError("postgresql://ann:hunter-cause@db/shop")  # noqa: TRY301  (a cause of its own)
    except ConnectionError as error:
        raise ValueError("the answer was {'api_key': 'hunter-error'}") from error


def leaves() -> None:
    ctx.progress(1, 2, password="hunter-progress")
    sys.exit("password=hunter-exit")


def asks() -> None:
    raise Review("may I use secret=hunter-asked?", output={"a": 1}, code="password=hunter-code")


def waits() -> None:
    raise Snooze("1h", "token: hunter-said")


def gives_up() -> None:
    ctx.log("in a process", api_key="hunter-field")
    raise Permanent("failed with {'password': 'hunter-frame'}")


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_handlers_say_is_redacted_before_it_is_stored_or_logged(app, capfd, monkeypatch, form):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    WorkerLog(app, "debug", form)
    jobs = [app.enqueue(name) for name in ("fails", "asks", "waits", "gives_up", "leaves", "undecided")]
    app.drain()
    stored = json.dumps([app.store.export_rows(part, None, 100).rows for part in PARTS])
    said = "".join(capfd.readouterr())
    assert [secret for secret in SECRETS if secret in stored] == []
    assert [secret for secret in SECRETS if secret in said] == []
    assert "[redacted:" in said
    (attempt,) = app.attempts(jobs[0])
    assert attempt.error == "ValueError: the answer was {'api_key': '[redacted:apikey]'}"
    assert "ConnectionError: postgresql://ann:***@db/shop" in attempt.traceback
    assert "the answer was" in said
    assert app.attempts(jobs[4])[0].code is None  # what sys.exit says is a message: a code is not encrypted


def test_payloads_and_results_are_stored_as_given(app):
    app.job(lambda password: {"token": password}, name="echo")
    job = app.enqueue("echo", {"password": "hunter-error"})
    app.drain()
    assert app.get(job.id).args == {"password": "hunter-error"}
    assert app.get(job.id).result == {"token": "hunter-error"}


def test_a_failing_hook_tells_no_secret(app, capfd):
    @app.on_start
    def hook(event):
        raise ValueError("password=hunter-error")

    app.job(lambda: None, name="nothing")
    app.enqueue("nothing")
    app.drain()
    told = capfd.readouterr().err
    assert "password=[redacted:password]" in told
    assert "hunter-error" not in told

"""The system of seed 002, on SQLite and PostgreSQL: CVs, mails, syncs and reports, people who decide, and workers that are killed."""

import importlib
import json
import subprocess
import sys
import time
import zlib
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest
from sqlalchemy import text

from examples.document_desk import pdfs
from examples.document_desk.world import Desk, world
from mainstay import NotAllowed
from mainstay.senders.signature import signed
from tests.servers.engines import installation
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
PACKAGE = "examples.document_desk."
KEPT = ("pdfs", "world")  # modules that read nothing from the environment
KILLS = 20
REVIEWER = {"actor": "rita", "roles": ["recruiter"]}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module", params=["sqlite", "postgres18"])
def desk(request, tmp_path_factory):
    """The application on one engine, with its servers, and a worker in this process."""
    folder = tmp_path_factory.mktemp("desk")
    database = f"sqlite:///{folder / 'desk.db'}" if request.param == "sqlite" else installation(request.param)
    with world(folder, database) as around, pytest.MonkeyPatch.context() as patch:
        for name, value in around.environment.items():
            patch.setenv(name, value)
        parts = loaded(patch)
        with Desk() as web:
            (around.files / "reports").mkdir()
            with parts.jobs.app.worker(concurrency=8, process_slots=2):
                yield SimpleNamespace(url=web.url, around=around, engine=request.param, **vars(parts))
        parts.jobs.app.close()
        parts.database.engine.dispose()


def loaded(patch):
    """The modules of the application, anew: they read the environment when they are imported."""
    for name in [name for name in sys.modules if name.startswith(PACKAGE)]:
        if name.removeprefix(PACKAGE) not in KEPT:
            patch.delitem(sys.modules, name)
    names = (
        "database",
        "jobs",
        "chapters",
        "operations",
        "desk",
    )  # in this order: each finds the new one of the others
    found = {name: importlib.import_module(PACKAGE + name) for name in names}
    return SimpleNamespace(app=found["jobs"].app, web=found.pop("desk"), **found)


def sent(desk, number, *before, after=0.0, **changes):
    """Upload a CV for which the model has answers ready: these, then the right one with these changes."""
    lines, person = pdfs.person(f"{number}-{desk.engine}")
    answer = {"text": json.dumps({**person, **changes}), "after": after}
    desk.around.faults.play({lines[0]: [*before, answer]}, then="model")
    return desk.chapters.uploaded(desk, pdfs.cv(*lines)), person


def ended(desk, job, state="completed", seconds=60):
    return eventually(lambda: (found := desk.app.get(job)).state == state and found, f"{job} is {state}", seconds)


# the whole story, first: it takes as long as all others ---------------------------------------------------------------
def test_the_story_while_workers_are_killed(tmp_path):
    """S2-02, S2-46 to S2-48 and S2-61 to S2-64; afterwards every profile, mail, sync and report is checked."""
    with (tmp_path / "story").open("w+") as told:  # no pipe: the servers of the session would keep it open
        command = [sys.executable, "-m", "examples.document_desk", str(KILLS)]
        code = subprocess.run(command, cwd=ROOT, stdout=told, stderr=told, check=False).returncode
        told.seek(0)
        found = told.read()
    print(found)
    assert code == 0
    assert f"{KILLS} workers were killed" in found
    assert found.count("✓") >= 40
    assert max(map(len, found.splitlines())) <= 80


# cv_processing --------------------------------------------------------------------------------------------------------
def test_text_at_10_percent_the_model_at_40_and_validation_at_80(desk):
    """S2-43 to S2-45: the stages, the characters in the log, and what the output has."""
    seen = []
    forget = desk.app.events.on("progress", lambda update: seen.append((update.stage, update.done, update.total)))
    cv, person = sent(desk, "stages")
    job = ended(desk, cv["job"])
    forget()
    stages = [("text_extraction", 10, 100), ("llm_processing", 40, 100), ("validation", 80, 100)]
    assert [each for each in dict.fromkeys(seen) if each in stages] == stages
    assert (job.type, job.args) == ("cv_processing", {"fileUrl": cv["fileUrl"], "profileId": cv["profileId"]})
    length = len("\n".join(person.values()))
    lines = eventually(lambda: whole_log(desk, job.id), "the last line of the log", 10)
    assert lines[f"Extracted {length} characters"].fields == {"characters": length, "pages": 1}
    assert [line.stage for message, line in lines.items() if message.endswith(" done")] == [name for name, *_ in stages]
    assert (job.result["structured"], job.result["extractedLength"]) == (person, length)
    assert job.result["metrics"].keys() == {"pages", "tokens_in", "tokens_out", "model_ms"}
    assert desk.around.faults.asked(person["name"]) == 1


def whole_log(desk, job):
    """The lines of a log by their text, once the last stage has ended: that line is written after the completion."""
    lines = {line.message: line for line in desk.app.logs(job)}
    return lines if "validation done" in lines else None


def test_the_profile_is_stored_by_reference_in_the_transaction_of_the_completion(desk):
    """S2-45."""
    cv, person = sent(desk, "stored")
    job = ended(desk, cv["job"])
    assert job.ref == f"profile/{cv['profileId']}"
    profile = desk.database.profile(cv["profileId"])
    assert (profile.status, profile.job, profile.stored) == ("ready", job.id, 1)
    assert {name: getattr(profile, name) for name in person} == person
    shown = httpx2.get(f"{desk.url}/profiles/{cv['profileId']}").json()
    assert (shown["status"], shown["job"]["state"]) == ("ready", "completed")
    if desk.engine != "sqlite":
        assert writers(desk, cv["profileId"], job.id) == 1


def writers(desk, profile, job):
    """How many transactions have last written the profile and its job."""
    both = """SELECT count(DISTINCT id) FROM (SELECT xmin::text AS id FROM profile WHERE id = :profile UNION ALL
              SELECT job.xmin::text FROM mainstay.job JOIN mainstay.body ON body.job = job.seq WHERE body.id = :job) x"""
    with desk.database.engine.begin() as connection:
        return connection.execute(text(both), {"profile": profile, "job": job}).scalar()


def test_a_profile_that_is_gone_when_its_cv_is_read_leaves_nothing_half_done(desk):
    """S2-45: the write and the completion are one, also when the write cannot be made."""
    cv, person = sent(desk, "gone", after=1.0)
    eventually(lambda: desk.around.faults.asked(person["name"]), "the model is asked", 60)
    with desk.database.engine.begin() as connection:
        connection.execute(text("DELETE FROM profile WHERE id = :id"), {"id": cv["profileId"]})
    job = ended(desk, cv["job"], "dead")
    assert (job.code, desk.app.list(f"parent:{job.id}")) == ("no-profile", [])


def test_a_real_model_stores_nothing_that_is_not_in_the_cv(desk):
    """S2-44."""
    desk.around.faults.play({}, then="model")
    cv = desk.chapters.uploaded(desk, pdfs.cv(*pdfs.LENA))
    job = ended(desk, cv["job"], "review")  # the CV has no address, so the model invents one
    assert "email" in job.reason
    assert job.result["metrics"]["tokens_out"] > 0
    assert desk.database.profile(cv["profileId"]).status == "waiting"


def test_a_model_that_is_busy_costs_no_attempt_and_one_that_fails_is_asked_again_after_60_s(desk):
    """S2-44, S2-11 and S2-12."""
    cv, person = sent(desk, "busy", {"status": 429, "retry_after": 1}, 500)
    failed = eventually(lambda: failure(desk, cv["job"]), "the model fails", 60)
    job = ended(desk, cv["job"], "scheduled")
    assert (failed.code, job.attempt) == ("500", 1)
    assert 59.9 <= (job.run_at - failed.ended_at).total_seconds() <= 90.1
    desk.app.bulk(ids=[job.id]).reschedule(delay=0, actor="operator")
    assert ended(desk, job.id).result["structured"] == person


def failure(desk, job):
    return next((each for each in desk.app.attempts(job) if each.outcome == "failed"), None)


# people decide --------------------------------------------------------------------------------------------------------
def test_an_invented_address_goes_to_a_person_and_is_stored_when_approved(desk):
    cv, person = sent(desk, "invented", email="invented@example.com")
    job = ended(desk, cv["job"], "review")
    assert (job.reason, job.code) == ("not found in the text: email; correct what is wrong", "uncertain")
    assert job.result["structured"]["email"] == "invented@example.com"
    output = {**job.result, "structured": person}
    with pytest.raises(NotAllowed):
        desk.app.approve(job.id, output=output, actor="eve")
    desk.app.approve(job.id, "asked by phone", output=output, **REVIEWER)
    eventually(lambda: desk.database.profile(cv["profileId"]).status == "ready", "the profile is stored", 30)
    assert desk.database.profile(cv["profileId"]).email == person["email"]
    eventually(lambda: desk.chapters.mails_to(desk.around.box, person["email"]), "the candidate gets a mail", 30)


def test_what_a_person_rejects_is_never_stored(desk):
    cv, _ = sent(desk, "rejected", name="Somebody Else")
    job = ended(desk, cv["job"], "review")
    desk.app.reject(job.id, "not a CV", **REVIEWER)
    (waiting,) = desk.app.list(f"type:store_approved ref:profile/{cv['profileId']}")
    ended(desk, waiting.id, "cancelled")
    assert desk.database.profile(cv["profileId"]).status == "waiting"


def test_a_scan_has_no_text_and_a_person_types_it_in(desk):
    cv = desk.chapters.uploaded(desk, pdfs.scan())
    job = ended(desk, cv["job"], "review")
    assert "no text in this file" in job.reason
    assert job.result["extractedLength"] == 0
    assert desk.around.faults.asked(cv["fileUrl"]) == 0
    desk.chapters.approve(cv, name="Sam Scan", email=f"sam-{desk.engine}@example.org", title="Carpenter")


def bomb():
    """A PDF whose only stream is 100 MB of zeros, packed: more than pypdf unpacks."""
    stream = zlib.compress(b"0" * 100_000_000)
    plain = pdfs.cv("x")
    start = plain.index(b"stream\n") + 7
    end = plain.index(b"endstream")
    swollen = plain[:start] + stream + b"\n" + plain[end:]
    return swollen.replace(b"/ASCII85Decode ", b"").replace(b"/Length ", b"/Length %d %%" % len(stream), 1)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (lambda: pdfs.cv("x", password="secret"), "encrypted"), (lambda: pdfs.cv("x")[:200], "not-a-pdf"),
        (bomb, "not-a-pdf"), (lambda: pdfs.cv("x", pages=31), "too-long"),
    ],
    ids=["password", "half", "bomb", "pages"],
)  # fmt: skip
def test_what_no_attempt_can_read_is_dead_at_once(desk, content, code):
    job = ended(desk, desk.chapters.uploaded(desk, content())["job"], "dead")
    assert (job.code, job.attempt) == (code, 1)
    assert "ask for" in job.error


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"fileUrl": "/files/../../etc/passwd", "profileId": "P-1"}, "no-file"),
        ({"fileUrl": "file:///etc/passwd", "profileId": "P-1"}, "no-file"),
        ({"fileUrl": f"/files/{'0' * 64}.pdf", "profileId": "P-nobody"}, "no-profile"),
    ],
)
def test_a_payload_reaches_no_other_file_and_no_unknown_profile(desk, args, code):
    job = ended(desk, desk.app.enqueue("cv_processing", args).id, "dead")
    assert (job.code, job.attempt) == (code, 1)


@pytest.mark.parametrize(
    ("content", "status"), [(b"MZ", 415), (b"%PDF-" + b"0" * 5_000_000, 413)], ids=["exe", "large"]
)
def test_an_upload_that_cannot_be_a_cv_is_refused(desk, content, status):
    before = desk.app.bulk("type:cv_processing").count()
    assert desk.chapters.uploaded(desk, content).status_code == status
    assert desk.app.bulk("type:cv_processing").count() == before


def test_a_body_without_a_length_is_not_read(desk):
    reply = httpx2.post(f"{desk.url}/cvs", content=iter([b"%PDF-"] * 10))
    assert (reply.status_code, reply.json()["detail"]) == (411, "say how long the body is: Content-Length")


# the other types ------------------------------------------------------------------------------------------------------
def test_mails_in_a_batch_under_a_rate_451_then_250_and_550(desk):
    """S2-46."""
    desk.chapters.mailing(desk.around.box)


def test_a_sync_goes_on_from_the_cursor_of_the_page_that_failed(desk):
    """S2-47."""
    desk.chapters.failing_source(desk.around.services)


def test_a_report_has_2_retries_120_s_apart_600_s_each_and_2_run_at_once(desk):
    """S2-48, and S2-10 to S2-19 of its row: the type is paused and resumed."""
    (desk.around.files / "reports").rmdir()
    cv, person = sent(desk, "reported")
    ended(desk, cv["job"])
    desk.operations.reports(desk.database.profile(cv["profileId"]).month, person["name"])
    row = desk.operations.row_of("report_generation")
    assert row.effective["limit"] == [{"name": "report_generation", "key": None, "running": 2}]
    bad = desk.app.enqueue("report_generation", {"month": "May"})
    assert "such as 2026-05" in ended(desk, bad.id, "dead").error


def test_types_are_rows_that_an_operator_changes(desk):
    """S2-10 to S2-19."""
    rows = {row.name: row for row in desk.app.types()}
    assert rows.keys() >= {"cv_processing", "email_notification", "data_sync", "report_generation"}
    assert rows["cv_processing"].stages == ("text_extraction", "llm_processing", "validation")
    assert rows["cv_processing"].effective["attempts"] == 4
    desk.app.set_type("data_sync", timeout="15m", actor="ada")
    assert desk.operations.row_of("data_sync").drift == ("timeout",)
    desk.app.reset_type("data_sync", actor="ada")
    assert desk.operations.row_of("data_sync").drift == ()


def test_a_type_that_is_disabled_takes_no_uploads_for_now(desk):
    """S2-17."""
    desk.app.disable("cv_processing", reason="the model moves", actor="ada")
    refused = desk.chapters.uploaded(desk, pdfs.scan())
    desk.app.enable("cv_processing", actor="ada")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "60")
    assert "cv_processing is disabled" in refused.json()["detail"]
    assert desk.chapters.uploaded(desk, pdfs.scan())["job"]


# events and the cron host ---------------------------------------------------------------------------------------------
def event(desk, message, body, at=None, secret=None):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    secret = secret or desk.around.environment["DESK_EVENTS_SECRET"]
    headers = signed(secret, message, int(time.time() if at is None else at), content)
    return httpx2.post(f"{desk.url}/jobs/api/hooks/events", content=content, headers=headers)


def test_an_event_that_comes_twice_starts_its_jobs_once(desk):
    """S2-05 and S2-06."""
    replies = [event(desk, "evt-twice", {"type": "candidates.changed", "data": {}}) for _ in range(2)]
    (first,), (second,) = (reply.json()["jobs"] for reply in replies)
    assert (first["created"], second["created"], first["id"] == second["id"]) == (True, False, True)
    assert ended(desk, first["id"]).result["synced"] == 50


@pytest.mark.parametrize(
    ("body", "options", "status", "says"),
    [
        ({"type": "month.closed"}, {"secret": "whsec_" + "A" * 32}, 401, "check the name, the secret and the clock"),
        ({"type": "month.closed"}, {"at": 1_000_000_000}, 401, "check the name, the secret and the clock"),
        ({"type": "month.closed", "data": {}}, {}, 422, "takes data.readers"),
        (
            {"type": "month.closed", "data": {"month": "2026-05", "readers": "all"}},
            {},
            422,
            "recipients: expected array",
        ),
        (b"not JSON", {}, 422, "not readable JSON"),
        (b"[]", {}, 422, "takes data.type"),
        (b'{"type": []}', {}, 422, "takes data.type"),
    ],
)
def test_an_event_that_is_forged_old_or_wrong_starts_nothing(desk, body, options, status, says):
    before = desk.app.bulk("ref:event/*").count()
    reply = event(desk, "evt-bad", body, **options)
    assert (reply.status_code, says in reply.json()["detail"]) == (status, True), reply.text
    assert desk.app.bulk("ref:event/*").count() == before


def test_an_event_that_nobody_is_subscribed_to_starts_nothing(desk):
    assert event(desk, "evt-moon", {"type": "moon.full", "data": {}}).json() == {"jobs": []}


@pytest.mark.parametrize(
    ("token", "seconds", "status"), [("", 5, 401), ("operator-token", 5, 403), ("cron-token", 0, 422)]
)
def test_the_trigger_needs_an_admin_and_a_time(desk, token, seconds, status):
    """S2-04."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    reply = httpx2.post(f"{desk.url}/jobs/api/jobs/trigger", json={"max_seconds": seconds}, headers=headers)
    assert reply.status_code == status, reply.text


def test_a_cron_host_runs_what_is_due(desk):
    """S2-02 to S2-04; the story shows that a run ends in time and the next one goes on."""
    desk.app.pause(type="data_sync", actor="ada")
    job = desk.app.enqueue("data_sync", {"source": "candidates", "destination": "crm"})
    said, took = desk.chapters.called(desk, seconds=5)
    assert (said["left"], desk.app.attempts(job.id), took < 30) == (0, [], True)
    desk.app.resume(type="data_sync", actor="ada")
    assert ended(desk, job.id).result["synced"] == 50

"""The chapters of the story about operation: types as rows, reports, events from outside, and alerts."""

import json
import time

import httpx2
from pypdf import PdfReader

from examples.conversation_hook.story import check, heading, say, waited
from examples.document_desk.chapters import ended, state
from examples.document_desk.jobs import FILES, app, mails, report_generation, sync
from mainstay.senders.signature import signed
from mainstay.upkeep.alerts import Alerts

MINUTE = 60_000  # ms
WANTED = {"failures", "running", "depth", "disabled"}  # the alerts of ADR-007
MANY, UNKNOWN = 120, 20  # mails while everything is paused, and mails to people who do not exist


def reports(month, candidate):
    """Types are rows: their settings hold for all workers, and one is paused."""
    heading("Reports: 2 at a time, 2 retries 120 s apart, 600 s each")
    row = row_of("report_generation")
    held = row.effective
    say(
        f"its row: {row.description}; {held['attempts']} attempts, timeout {held['timeout']}, {held['limit'][0]['running']} at once"
    )
    check((row.effective["attempts"], row.effective["timeout"].total_seconds()) == (3, 600), "3 starts, 600 s each")
    failed = report_generation.enqueue(month)
    waited(lambda: state(failed) == "scheduled", "the report to fail")
    wait = (app.get(failed).run_at - app.attempts(failed)[-1].ended_at).total_seconds()
    check(119 < wait < 121, f"the folder of the reports is not there: the next attempt is {wait:.0f} s later")
    (FILES / "reports").mkdir()
    app.pause(type="report_generation", reason="the folder is being mounted", actor="ada")
    others = [report_generation.enqueue(f"2026-{n:02}") for n in range(1, 5)]
    app.bulk(ids=[failed]).reschedule(delay=0, actor="ada")
    check(
        row_of("report_generation").paused[0].actor == "ada",
        f"ada pauses the type: {app.why(others[0]).reasons[0].text}",
    )
    check(not any(app.attempts(job) for job in others), "four more are enqueued, and none starts")
    app.resume(type="report_generation", actor="ada")
    jobs = waited(lambda: ended([app.get(job) for job in (failed, *others)]), "the reports")
    check({job.state for job in jobs} == {"completed"}, "she resumes it: all five are written")
    check(at_once(jobs) <= 2, f"at most {at_once(jobs)} ran at the same time")
    pages = PdfReader(FILES / "reports" / f"{month}.pdf").pages
    check(candidate in pages[0].extract_text(), f"{month}.pdf has the candidates of the month")


def row_of(name):
    return next(row for row in app.types() if row.name == name)


def at_once(jobs):
    """The most of these jobs that ran at the same time."""
    spans = [(each.started_at, each.ended_at) for job in jobs for each in app.attempts(job.id)]
    return max(sum(began <= at < end for began, end in spans) for at, _ in spans)


def events(desk, secret):
    """Another system tells of what happens there; each event counts once."""
    heading("Another system sends signed events")
    data = {"month": "2026-06", "readers": [{"to": "eve@example.org", "data": {"name": "Eve"}}]}
    first, second = (posted(desk, secret, "evt-1", {"type": "month.closed", "data": data}) for _ in range(2))
    jobs = [each["id"] for each in first.json()["jobs"]]
    check(
        first.status_code == 202 and len(jobs) == 2, "the month is closed: a report and a batch of mails are enqueued"
    )
    check(
        [each["id"] for each in second.json()["jobs"]] == jobs and not any(each["created"] for each in second.json()["jobs"]),
        "the event is delivered twice, and has the same two jobs",
    )  # fmt: skip
    waited(lambda: ended([app.get(job) for job in jobs]), "both")
    check((FILES / "reports/2026-06.pdf").exists(), "the report is written")
    forged = posted(desk, "whsec_" + "A" * 32, "evt-2", {"type": "month.closed", "data": data})
    check(forged.status_code == 401, f"a forged event is refused: {forged.json()['detail']}")


def posted(desk, secret, message, event):
    body = json.dumps(event).encode()
    return httpx2.post(f"{desk.url}/jobs/api/hooks/events", content=body, headers=signed(secret, message, int(time.time()), body), timeout=30)  # fmt: skip


def alerts(world):
    """The four alerts of the document, and their end."""
    heading("Four things go wrong: alerts open, and are over when the cause is gone")
    app.alerts.send_to("file", **world.channel)
    world.box.refusals = {f"x{n}@example.org": "550 no such person" for n in range(UNKNOWN)}
    bad = app.enqueue_many(mails.email.prepare("news", address, values()) for address in world.box.refusals)
    waited(lambda: ended([app.get(job) for job in bad]), "these mails to die")
    world.services.pause, long = 0.2, sync.http_sync.enqueue("candidates", "crm")
    waited(lambda: state(long) == "running", "a job that runs for long")
    app.pause(reason="the mail server moves", actor="ada")
    many = app.enqueue_many(mails.email.prepare("news", f"y{n}@example.org", values()) for n in range(MANY))
    opened = looked(6 * MINUTE)
    for alert in sorted(opened.values(), key=lambda each: each.rule):
        say(f"{alert.rule}: {alert.text}")
    check(opened.keys() >= WANTED, "more than 10% dead, running for more than 5 min, more than 100 wait, all is paused")
    waited(lambda: told(world, "alert.opened") >= WANTED, "the notices")
    world.services.pause, world.box.refusals = 0.0, {}
    app.resume(actor="ada")
    waited(lambda: ended([app.get(job) for job in (*many, long)]), "the rest")
    left = looked(8 * MINUTE).keys() & {"running", "depth", "disabled"}
    waited(lambda: told(world, "alert.recovered") >= WANTED - {"failures"}, "the notices of their end")
    check(not left, "ada resumes the desk, all mails are sent, and three of the alerts are over")
    app.bulk(ids=bad).retry(actor="ada")
    waited(lambda: {app.get(job).state for job in bad} == {"completed"}, "the mails that had died")
    check(True, "the addresses are corrected: an operator runs the dead mails again")


def values():
    return {"name": "you", "month": "June"}


def looked(ms):
    """Look as a worker does once a minute, so much later; return the incidents that are open, by rule."""
    watch = Alerts(app)
    watch.step(app.clock.now() + ms)
    watch.close()
    return {each.rule: each for each in app.alerts.open()}


def told(world, event):
    """The rules of the notices that the channel has got."""
    lines = world.notices.read_text().splitlines() if world.notices.exists() else []
    return {notice["rule"] for notice in map(json.loads, filter(None, lines)) if notice["event"] == event}

"""The chapters of the story about those who run the system: tenants, schedules, dead letters, alerts, health and metrics."""

import json
from pathlib import Path

from examples.agent_workers.chapters import PATIENCE, until
from examples.agent_workers.jobs import app
from examples.agent_workers.maintenance import data_export
from examples.agent_workers.parts import reply
from tests.waiting import eventually

SCHEDULES = {
    "index-optimization": "0 0 3 * * *", "memory-importance-decay": "0 0 */6 * * *", "pattern-training-daily": "0 0 4 * * *",
    "quota-check": "0 0 * * * *", "session-cleanup": "0 */15 * * * *",
}  # fmt: skip


def tenants(story):
    """A tenant has two levels; limits and searches know both."""
    story.part("Tenants: organisation and workspace")
    places = [f"acme/{workspace}" for workspace in ("support", "sales", "ops") for _ in range(3)]
    made = [data_export.options(tenant=each, tags=["again"]).enqueue() for each in places]
    for handle in made:
        handle.result(timeout=PATIENCE)
    workspace = max(overlap(job for job, tenant in zip(made, places, strict=True) if tenant == each) for each in places)
    org = overlap(made)
    story.check(
        f"of 9 exports {workspace} of a workspace ran at once, {org} of the organisation", (workspace, org) == (1, 2)
    )
    of_org, of_workspace = (app.bulk(f"tag:again tenant:{each}").count() for each in ("acme/*", "acme/sales"))
    story.check(
        f"tenant:acme/* finds {of_org} of them, tenant:acme/sales {of_workspace}", (of_org, of_workspace) == (9, 3)
    )


def overlap(jobs):
    """Return how many of these jobs ran at the same time, at most."""
    spans = [(each.started_at, each.ended_at) for job in jobs for each in app.attempts(job)]
    return max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)


def schedules(story):
    """The five default schedules are in the store."""
    story.part("The five default schedules")
    code = story.run("schedules")
    found = {each.name: each.cron for each in app.schedules()}
    story.check(
        "all five are there, each with its next tick",
        (found, code) == (SCHEDULES, 0) and all(each.next for each in app.schedules()),
    )


def dead_letters(story, servers):
    """A message that nobody takes is dead at once, an alert tells, and an operator retries it."""
    story.part("A receiver refuses a message: a dead letter of a critical type")
    servers.hook.reply = reply(404)
    (message,) = app.webhooks.send("agent.stopped", {"agent": "a-1"}, tenant="acme/support")
    until(lambda: message.state == "dead", "the message is dead")
    story.run("dead")
    notice = until(lambda: _notice(story.folder, message.id), "somebody is told")
    story.check(f"an alert of severity {notice['severity']} told so at once", notice["severity"] == "high")
    story.check("health: degraded (exit code 3)", story.run("health") == 3)
    servers.hook.reply = reply(200)
    story.run("retry", message.id, "--note", "the receiver is back")
    message.result(timeout=PATIENCE)
    story.check(
        "the receiver is back, the same job is retried; health: 0", _healthy() and app.get(message).state == "completed"
    )


def _notice(folder, job):
    path = Path(folder) / "alerts"
    told = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return next((each for each in told if each["rule"] == "critical" and each["job"] == job), None)


def _healthy():
    return eventually(lambda: app.health().status == "healthy", "the installation is healthy", 30)


def metrics(story):
    """What was counted."""
    story.part("What was counted: mainstay metrics, mainstay stats")
    lines = app.metrics().splitlines()
    for line in lines:
        if line.startswith("mainstay_jobs_total") and '"completed"' in line and "memory-" in line:
            print(f"    {line}")
    names = ("mainstay_jobs_total", "mainstay_jobs_active", "mainstay_job_duration_seconds", "mainstay_queue_depth")
    story.check("counters, gauges and histograms", all(any(line.startswith(name) for line in lines) for name in names))
    story.check("figures of each type", story.run("stats", "--since", "1h") == 0)

"""Every place of the dashboard that has an address, for an application: what axe reads, what is photographed, what hostile text fills."""

from urllib.parse import quote

PAGES = ["overview", "jobs", "dead", "reviews", "types", "schedules", "workers", "audit", "settings", "bulk", "enqueue"]
TABS = {
    "types": ["queues", "limits"],
    "settings": ["settings", "alerts", "events", "webhooks", "tokens"],
}
JOB_TABS = ["attempts", "logs", "arguments", "result", "context", "history"]


def places(app):
    """The address of each place by its name."""
    found = {name: f"#/{name}" for name in PAGES}
    found |= {f"{page}-{tab}": f"#/{page}?tab={tab}" for page, tabs in TABS.items() for tab in tabs}
    return found | _jobs(app) | _named(app)


def _jobs(app):
    """A job in each state that has one, and the tabs of one that died."""
    found = {}
    for state in ("running", "review", "dead", "scheduled", "blocked"):
        for job in app.list(f"state:{state}", limit=1):
            found[f"job-{state}"] = f"#/job/{job.id}"
    for job in app.list("state:dead", limit=1):
        found |= {f"job-{tab}": f"#/job/{job.id}?tab={tab}" for tab in JOB_TABS}
    return found


def _named(app):
    """A cause, a type and a schedule."""
    named = {
        "cause": [f"#/dead/{each.fingerprint}" for each in app.dead(everything=True)],
        "type": [f"#/type/{quote(each.name, safe='')}" for each in app.types()],
        "schedule": [f"#/schedule/{quote(each.name, safe='')}" for each in app.schedules()],
    }
    return {name: found[0] for name, found in named.items() if found}

"""Events from outside, and the jobs that they start: each event starts each of its jobs once, however often it is delivered."""

from examples.document_desk.jobs import app

RECEIVER = "events"  # at /jobs/api/hooks/events
SUBSCRIPTIONS = {
    "sync": ("candidates.changed", "data_sync", {"source": "candidates", "destination": "crm"}),
    "report": ("month.closed", "report_generation", {"month": "$.data.month"}),
    "news": (
        "month.closed", "email_notifications",
        {"template": "news", "recipients": "$.data.readers", "data": {"month": "$.data.month"}},
    ),
}  # fmt: skip


def subscribe():
    """Receive events that are signed as Standard Webhooks has it, {"type": "…", "data": {…}}, and let them create these jobs."""
    for name, (event, type, args) in SUBSCRIPTIONS.items():
        app.subscriptions.add(name, event, type, args, ref="event/{event}", replace=True, actor="desk")
    app.incoming.add(
        RECEIVER, secret="$DESK_EVENTS_SECRET", event="{data.type}", data="data", replace=True, actor="desk"
    )

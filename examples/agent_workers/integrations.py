"""What leaves for other systems, and comes from them: `webhook-dispatch` of `mainstay.handlers.webhook`, and `slack-sync`."""

import os

from examples.agent_workers.application import app
from examples.agent_workers.database import place, transaction, value
from mainstay import Limit, Permanent, Retry, by, ctx
from mainstay.handlers import webhook

# Receivers inside this network are refused unless they are named here.
ALLOW = tuple(filter(None, os.environ.get("AGENT_WEBHOOK_ALLOW", "").split(",")))
LASTING = ("channel_not_found", "not_in_channel", "invalid_auth", "not_authed", "account_inactive", "missing_scope")
PAGE = 100  # messages

hooks = webhook.register(
    app, name="webhook-dispatch", aliases=["webhook_dispatch"], allow=ALLOW, seconds=10, priority=15,
    retry=Retry(10, base="1s"), timeout="30s", limit=Limit(running=20, rate="100/s"),
)  # fmt: skip
webhook_dispatch = hooks.webhook_dispatch


@app.job(
    name="slack-sync", priority=4, retry=Retry(5, base="5s"), timeout="5m", key=by("channel"),
    limit=Limit(running=1, rate="50/m", burst=50, key=by("channel")),
)  # fmt: skip
def slack_sync(channel: str) -> dict[str, int]:
    """Fetch the messages of a channel that are not here yet, page by page; a service that says 429 is left alone for as long as it asks."""
    from slack_sdk.errors import SlackApiError

    known = value("SELECT coalesce(max(newest), '0') FROM slack_channels WHERE channel = ?", channel)
    oldest, cursor = ctx.checkpoint.get("oldest", known), ctx.checkpoint.get("cursor")
    while cursor != "":
        try:
            reply = _client().conversations_history(channel=channel, oldest=oldest, cursor=cursor, limit=PAGE)
        except SlackApiError as error:
            _refused(error.response)
        _stored(channel, reply["messages"])
        cursor = (reply.get("response_metadata") or {}).get("next_cursor") or ""
        ctx.progress(phase="fetching", oldest=reply["messages"][-1]["ts"] if reply["messages"] else None)
        ctx.save(oldest=oldest, cursor=cursor)
    return {"fetched": _complete(channel, oldest)}


def _client():
    from slack_sdk import WebClient

    return WebClient(
        token=os.environ.get("SLACK_TOKEN", ""), base_url=os.environ.get("SLACK_URL", "https://slack.com/api/"), timeout=10,
        retry_handlers=[],  # the queue retries
    )  # fmt: skip


def _refused(response):
    """Raise what a refusal means for the job. Most of them come with the status 200."""
    said = response.get("error", "")
    if response.status_code == 429:
        ctx.rate_limited(float(response.headers.get("Retry-After", "30")), "Slack asks to wait")
    if said in LASTING:
        raise Permanent(f"Slack says {said}: correct the channel or the token, then retry the job", code=said)
    raise ConnectionError(f"Slack says {said or response.status_code}")


def _stored(channel, messages):
    """Store messages; one that comes twice, after a kill, replaces itself."""
    found = [(channel, each["ts"], *place(ctx.tenant), each.get("user"), each.get("text")) for each in messages]
    with transaction() as db:
        db.executemany("INSERT OR REPLACE INTO slack_messages VALUES (?, ?, ?, ?, ?, ?)", found)


def _complete(channel, oldest):
    """Note that all pages are here; return how many messages they had."""
    with transaction() as db:
        query = "SELECT count(*), max(ts) FROM slack_messages WHERE channel = ? AND ts > ?"
        count, newest = db.execute(query, (channel, oldest)).fetchone()
        db.execute("INSERT OR REPLACE INTO slack_channels VALUES (?, ?)", (channel, newest or oldest))
    return count

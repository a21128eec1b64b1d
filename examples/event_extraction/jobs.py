"""The job: read a revision, ask a language model for the events in it, store them and complete in one transaction."""

import os

from sqlalchemy.exc import OperationalError

from examples.event_extraction.database import URL, Event, Extraction, Revision, async_session
from mainstay import Mainstay, Permanent, Retry, by, ctx, transient
from mainstay.handlers import prompt

app = Mainstay(URL)
model = prompt.Model(
    "openai",
    os.environ.get("EVENTS_MODEL_NAME", "local"),
    base_url=os.environ.get("EVENTS_MODEL", "http://127.0.0.1:8080") + "/v1",
    api_key=os.environ.get("EVENTS_MODEL_KEY", "local"),
    max_tokens=200,
    timeout=os.environ.get("EVENTS_TIMEOUT", "60s"),
)
QUESTION = "List the events in this text, each with who, date and place:\n\n{body}"
FIELDS = ("who", "date", "place")
EVENT = {
    "type": "object",
    "properties": {name: {"type": "string", "maxLength": 30} for name in FIELDS},
    "required": list(FIELDS),
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {"events": {"type": "array", "maxItems": 2, "items": EVENT}},
    "required": ["events"],
}
# 60 s, 2, 4, 8 minutes, each up to half as long again: those who failed together do not come back together.
RETRY = Retry(5, base="60s", cap="10m", on=(prompt.ModelError, OperationalError), when=transient)


@app.job(key=by("artifact_uid", "revision_id"), unique="forever", retry=RETRY, keep="30d", timeout="90s")
async def extract_events(artifact_uid: str, revision_id: str) -> dict[str, int]:
    """Extract the events of one revision of an artifact."""
    async with async_session() as session:
        revision = await session.get(Revision, (artifact_uid, revision_id))
    if revision is None:
        raise Permanent(f"there is no revision {revision_id} of {artifact_uid}", code="no-revision")
    answer = await model.answer(QUESTION.format(body=revision.body), schema=SCHEMA)
    found = answer.value["events"]
    events = [event for event in found if all(value in revision.body for value in event.values())]
    if len(events) < len(found):
        ctx.log("left out events that are not in the text", level="warning", left_out=len(found) - len(events))
    async with async_session.begin() as session:
        await store(session, artifact_uid, revision_id, events)
        await ctx.acomplete_in(session, {"events": len(events), "left_out": len(found) - len(events)})
    return {}  # the result is the one above


async def store(session, artifact_uid, revision_id, events):
    extraction = Extraction(artifact_uid=artifact_uid, revision_id=revision_id, job=ctx.id, events=len(events))
    session.add(extraction)
    await session.flush()
    session.add_all(Event(extraction=extraction.id, **event) for event in events)
    await session.flush()


def ingest(session, artifact_uid, revision_id, body):
    """Store a revision and its job: both are there when the caller's transaction commits, or neither is."""
    session.add(Revision(artifact_uid=artifact_uid, revision_id=revision_id, body=body))
    session.flush()
    return extract_events.options(tx=session, ref=artifact_uid).enqueue(artifact_uid, revision_id)

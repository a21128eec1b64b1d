"""The application: its job types, as ADR-007 lists them.

The environment says where things are: DESK_DATABASE, DESK_FILES (a folder), DESK_MODEL, DESK_MAIL and DESK_MAIL_PASSWORD,
DESK_SOURCE and DESK_CRM.
"""

import asyncio
import os
import re
import time
from pathlib import Path
from typing import TypedDict

from examples.document_desk import database
from mainstay import Limit, Mainstay, Permanent, Retry, Review, by, ctx
from mainstay.handlers import email, http_sync
from mainstay.handlers.http_sync import Destination, Source
from mainstay.handlers.prompt import Limited, Model

FILES = Path(os.environ.get("DESK_FILES", "files")).absolute()
FILE_URL = re.compile(r"/files/([0-9a-f]{64}\.pdf)")
STAGES = {
    "text_extraction": 10,
    "llm_processing": 40,
    "validation": 80,
}  # and the progress in percent at which each begins
QUESTION = "Extract name, email and title from this CV:\n\n{text}"
READ = 3_000  # characters of a CV that the model gets: it is a small one
SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string", "maxLength": 60} for name in database.FIELDS},
    "required": list(database.FIELDS),
    "additionalProperties": False,
}
DECIDERS = ("role:recruiter", "role:operator", "role:admin")  # about uncertain fields

app = Mainstay(database.URL)
model = Model(
    "openai",
    os.environ.get("DESK_MODEL_NAME", "local"),
    base_url=os.environ.get("DESK_MODEL", "http://127.0.0.1:8080") + "/v1",
    api_key=os.environ.get("DESK_MODEL_KEY", "local"),
    max_tokens=160,
    timeout="60s",
)


class Person(TypedDict):
    name: str
    email: str
    title: str


class Metrics(TypedDict):
    pages: int
    tokens_in: int
    tokens_out: int
    model_ms: int


class Output(TypedDict):
    structured: Person
    extractedLength: int
    metrics: Metrics


# email_notification {to, template, data}, and email_notifications for batches
mails = email.register(
    app,
    name="email_notification",
    description="Send a mail",
    server="$DESK_MAIL",
    password="$DESK_MAIL_PASSWORD",
    sender="Document desk <desk@example.org>",
    templates=str(Path(__file__).with_name("mails")),
    retry=Retry(4, base="1s", cap="60s"),
    limit=Limit(rate="40/s", burst=10),
)
# data_sync {source, destination}
sync = http_sync.register(
    app,
    name="data_sync",
    description="Copy candidates to the CRM",
    sources={
        "candidates": Source(os.environ.get("DESK_SOURCE", "https://candidates.example") + "/candidates", "items", cursor="next"),
    },
    destinations={"crm": Destination(os.environ.get("DESK_CRM", "https://crm.example") + "/people/{id}", "PUT")},
    allow=["127.0.0.1"],
    retry=Retry.fixed(4, every="60s"),
    timeout="5m",
)  # fmt: skip


@app.job(
    process=True,  # a PDF is hostile input: what it breaks is this process, and the timeout kills it
    stages=tuple(STAGES), key=by("fileUrl", "profileId"), retry=Retry.fixed(4, every="60s"), timeout="5m",
    limit=Limit(running=5, rate="10/s"), description="Read a CV",
)  # fmt: skip
def cv_processing(fileUrl: str, profileId: str) -> Output:  # noqa: N803  (the names of the payload)
    """Read a CV into its profile. What is uncertain waits for a person."""
    path = file_of(fileUrl)
    if database.profile(profileId) is None:
        raise no_profile(profileId)
    with stage("text_extraction"):
        text, pages = extracted(path)
    with stage("llm_processing"):
        answer = answered(text) if text else {"value": dict.fromkeys(database.FIELDS, ""), "tokens": (0, 0), "ms": 0}
    with stage("validation"):
        output = output_of(text, pages, answer)
        fields = doubts(output["structured"], text)
        if not fields:
            finish(profileId, output)
    if fields:
        ask(profileId, output, fields)
    return output


def stage(name):
    ctx.progress(STAGES[name], 100)
    return ctx.stage(name)


def extracted(path):
    from examples.document_desk.cv import text_of

    text, pages = text_of(path)
    ctx.log(f"Extracted {len(text)} characters", characters=len(text), pages=pages)
    return text, pages


def answered(text):
    """Return what the model says, once: an attempt after one that was killed takes the answer that is saved."""
    if "answer" not in ctx.checkpoint:
        if len(text) > READ:
            ctx.log("the model gets only the beginning", level="warning", characters=READ)
        began = time.monotonic()
        try:
            answer = asyncio.run(model.answer(QUESTION.format(text=text[:READ]), schema=SCHEMA))
        except Limited as error:
            ctx.rate_limited(error.retry_after, str(error))
        ms = round((time.monotonic() - began) * 1000)
        ctx.save(answer={"value": answer.value, "tokens": (answer.tokens_in or 0, answer.tokens_out or 0), "ms": ms})
    return ctx.checkpoint["answer"]


def output_of(text, pages, answer):
    tokens_in, tokens_out = answer["tokens"]
    metrics = Metrics(pages=pages, tokens_in=tokens_in, tokens_out=tokens_out, model_ms=answer["ms"])
    return Output(structured=answer["value"], extractedLength=len(text), metrics=metrics)


def doubts(structured, text):
    """Return the fields that a person has to look at, and log them."""
    from examples.document_desk.cv import uncertain

    fields = uncertain(structured, text)
    if fields:
        ctx.log("a person has to look at these fields", level="warning", fields=fields)
    return fields


def finish(profile_id, output):
    """Store what was found and complete the job, in one transaction; the mail to the candidate is part of it."""
    ctx.enqueue(told(profile_id, output["structured"]))
    with database.transaction() as session:
        if not database.store(session, profile_id, output["structured"], ctx.id):
            raise no_profile(profile_id)
        ctx.complete_in(session, output)


def no_profile(profile_id):
    return Permanent(f"there is no profile {profile_id!r:.60}: upload the CV with POST /cvs", code="no-profile")


def ask(profile_id, output, fields):
    """Let a person decide; the job that then stores the output waits for that."""
    after = store_approved.options(after=[ctx.id], key=f"approved-{ctx.id}", ref=f"profile/{profile_id}")
    after.enqueue(ctx.id, profile_id)
    raise Review(question(fields, output), output=output, deciders=DECIDERS, remind="1d", code="uncertain")


def question(fields, output):
    if not output["extractedLength"]:
        return "there is no text in this file, it may be a scan: type in what it says"
    return f"not found in the text: {', '.join(fields)}; correct what is wrong"


def told(profile_id, person):
    """The mail that tells a candidate, as a draft."""
    values = {"name": person["name"], "profile": profile_id}
    return mails.email.options(ref=f"profile/{profile_id}").prepare("received", person["email"], values)


@app.job(description="Store what a person has approved", retry=Retry(10))
def store_approved(job: str, profile_id: str) -> dict[str, bool]:
    """Store the output of a CV that a person has approved. It starts when that happens, and is cancelled if the person rejects it."""
    person = app.get(job).result["structured"]
    with database.transaction() as session:
        new = database.store(session, profile_id, person, job)
        if new:
            ctx.enqueue(told(profile_id, person))
        ctx.complete_in(session, {"stored": new})
    return {"stored": new}


@app.job(process=True, retry=Retry.fixed(3, every="120s", jitter=False), timeout="600s", limit=Limit(running=2), description="Generate PDF reports")  # fmt: skip
def report_generation(month: str) -> dict[str, str | int]:
    """Write the report of a month as a PDF: who has sent a CV, and what is known of them."""
    from examples.document_desk.report import written

    return written(FILES / "reports", month)


def file_of(url):
    """Return the path of an uploaded file: a payload can name no other."""
    found = FILE_URL.fullmatch(url)
    if found is None:
        raise Permanent(f"fileUrl={url!r:.120}: give what POST /cvs has returned, /files/….pdf", code="no-file")
    return FILES / found[1]

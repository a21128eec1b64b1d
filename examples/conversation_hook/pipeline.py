"""What becomes of a recorded conversation: sanitize, validate, extract a learning, upload; each step is the child of the one before.

A step looks first whether it is done. What it writes and the completion of its job are one transaction, with the next step in it.
The environment says where things are: CONVERSATIONS (the database), IPFS_NODE and MODEL_URL.
"""

import asyncio
import hashlib
import json
import os
import time
from contextlib import closing

from examples.conversation_hook.hook import QUEUE, connected
from mainstay import Breaker, Limit, Mainstay, Permanent, Retry, ctx
from mainstay.handlers.prompt import Limited, Model
from mainstay.handlers.sanitize import Sanitizer
from mainstay.handlers.upload import Node

DATABASE = os.environ["CONVERSATIONS"]
FULL = {"max_depth": 10_000, "when_full": "shed", "below": 0, "wait": "300ms"}  # of the queue: as ADR-006 has it
STEPS = ("pending_sanitization", "sanitized", "validated", "learned", "uploaded")  # what a status can be; or rejected
LEAST_WORDS, MOST_HIDDEN = 8, 1 / 3  # of a conversation that is worth keeping
QUESTION = "Say in one short sentence what can be learned from this conversation.\n\n{text}"

app = Mainstay(f"sqlite:///{DATABASE}")
app.queue(QUEUE, **FULL)
rules = Sanitizer(names=["Dennison"], regions=["US"])
model = Model(
    "openai",
    "local",
    base_url=os.environ["MODEL_URL"],
    api_key="local",
    max_tokens=int(os.environ.get("MAX_TOKENS", "24")),
)
node = Node(os.environ["IPFS_NODE"], seconds=20)
again = Retry(attempts=3, base="2s", cap="60s")


@app.job(queue=QUEUE, retry=again)
def sanitize_conversation(conversation: str) -> dict:
    """Remove personal data; the text as it was is not kept."""
    row = found(conversation)
    if is_done(row, "sanitized"):
        return skipped("already-sanitized")
    text, report = rules(row["content"])
    ctx.enqueue(validate_quality.prepare(conversation))
    return settled(
        row, {"success": True, "found": report}, status="sanitized", sanitized_content=text, report=report, content=None
    )


@app.job(queue=QUEUE, retry=again, stages=("complete", "private", "new"))
def validate_quality(conversation: str) -> dict:
    """Let only conversations pass that are whole, private and new."""
    row = found(conversation)
    if is_done(row, "validated"):
        return skipped("already-validated")
    for name, stage in (("complete", incomplete), ("private", indiscreet), ("new", repeated)):
        with ctx.stage(name):
            problem = stage(row)
        if problem:
            return settled(
                row, {"accepted": False, "stage": name, "reason": problem}, status="rejected", quality=problem
            )
    ctx.enqueue(extract_learning.prepare(conversation))
    return settled(row, {"accepted": True}, status="validated", quality="good")


@app.job(queue=QUEUE, retry=Retry(5, base="2s", cap="60s"), limit=Limit(running=2, rate="50/s"), timeout="2m")
async def extract_learning(conversation: str) -> dict:
    """Ask a language model what can be learned. Its answer is sanitized too."""
    row = await asyncio.to_thread(found, conversation)
    if is_done(row, "learned"):
        return skipped("already-learned")
    try:
        answer = await model.answer(QUESTION.format(text=row["sanitized_content"]))
    except Limited as error:
        await ctx.arate_limited(error.retry_after, str(error))
    ctx.enqueue(mine_upload.prepare(conversation))
    result = {"tokens": [answer.tokens_in, answer.tokens_out]}
    return await asyncio.to_thread(settled, row, result, status="learned", learning=rules(answer.text.strip()).text)


@app.job(queue=QUEUE, retry=Retry(30, base="500ms", cap="30s"), breaker=Breaker(failures=0.5, of=4, rest="2s"))
def mine_upload(conversation: str) -> dict:
    """Upload what was learned to IPFS, once: it is found there by its content."""
    row = found(conversation)
    if is_done(row, "uploaded"):
        return skipped("already-uploaded")
    content = document(row)
    uploaded = node.upload(lambda: iter([content]))
    return settled(row, dict(uploaded), status="uploaded", cid=uploaded["cid"])


# The stages of validation: each returns what is wrong -------------------------------------------------------------
def incomplete(row):
    """Whether too little was said, or by one side only."""
    text = row["sanitized_content"]
    if not ("User:" in text and "Assistant:" in text):
        return "only one side has spoken"
    return "too short" if len(text.split()) < LEAST_WORDS else None


def indiscreet(row):
    """Whether personal data is left, or so much was hidden that nothing can be learned."""
    text = row["sanitized_content"]
    hidden = sum(json.loads(row["report"]).values())
    if rules(text).report:
        return "personal data is left"
    return "most of it is personal" if hidden > MOST_HIDDEN * len(text.split()) else None


def repeated(row):
    """Whether an older conversation says the same."""
    older = "SELECT id FROM conversations WHERE sanitized_content = ? AND id < ? LIMIT 1"
    with closing(connected(DATABASE)) as db:
        same = db.execute(older, (row["sanitized_content"], row["id"])).fetchone()
    return f"the same as {same[0]}" if same else None


# Conversations ----------------------------------------------------------------------------------------------------
def found(conversation):
    """Return a conversation."""
    with closing(connected(DATABASE)) as db:
        cursor = db.execute("SELECT * FROM conversations WHERE id = ?", (conversation,))
        row = cursor.fetchone()
    if row is None:
        raise Permanent(f"there is no conversation {conversation!r:.80}: the hook records it with its job")
    return dict(zip([column[0] for column in cursor.description], row, strict=True))


def is_done(row, step):
    """Whether a conversation has come that far, or no further."""
    return row["status"] == "rejected" or STEPS.index(row["status"]) >= STEPS.index(step)


def skipped(reason):
    return {"skipped": True, "reason": reason}


def settled(row, result, **columns):
    """Write what a step has found and complete its job, in one transaction; return the result."""
    values = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in columns.items()}
    assigned = ", ".join(f"{name} = ?" for name in values)
    with closing(connected(DATABASE)) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute(
            f"UPDATE conversations SET {assigned}, updated_at = ? WHERE id = ?",
            (*values.values(), time.time(), row["id"]),
        )
        ctx.complete_in(db, result)
        db.execute("COMMIT")
    return result


def document(row):
    """Return what is published of a conversation: the same bytes each time, so the same content id."""
    text = row["sanitized_content"]
    published = {"id": hashlib.sha256(row["id"].encode()).hexdigest()[:16], "text": text, "learning": row["learning"]}
    return json.dumps(published, sort_keys=True, ensure_ascii=False).encode()

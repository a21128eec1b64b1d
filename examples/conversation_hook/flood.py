"""12,000 events in a row, and no worker: what a full queue does, and who is told. In a database of its own."""

import threading
import time

from examples.conversation_hook.hook import QUEUE, connected, record
from examples.conversation_hook.pipeline import FULL
from examples.conversation_hook.story import check, counted
from examples.conversation_hook.talks import short
from mainstay import Mainstay, QueueFull
from mainstay.upkeep.alerts import Alerts

EVENTS, IN_FRONT, CHUNK = 12_000, 9_900, 500  # in all, those that a collector sends many at a time, and how many
HOUR = 3_600_000  # ms


def flood(path):
    """Send the events; check what is accepted, refused and told."""
    app = Mainstay(f"sqlite:///{path}")
    db = connected(path)
    db.execute("PRAGMA synchronous = OFF")  # this database is thrown away
    collected(app, db, range(1))
    app.set_queue(QUEUE, **FULL)  # what workers write when they start; here none does
    for first in range(1, IN_FRONT, CHUNK):
        collected(app, db, range(first, min(first + CHUNK, IN_FRONT)))
    accepted, refused = sent(app, db, range(IN_FRONT, EVENTS), priority=-1)
    accepted += IN_FRONT
    print(f"  {EVENTS:,} events of low priority: {accepted:,} recorded, {refused:,} refused")
    check((accepted, refused) == (10_000, 2_000), "the queue takes 10,000; each of the others is told by an exception")
    check(count(db) == 10_000, "a refused event has left no conversation without a job")
    waits(app, db)
    samples(app, db)
    told = alerts(app)
    check({"depth", "oldest"} <= told, "jobs have waited for more than an hour: the alert `oldest` opens")
    counted(app, "mainstay_queue_depth", "mainstay_queue_oldest_seconds")
    db.close()


def collected(app, db, numbers):
    """Record many events in one transaction."""
    now, events = time.time(), [short(number) for number in numbers]
    drafts = [
        app.prepare(
            "sanitize_conversation",
            {"conversation": event["session_id"]},
            queue=QUEUE,
            priority=-1,
            key=f"sanitize-{event['session_id']}",
        )
        for event in events
    ]
    db.execute("BEGIN IMMEDIATE")
    rows = [(event["session_id"], "pending_sanitization", now, now, event["transcript"]) for event in events]
    db.executemany(
        "INSERT INTO conversations (id, status, created_at, updated_at, content) VALUES (?, ?, ?, ?, ?)", rows
    )
    app.enqueue_many(drafts, tx=db)
    db.execute("COMMIT")


def sent(app, db, numbers, priority):
    """Record events; return how many were taken, and how many were refused."""
    taken = refused = 0
    for number in numbers:
        try:
            taken += record(app, db, {**short(number), "priority": priority})
        except QueueFull:
            refused += 1
    return taken, refused


def count(db):
    return db.execute("SELECT count(*) FROM conversations").fetchone()[0]


def waits(app, db):
    """High priority waits for room, with a deadline."""
    urgent = {**short(20_000), "priority": 5}
    started = time.monotonic()
    try:
        record(app, db, urgent, wait=0.3)
    except QueueFull as error:
        took = time.monotonic() - started
        check(0.3 <= took < 3, f"an urgent event waits for room, and gives up after {took:.1f} s: {error}")
    else:
        check(False, "an urgent event waits")
    oldest = app.list("state:queued", limit=1)[0]
    threading.Timer(0.2, app.cancel, [oldest.id]).start()
    check(record(app, db, urgent, wait=5), "when a job ends meanwhile, it is recorded")


def samples(app, db):
    """Sampling is another way: a part of the events is kept."""
    app.set_queue(QUEUE, when_full="sample", one_in=10)
    taken, refused = sent(app, db, range(30_000, 30_500), priority=-1)
    check(20 <= taken <= 90 and taken + refused == 500, f"with sampling, {taken} of 500 events are kept: one in ten")


def alerts(app):
    """Look as a worker does once a minute: now, and when the jobs have waited for an hour. Return the rules that told."""
    watch = Alerts(app)
    watch.step(app.clock.now() + 60_000)
    told_now = {each.rule for each in app.alerts.open()}
    check("depth" in told_now and "oldest" not in told_now, "more than 100 jobs wait: the alert `depth` opens")
    watch.step(app.clock.now() + HOUR + 120_000)
    watch.close()
    return {each.rule for each in app.alerts.open()}

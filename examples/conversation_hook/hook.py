"""The hook: records a conversation and the job that sanitizes it, in one transaction, and exits.

    python hook.py < event.json        {"session_id": "…", "transcript": "User: …", "priority": 5}

An editor starts it at the end of each conversation and waits for it, so it imports nothing that it does not need: from start to
exit it takes less than 100 ms. CONVERSATIONS names the database; workers do the rest.
"""

import json
import os
import sqlite3
import sys
import time

from mainstay import Mainstay, QueueFull

QUEUE = "conversations"
TABLE = """
CREATE TABLE IF NOT EXISTS conversations (
    id TEXT PRIMARY KEY, status TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL, content TEXT,
    sanitized_content TEXT, report TEXT, quality TEXT, learning TEXT, cid TEXT
)
"""


def main():
    """Record the event on stdin."""
    event = json.load(sys.stdin)
    path = os.environ["CONVERSATIONS"]
    db = connected(path)
    try:
        record(Mainstay(f"sqlite:///{path}"), db, event, wait=0.05)
    except QueueFull as error:
        sys.exit(f"this conversation was not recorded: {error}")
    finally:
        db.close()


def connected(path):
    """Open the database; transactions begin where the code says so."""
    db = sqlite3.connect(path, timeout=10, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(TABLE)
    return db


def record(app, db, event, wait=0.0):
    """Record a conversation and its job, both or neither; return whether it is new.

    In a full queue, a job of low priority raises `QueueFull` at once; one of high priority waits so many seconds for room.
    """
    until = time.monotonic() + wait
    while True:
        try:
            return recorded(app, db, event)
        except QueueFull as full:
            if full.how != "wait" or time.monotonic() > until:
                raise
        time.sleep(0.01)


def recorded(app, db, event):
    """Write both, or nothing."""
    conversation, now = event["session_id"], time.time()
    db.execute("BEGIN IMMEDIATE")
    try:
        new = db.execute(
            "INSERT INTO conversations (id, status, created_at, updated_at, content) VALUES (?, 'pending_sanitization', ?, ?, ?) ON CONFLICT DO NOTHING",
            (conversation, now, now, event["transcript"]),
        ).rowcount
        if new:
            app.enqueue(
                "sanitize_conversation", {"conversation": conversation}, key=f"sanitize-{conversation}", queue=QUEUE,
                priority=event.get("priority", 5), ref=conversation, tx=db,
            )  # fmt: skip
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    return bool(new)


if __name__ == "__main__":
    main()

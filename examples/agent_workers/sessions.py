"""Sessions: old ones expire, and expired ones are archived as a compressed file and removed from the store."""

import gzip
import json
import time

from examples.agent_workers.application import app
from examples.agent_workers.database import audit, count, counts, rows, scope, transaction
from examples.agent_workers.files import ARCHIVES, folder_of, part, written
from mainstay import Permanent, Retry, by, ctx


@app.job(name="session-cleanup", priority=3, retry=Retry(3, base="10s"), timeout="2m")
def session_cleanup(max_age_hours: float = 24.0) -> dict[str, int]:
    """Expire sessions that nobody has used for so long; each expired one gets a job that archives it."""
    condition, values = scope(ctx.tenant)
    with transaction() as db:
        old = (time.time() - max_age_hours * 3600, *values)
        expired = f"UPDATE sessions SET state = 'expired' WHERE state = 'active' AND active_at < ? AND {condition}"
        count(db, "expired", db.execute(expired, old).rowcount)
    waiting = rows(f"SELECT id, org, workspace FROM sessions WHERE state = 'expired' AND {condition}", *values)
    for row in waiting:  # also those that an attempt has expired which was killed then
        ctx.enqueue(session_archive.options(tenant=f"{row['org']}/{row['workspace']}").prepare(row["id"]))
    return {**counts(), "to_archive": len(waiting)}


@app.job(name="session-archive", priority=2, retry=Retry(5, base="5s"), timeout="2m", key=by("session_id"))
def session_archive(session_id: str) -> dict[str, int | str]:
    """Write the messages of an expired session to a file, then delete them. A second attempt finds the file, or nothing to do."""
    path = folder_of(ARCHIVES, ctx.tenant) / f"{part(session_id)}.jsonl.gz"
    found = {row["id"]: row for row in rows("SELECT * FROM sessions WHERE id = ?", session_id)}.get(session_id)
    if found is None:
        return _deleted(path)
    if f"{found['org']}/{found['workspace']}" != ctx.tenant:
        raise Permanent(f"session {session_id} is of another tenant than {ctx.tenant}", code="tenant")
    if found["state"] == "active":
        raise Permanent(f"session {session_id} is in use: it has not expired", code="active")
    if found["state"] == "archived":
        return {"archived": 0, "reason": "archived before"}
    messages = [dict(row) for row in rows("SELECT * FROM messages WHERE session = ? ORDER BY id", session_id)]
    lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in messages)
    written(path, gzip.compress(lines.encode(), mtime=0))
    return (
        {"archived": len(messages), "file": str(path.relative_to(ARCHIVES))}
        if _noted(session_id, path)
        else _deleted(path)
    )


def _noted(session_id, path):
    """Delete the messages that the file has now; return False if the session was deleted while it was written."""
    with transaction() as db:
        changed = "UPDATE sessions SET state = 'archived', archive = ? WHERE id = ? AND state = 'expired'"
        if not db.execute(changed, (str(path.relative_to(ARCHIVES)), session_id)).rowcount:
            return False
        db.execute("DELETE FROM messages WHERE session = ?", (session_id,))
        audit(db, "session.archived", session_id)
    return True


def _deleted(path):
    path.unlink(missing_ok=True)
    return {"archived": 0, "reason": "deleted meanwhile"}


def archived(name):
    """Return the messages in an archive."""
    with gzip.open(ARCHIVES / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]

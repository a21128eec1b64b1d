"""What must hold of the rows of a SQLite store. There are no CHECK constraints in the schema, for speed; this takes their place."""

_BELONGINGS = ("body", "attempt", "log", "result", "checkpoint", "progress", "tag", "acted")
ROWS = {
    f"no {table} without its job": f"SELECT * FROM mainstay_{table} WHERE job NOT IN (SELECT seq FROM mainstay_job)"
    for table in _BELONGINGS
} | {
    "a body for every job": "SELECT id FROM mainstay_job WHERE seq NOT IN (SELECT job FROM mainstay_body)",
    "the lock of an ended job holds for a period only": """
        SELECT id, lock, lock_until FROM mainstay_job
        WHERE finished_at IS NOT NULL AND lock IS NOT NULL AND NOT coalesce(lock_until > 0, 0)""",
    "a lock until the start is gone once the job runs": """
        SELECT id, lock FROM mainstay_job WHERE state = 'running' AND lock_until = 0 AND lock IS NOT NULL""",
    "a queued job has its place": "SELECT id FROM mainstay_job WHERE state = 'queued' AND ord IS NULL",
    "tags are found as they are shown": """
        SELECT job, tag FROM mainstay_tag
        EXCEPT SELECT b.job, t.value FROM mainstay_body b, json_each(b.tags) t""",
    "tags are shown as they are found": """
        SELECT b.job, t.value FROM mainstay_body b, json_each(b.tags) t
        EXCEPT SELECT job, tag FROM mainstay_tag""",
    "no note of an attempt that never was": """
        SELECT l.job, l.token FROM mainstay_log l JOIN mainstay_job j ON j.seq = l.job WHERE l.token > j.token""",
}  # fmt: skip


def check(store):
    """Each of these statements finds rows that must not be there."""

    def rows(statement):
        return store.db.read(lambda connection: connection.execute(statement).fetchall())

    for rule, statement in ROWS.items():
        found = rows(statement)
        assert not found, f"{rule}: {found[:3]}"
    assert rows("PRAGMA quick_check") == [("ok",)]


def block(store, job_id):
    statement = "UPDATE mainstay_job SET state = 'blocked', waits = '|paused type:nothing' WHERE id = ?"
    store.db.write(lambda connection: connection.execute(statement, (job_id,)))


def forget_claim(store, job):
    """As in a copy of the file from before the last claim."""
    statement = "UPDATE mainstay_job SET state = 'queued', worker = NULL, token = token - 1, attempt = attempt - 1 WHERE seq = ?"
    store.db.write(lambda connection: connection.execute(statement, (job.seq,)))

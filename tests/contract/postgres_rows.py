"""What must hold of the rows of a PostgreSQL store, in place of CHECK constraints and foreign keys."""

from tests.servers.postgres import connection, place

_BELONGINGS = ("body", "attempt", "log", "result", "checkpoint", "progress", "tag", "acted")
ROWS = {
    f"no {table} without its job": f"SELECT job FROM {table} WHERE job NOT IN (SELECT seq FROM job)"
    for table in _BELONGINGS
} | {
    "a body for every job": "SELECT seq FROM job WHERE seq NOT IN (SELECT job FROM body)",
    "the lock of an ended job holds for a period only": """
        SELECT id, lock, lock_until FROM job JOIN body ON job = seq
        WHERE finished_at IS NOT NULL AND lock IS NOT NULL AND NOT coalesce(lock_until > 0, false)""",
    "a lock until the start is gone once the job runs": """
        SELECT id, lock FROM job JOIN body ON job = seq
        WHERE state = 'running' AND lock_until = 0 AND lock IS NOT NULL""",
    "only a job with a key has a lock": """
        SELECT id, key, lock, lock_until FROM job JOIN body ON job = seq WHERE lock IS NOT NULL AND lock_until IS NULL""",
    "tags are found as they are shown": """
        SELECT job, tag FROM tag EXCEPT SELECT job, json_array_elements_text(tags::json) FROM body""",
    "tags are shown as they are found": """
        SELECT job, json_array_elements_text(tags::json) FROM body EXCEPT SELECT job, tag FROM tag""",
    "no note of an attempt that never was": """
        SELECT l.job, l.token FROM log l JOIN job j ON j.seq = l.job WHERE l.token > j.token""",
    "no attempt that never was": """
        SELECT a.job, a.token FROM attempt a JOIN job j ON j.seq = a.job WHERE a.token > j.token""",
    "one version": "SELECT count(*) FROM schema_version HAVING count(*) <> 1",
}  # fmt: skip


def check(store):
    """Each of these statements finds rows that must not be there."""
    admin = within(store)
    for rule, statement in ROWS.items():
        found = admin.execute(statement).fetchall()
        assert not found, f"{rule}: {found[:3]}"


def block(store, job_id):
    within(store).execute(
        "UPDATE job SET state = 'blocked', waits = '|paused type:nothing' FROM body WHERE job = seq AND id = %s",
        (job_id,),
    )


def within(store):
    """A connection that looks at the store's own schema."""
    url, schema = place(store.url)
    admin = connection(url)
    admin.execute("SELECT set_config('search_path', %s, false)", (schema,))
    return admin


def forget_claim(store, job):
    """As on a replica that lags behind by the last claim."""
    within(store).execute(
        "UPDATE job SET state = 'queued', worker = NULL, token = token - 1, attempt = attempt - 1 WHERE seq = %s",
        (job.seq,),
    )

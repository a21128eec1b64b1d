"""What must hold of every job after every test: through the store's own answers, and for SQLite in the rows as well.

There are no CHECK constraints in the schema, for speed; this takes their place.
"""

from collections import Counter

from mainstay.core import states
from mainstay.stores.sqlite.store import SqliteStore

PAGE = 1_000
SAMPLE = 100  # jobs whose attempts are looked at


def check(store, now):
    """Fail unless every job of this store is in order."""
    jobs = every(store, now)
    for job in jobs:
        broken = [rule for rule, holds in RULES.items() if not holds(job)]
        assert not broken, f"{broken}: {job}"
    check_attempts(store, jobs[:SAMPLE])
    check_counts(store, jobs)
    if isinstance(store, SqliteStore):
        check_rows(store)


def every(store, now):
    """Every job, each found once."""
    ids, after, first = [], None, True
    while first or after is not None:
        page = store.search([], PAGE, after, now)
        ids, after, first = [*ids, *page.ids], page.after, False
    jobs = store.get_many(ids)
    assert len(set(ids)) == len(ids) == len(jobs)
    return jobs


RULES = {
    "the state is one of the states": lambda j: j.state in states.STATES,
    "running if and only if a worker holds it": lambda j: (j.state == states.RUNNING) == (j.worker is not None),
    "ended if and only if it has an end": lambda j: (j.state in states.ENDED) == (j.finished_at is not None),
    "scheduled jobs have a time": lambda j: j.state != states.SCHEDULED or j.run_at is not None,
    "started if and only if it was claimed": lambda j: (j.started_at is not None) == (j.token > 0),
    "0 <= attempt <= token": lambda j: 0 <= j.attempt <= j.token,
    "0 <= crashes <= token": lambda j: 0 <= j.crashes <= j.token,
    "a running job has an attempt": lambda j: j.state != states.RUNNING or 1 <= j.attempt <= j.max_attempts,
    "only ended jobs expire": lambda j: j.expires_at is None or j.state in states.ENDED,
    "the dead stay": lambda j: j.state != states.DEAD or j.expires_at is None,
    "the others expire if they are not kept for ever": lambda j: (
        j.state not in (states.COMPLETED, states.CANCELLED)
        or (j.expires_at is None if j.keep is None else j.expires_at >= j.finished_at + j.keep)
    ),
    "dead with a reason": lambda j: j.state != states.DEAD or bool(j.reason),
    "only what runs or has ended was cancelled": lambda j: (
        j.cancel_at is None or j.state in (states.RUNNING, states.CANCELLED, states.DEAD)
    ),
}


def check_attempts(store, jobs):
    for job in jobs:
        found = store.attempts(job.id)
        tokens = [attempt.token for attempt in found]
        assert tokens == sorted(set(tokens)), (job, found)
        assert not tokens or tokens[-1] <= job.token
        open_ended = [attempt for attempt in found if attempt.ended_at is None]
        assert len(open_ended) == (job.state == states.RUNNING), (job, found)
        if job.state in states.ENDED and job.attempt > 0:
            assert found, f"no attempt on record: {job}"


def check_counts(store, jobs):
    """The counts and the workers tell of the same jobs as the jobs themselves."""
    uncounted = {states.COMPLETED, states.CANCELLED, states.BLOCKED}
    labels = Counter(
        (job.type, "retrying" if job.retrying else job.state) for job in jobs if job.state not in uncounted
    )
    counted = {(count.type, count.label): count.jobs for count in store.counts(10**9)}
    assert counted == labels, (counted, labels)
    held = Counter(job.worker for job in jobs if job.worker is not None)
    for worker in store.workers():
        assert worker.running == held[worker.id], worker


def check_rows(store):
    """Each of these statements finds rows that must not be there."""
    with store.db.reading() as connection:
        for rule, statement in ROWS.items():
            found = connection.execute(statement).fetchall()
            assert not found, f"{rule}: {found[:3]}"
        assert connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]


_BELONGINGS = ("body", "attempt", "log", "result", "checkpoint", "progress", "tag")
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


def block(store, job_id):
    """Put a queued job behind a limit: no verb does so yet."""
    if isinstance(store, SqliteStore):
        with store.db.writing() as connection:
            connection.execute("UPDATE mainstay_job SET state = 'blocked' WHERE id = ?", (job_id,))
    else:
        raise NotImplementedError(f"say here how a job of {store.url} is blocked")

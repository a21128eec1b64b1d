"""What must hold of every job after every test: through the store's own answers, and in the rows or keys themselves."""

from collections import Counter

from mainstay.core import states
from mainstay.core.dead import grouped
from tests.contract import postgres_rows, redis_keys, sqlite_rows

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
    check_dead(store, jobs)
    raw(store).check(store)


def every(store, now):
    """Every job, each found once."""
    ids, after, first = [], None, True
    while first or after is not None:
        page = store.search([], PAGE, after, now)
        ids, after, first = [*ids, *page.ids], page.after, False
    jobs = store.get_many(ids)
    assert len(set(ids)) == len(ids) == len(jobs)
    return jobs


def kept(job):
    """How long an ended job is kept."""
    own = {states.CANCELLED: job.keep_cancelled, states.DEAD: job.keep_dead}.get(job.state)
    return own if own is not None or job.state == states.DEAD else job.keep


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
    "the dead stay unless they have an age": lambda j: (
        j.state != states.DEAD or (j.expires_at is None) == (j.keep_dead is None)
    ),
    "the others expire if they are not kept for ever": lambda j: (
        j.state not in states.ENDED
        or (j.expires_at is None if kept(j) is None else j.expires_at >= j.finished_at + kept(j))
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
    uncounted = {states.COMPLETED, states.CANCELLED}
    # A blocked job that waits for nothing comes from a test's fixture: no version made one. Redis counts the lines.
    jobs = [
        job for job in jobs if job.waits is not None or job.state != states.BLOCKED or not store.url.startswith("redis")
    ]
    labels = Counter(
        (job.queue, job.type, "retrying" if job.retrying else job.state) for job in jobs if job.state not in uncounted
    )
    counted = {(count.queue, count.type, count.label): count.jobs for count in store.counts(10**9)}
    assert counted == labels, (counted, labels)
    held = Counter(job.worker for job in jobs if job.worker is not None)
    for worker in store.workers():
        assert worker.running == held[worker.id], worker


def check_dead(store, jobs):
    """The groups of dead jobs have exactly the dead jobs."""
    dead = Counter((job.fingerprint, job.type) for job in jobs if job.state == states.DEAD)
    groups = {(group.fingerprint, group.type): group.jobs for group in grouped(store.dead_counts(0, 10**9))}
    assert groups == dead, (groups, dead)


def block(store, job_id):
    """Let a queued job wait for the end of a pause that does not exist."""
    raw(store).block(store, job_id)


def raw(store):
    """How the rows or keys of a store's engine are looked at from outside."""
    scheme = store.url.partition(":")[0]
    return sqlite_rows if scheme == "sqlite" else postgres_rows if scheme.startswith("postgres") else redis_keys

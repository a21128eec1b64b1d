"""What a store should do, in plain Python and without a database: the verbs answer what the store must answer."""

from mainstay.core import states
from mainstay.core.keys import held

WAITING = (states.QUEUED, states.SCHEDULED)
FINAL = (states.CANCELLED, states.DEAD)


class Entry:
    """One job as it should be."""

    def __init__(self, draft, now, seq):
        self.id, self.seq, self.token = draft.id, seq, 0
        self.key = self.lock = draft.lock
        self.ask(draft, now)

    def ask(self, draft, now):
        waits = draft.run_at is not None and draft.run_at > now
        self.state = states.SCHEDULED if waits else states.QUEUED
        self.run_at, self.order = draft.run_at, draft.run_at if waits else now
        self.priority, self.until, self.keep = draft.priority, draft.lock_until, draft.keep
        self.attempt = self.crashes = 0
        self.cancelling, self.expires = False, None

    def end(self, state, now):
        self.state, self.expires = state, None if state == states.DEAD else now + self.keep
        if self.until is None:
            self.lock = None

    @property
    def seen(self):
        return self.state, self.attempt, self.crashes, self.token, self.priority


class Book:
    """All jobs as they should be."""

    def __init__(self):
        self.jobs, self._seq = {}, 0

    def held(self, lock, besides=None):
        """The other job that has this lock."""
        return next((job for job in self.jobs.values() if lock and job.lock == lock and job is not besides), None)

    def running(self):
        return {job.id for job in self.jobs.values() if job.state == states.RUNNING}

    def enqueue(self, draft, now):
        holder = None if draft.id in self.jobs else self.held(draft.lock)
        if holder is None:
            self._seq += 1
            self.jobs.setdefault(draft.id, Entry(draft, now, self._seq))
            return draft.id, True
        if draft.on_conflict == "replace" and holder.state in WAITING:
            holder.ask(draft, now)
        elif draft.on_conflict != "existing":
            return holder.id, "refused"
        return holder.id, False

    def claim(self, limit, now):
        for job in self.jobs.values():
            if job.state == states.SCHEDULED and job.run_at <= now:
                job.state, job.order = states.QUEUED, job.run_at
        queued = [job for job in self.jobs.values() if job.state == states.QUEUED]
        taken = sorted(queued, key=lambda job: (-job.priority, job.order, job.seq))[:limit]
        for job in taken:
            job.state, job.token, job.attempt = states.RUNNING, job.token + 1, job.attempt + 1
            job.lock = None if job.until == 0 else job.lock
        return [(job.id, job.token, job.attempt) for job in taken]

    def finish(self, transition, now):
        job = self.jobs.get(transition.id)
        if job is None or job.token != transition.token:
            return "lost"
        if job.state == states.RUNNING and job.cancelling and transition.state not in FINAL:
            return "cancelling"
        if job.state == states.RUNNING:
            self._leave(job, transition, now)
            return "stored"
        promoted = job.state == states.QUEUED and transition.state == states.SCHEDULED
        return "already" if job.state == transition.state or promoted else "lost"

    def _leave(self, job, transition, now):
        job.state, job.run_at = transition.state, transition.run_at
        job.attempt, job.crashes = transition.attempt, transition.crashes
        if job.state == states.SCHEDULED:  # what goes back to the queue keeps its place there
            job.order = job.run_at
        elif job.state in states.ENDED:
            job.end(job.state, now)

    def cancel(self, id, now):
        job = self.jobs.get(id)
        if job is None:
            return "missing"
        if job.state == states.RUNNING:
            job.cancelling = True
            return "cancelling"
        if job.state in states.ENDED:
            return "ended"
        job.end(states.CANCELLED, now)
        job.lock = None
        return "cancelled"

    def retry(self, id, now):
        job = self.jobs.get(id)
        if job is None or job.state not in (*FINAL, states.REVIEW, states.SCHEDULED):
            return job.state if job else "missing"
        lock = job.lock if job.state == states.SCHEDULED else job.key
        holder = self.held(lock, besides=job)
        if holder:
            return held(holder.id, lock.partition(":")[2])
        job.state, job.attempt, job.crashes, job.order, job.lock = states.QUEUED, 0, 0, now, lock
        job.cancelling, job.expires = False, None
        return "queued"

    def judge(self, id, approve, now):
        job = self.jobs.get(id)
        if job is None or job.state != states.REVIEW:
            return job.state if job else "missing"
        job.end(states.COMPLETED if approve else states.DEAD, now)
        return "approved" if approve else "rejected"

    def delete(self, id):
        job = self.jobs.get(id)
        if job is None or job.state == states.RUNNING:
            return job.state if job else "missing"
        del self.jobs[id]
        return "deleted"

    def prune(self, now):
        gone = [job.id for job in self.jobs.values() if job.expires is not None and job.expires <= now]
        for id in gone:
            del self.jobs[id]
        return len(gone)

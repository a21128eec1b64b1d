"""The usual moves of a contract test, so that each test shows only what it is about."""

from mainstay.core import states
from mainstay.core.clock import SECOND
from mainstay.core.decide import decide
from mainstay.core.draft import Draft
from mainstay.core.job import WorkerInfo
from mainstay.core.outcome import COMPLETED, Outcome
from mainstay.core.search_terms import Term
from mainstay.core.updates import Checkpoint, Log, Progress
from tests.contract import invariants

LEASE = 10 * SECOND
WORKER = "w-first"
BACKOFF = f"{SECOND} {SECOND} 1 0"  # one second, always, without jitter
FAILED = Outcome("failed", error="ValueError: no", traceback="Traceback: no")
FINAL = Outcome("failed", error="ValueError: never", traceback="Traceback: never", retry=False, reason="permanent")
REVIEW = Outcome("review", reason="look at this", result='{"proposed":1}')
CANCELLED = Outcome("cancelled", reason="not wanted any more")


def draft(type="work", payload="{}", **given):
    """A job to be enqueued."""
    return Draft(type, payload, **{"backoff": BACKOFF} | given)


def keyed(key="k", until=None, type="work", **given):
    """A job with a key: unique while alive (None), until it starts (0), or until an instant."""
    return draft(type, key=key, lock=f"{type}:{key}", lock_until=until, **given)


def worker(id, now, lease=LEASE, **given):
    """What a worker says of itself when it joins."""
    return WorkerInfo(id, "host", 1, 8, ("default",), ("work",), now, now, now + lease, 0, stopping=False)._replace(
        **given
    )


def transition(job, outcome, now):
    """What becomes of a claimed job after this outcome."""
    return decide(job, outcome, now, lambda: 0.0)


def log(job, n=1, message="hello", **given):
    """A line of a job's log."""
    return Log(job.seq, job.token, n, 7, "info", None, message, None)._replace(**given)


def progress(job, done=1.0, total=2.0, stage=None):
    """How far a job is."""
    return Progress(job.seq, job.token, 7, done, total, stage)


def checkpoint(job, body='{"page":1}'):
    """What the next attempt starts from."""
    return Checkpoint(job.seq, job.token, 7, body)


class Desk:
    """A store, a clock that stands still until it is moved, and a registered worker."""

    def __init__(self, store, clock):
        self.store, self.clock = store, clock
        self.join()

    @property
    def now(self):
        return self.clock.now()

    # jobs ---------------------------------------------------------------------------------------------------------
    def add(self, type="work", **given):
        """A new job's id."""
        return self.send(draft(type, **given))

    def send(self, draft):
        """The id of a draft that must be new."""
        ((job, created),) = self.store.enqueue([draft], self.now)
        assert created
        return job

    def claim(self, limit=1, worker=WORKER, wants=None, **given):
        """The whole answer to a claim."""
        return self.store.claim(worker, wants or {"default": ["work"]}, limit, self.now, **given)

    def take(self, limit=1, worker=WORKER, wants=None):
        """The jobs that a claim answers."""
        return self.claim(limit, worker, wants).jobs

    def run(self, worker=WORKER, **given):
        """A new job, claimed."""
        job = self.add(**given)
        return self.take_this(job, worker)

    def take_this(self, job_id, worker=WORKER):
        """The one job that waits, claimed."""
        (job,) = self.take(1, worker)
        assert job.id == job_id
        return job

    def children(self):
        """The ids of all jobs of the type `child`, newest first."""
        return list(self.store.search([Term("type", "=", ("child",))], 50, None, self.now).ids)

    def end(self, job, outcome=COMPLETED):
        """The verdict on an outcome."""
        (verdict,) = self.store.finish([transition(job, outcome, self.now)])
        return verdict

    def bring(self, state, **given):
        """The id of a job in this state."""
        if state in _ENDS:
            job = self.run(**given)
            assert self.end(job, _ENDS[state]) == "stored"
            return job.id
        if state == states.RUNNING:
            return self.run(**given).id
        if state == states.SCHEDULED:
            return self.add(run_at=self.now + SECOND, **given)
        job_id = self.add(**given)
        if state == states.BLOCKED:
            invariants.block(self.store, job_id)
        return job_id

    def promote(self):
        """Queue the scheduled jobs that are due, as every claim does first."""
        self.claim(0)

    # looking ------------------------------------------------------------------------------------------------------
    def job(self, job_id):
        """The job as it stands; it must be there."""
        job = self.store.get(job_id)
        assert job is not None
        return job

    def state(self, job_id):
        """The state of a job, or None."""
        job = self.store.get(job_id)
        return job and job.state

    # workers and time ---------------------------------------------------------------------------------------------
    def join(self, id=WORKER, lease=LEASE):
        """Register a worker."""
        self.store.register(worker(id, self.now, lease))

    def outlive(self, lease=LEASE):
        """Let every lease run out that is not renewed meanwhile; its worker's process is gone."""
        self.clock.move_to(self.now + lease + 1)
        self.kill(*(info.id for info in self.store.workers() if info.expires_at <= self.now))

    def kill(self, *workers):
        """Release the locks of workers as the kernel does after their death."""
        for id in workers:
            self.store.local_workers.release(id, keep=True)


_ENDS = {states.COMPLETED: COMPLETED, states.DEAD: FINAL, states.REVIEW: REVIEW, states.CANCELLED: CANCELLED}

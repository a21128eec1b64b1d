"""Jobs in every state, made without a worker: claimed and finished by hand, on a store that a command then reads."""

from mainstay.core.clock import HOUR
from mainstay.core.decide import decide
from mainstay.core.draft import Draft
from mainstay.core.job import WorkerInfo
from mainstay.core.outcome import COMPLETED, Outcome
from mainstay.core.updates import Checkpoint, Log, Progress

TRACEBACK = 'Traceback (most recent call last):\n  File "shop.py", line 7, in charge\nReadTimeout: api.example'
FAILED = Outcome("failed", error="ReadTimeout: api.example", traceback=TRACEBACK)
DEAD = FAILED._replace(retry=False, reason="permanent")
REVIEW = Outcome("review", reason="12.40 too much", result='{"pay": 1}')


class Shop:
    """Brings jobs into states."""

    def __init__(self, app):
        self.app, self.store = app, app.store
        self.worker = "wtest"

    def join(self, types=("mail",), lease=HOUR, worker="wtest", declared=()):
        now = self.app.clock.now()
        info = WorkerInfo(worker, "host", 4321, 8, ("default",), tuple(types), now, now, now + lease, 0, stopping=False)
        self.store.register(info, declared)

    def add(self, type="mail", payload="{}", **options):
        ((job, _),) = self.store.enqueue([Draft(type, payload, **options)], self.app.clock.now())
        return job

    def claim(self, type="mail", **options):
        if not any(worker.id == self.worker for worker in self.store.workers()):
            self.join([type])
        job = self.add(type, backoff=f"{HOUR} {HOUR} 1 0", priority=1, **options)  # before the others
        (claimed,) = self.store.claim(self.worker, {"default": [type]}, 1, self.app.clock.now()).jobs
        assert claimed.id == job
        return claimed

    def end(self, outcome=COMPLETED, **options):
        claimed = self.claim(**options)
        self.finish(claimed, outcome)
        return claimed.id

    def finish(self, claimed, outcome=COMPLETED):
        self.store.finish([decide(claimed, outcome, self.app.clock.now(), lambda: 0.0)])

    def dead(self, **options):
        return self.end(DEAD, **options)

    def review(self, **options):
        return self.end(REVIEW, **options)

    def speaking(self, **options):
        """A running job with a log, progress and a checkpoint."""
        claimed = self.claim(**options)
        now, place = self.app.clock.now(), (claimed.seq, claimed.token)
        self.store.finish([], [
            Log(*place, 1, now, "info", "read", "page \x1b[31mdone", '{"page": 3}'),
            Log(*place, 2, now, "error", None, "odd page", None),
            Progress(*place, now, 31, 50, "read"),
            Checkpoint(*place, now, '{"page": 3}'),
        ])  # fmt: skip
        return claimed.id

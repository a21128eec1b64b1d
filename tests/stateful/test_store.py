"""Random verbs on a real store beside the model of it: every answer and every job must agree.

Hypothesis shrinks a disagreement to the few verbs that matter.
"""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from mainstay.core.clock import SECOND, ManualClock
from mainstay.core.decide import decide
from mainstay.core.draft import Draft
from mainstay.core.errors import DuplicateKey
from mainstay.core.ids import Ids
from mainstay.core.job import WorkerInfo
from mainstay.core.outcome import CANCELLED, COMPLETED, CRASHED, RELEASED, Outcome
from mainstay.stores import open_store
from tests.contract.invariants import check
from tests.servers.engines import ENGINES
from tests.stateful.model import Book

KEEP, LEASE = 20 * SECOND, 10 * SECOND
OUTCOMES = {
    "completes": COMPLETED, "fails": Outcome("failed", error="no"), "gives up": Outcome("failed", error="no", retry=False),
    "snoozes": Outcome("snoozed", delay=SECOND), "asks": Outcome("review", reason="look"), "is handed back": RELEASED,
    "cancels": CANCELLED, "returns something": Outcome("completed", result="1"),
}  # fmt: skip
KEYS, UNTIL = (
    st.sampled_from([None, None, "a", "b"]),
    st.sampled_from([None, 0]),
)  # None: while alive; 0: until it starts
CONFLICTS = st.sampled_from(["existing", "replace", "raise"])


class Stores(RuleBasedStateMachine):
    drafts, attempts = Bundle("drafts"), Bundle("attempts")

    def __init__(self, engine, folder):
        super().__init__()
        self.clock, self.ids, self.book = ManualClock(), Ids(), Book()
        self.closing = ExitStack()
        url = self.closing.enter_context(
            ENGINES[engine](Path(self.closing.enter_context(TemporaryDirectory(dir=folder))))
        )
        self.store = self.closing.enter_context(open_store(url, self.clock))
        self.join()

    def teardown(self):
        with self.closing:
            check(self.store, self.now)

    @property
    def now(self):
        return self.clock.now()

    def join(self):
        self.worker, now = self.ids.new(self.now), self.now
        self.store.register(
            WorkerInfo(self.worker, "host", 1, 8, ("default",), ("work",), now, now, now + LEASE, 0, stopping=False)
        )

    # jobs ---------------------------------------------------------------------------------------------------------
    @rule(
        target=drafts, key=KEYS, until=UNTIL, delay=st.sampled_from([0, 0, 5]), first=st.booleans(), conflict=CONFLICTS
    )
    def enqueue(self, key, until, delay, first, conflict):
        run_at = self.now + delay * SECOND if delay else None
        lock = {"key": key, "lock": f"work:{key}", "lock_until": until} if key else {}
        draft = Draft(
            "work", "{}", id=self.ids.new(self.now), run_at=run_at, priority=int(first), max_attempts=2, keep=KEEP,
            timeout=None, backoff=f"{SECOND} {SECOND} 1 0", on_conflict=conflict, **lock,
        )  # fmt: skip
        self.send(draft)
        return draft

    @rule(draft=drafts)
    def send(self, draft):
        """Also what was sent before: as for want of an answer."""
        try:
            answer = self.store.enqueue([draft], self.now)[0]
        except DuplicateKey as error:
            answer = error.existing, "refused"
        assert answer == self.book.enqueue(draft, self.now)

    @rule(target=attempts, limit=st.integers(1, 3))
    def claim(self, limit):
        jobs = self.store.claim(self.worker, {"default": ["work"]}, limit, self.now).jobs
        assert [(job.id, job.token, job.attempt) for job in jobs] == self.book.claim(limit, self.now)
        return jobs

    @rule(jobs=attempts, how=st.sampled_from(sorted(OUTCOMES)))
    def finish(self, jobs, how):
        """Also attempts that ended long ago or were taken away: those must be refused."""
        self.write(decide(job, OUTCOMES[how], self.now, lambda: 0.0) for job in jobs)

    def write(self, transitions):
        transitions = list(transitions)
        assert self.store.finish(transitions) == [self.book.finish(transition, self.now) for transition in transitions]

    @rule()
    def the_worker_dies(self):
        """Its lease runs out, the sweep frees what it held, another takes its place."""
        self.clock.advance(LEASE / 1000)
        self.store.local_workers.release(self.worker, keep=True)  # as the kernel does
        orphans = self.store.orphans(self.now, 60 * SECOND, 100)
        assert {orphan.job.id for orphan in orphans} == self.book.running()
        self.write(decide(orphan.job, CRASHED, self.now, lambda: 0.0) for orphan in orphans)
        self.join()

    # operators and time -------------------------------------------------------------------------------------------
    @rule(draft=drafts)
    def cancel(self, draft):
        assert self.store.cancel([draft.id], self.now, "test")[draft.id] == self.book.cancel(draft.id, self.now)

    @rule(draft=drafts)
    def retry(self, draft):
        assert self.store.retry([draft.id], self.now, "test")[draft.id] == self.book.retry(draft.id, self.now)

    @rule(draft=drafts, approve=st.booleans())
    def judge(self, draft, approve):
        answer = self.store.resolve_review(draft.id, approve, self.now, "test", "")
        assert answer == self.book.judge(draft.id, approve, self.now)

    @rule(draft=consumes(drafts))
    def delete(self, draft):
        assert self.store.delete([draft.id], self.now, "test")[draft.id] == self.book.delete(draft.id)

    @rule(seconds=st.sampled_from([1, 5, 30]))
    def time_passes(self, seconds):
        """The worker beats on meanwhile; retention removes what was kept long enough."""
        for _ in range(seconds):
            self.clock.advance(1)
            assert self.store.renew(self.worker, self.now, LEASE).alive
        assert self.store.prune(self.now, 100) == self.book.prune(self.now)

    @invariant()
    def every_job_is_as_it_should_be(self):
        found = {job.id: job for job in self.store.get_many(list(self.book.jobs))}
        assert self.store.find("", 1_000) == sorted(found, reverse=True)
        for id, expected in self.book.jobs.items():
            job = found[id]
            assert (job.state, job.attempt, job.crashes, job.token, job.priority) == expected.seen


EXAMPLES = {"memory": 120}
FEWER = 15  # where each verb is a round trip


def test_random_verbs_are_answered_as_the_model_answers_them(engine, tmp_path):
    how = settings(
        max_examples=EXAMPLES.get(engine, FEWER), stateful_step_count=50, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(lambda: Stores(engine, tmp_path), settings=how)

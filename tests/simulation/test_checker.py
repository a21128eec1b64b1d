"""The checker itself: hand-made histories that break one invariant each must be reported, a good one must pass."""

import pytest

from tests.simulation.checker import check
from tests.simulation.history import History, load, merge


class Story(History):
    """A history told line by line: each line is at one more millisecond."""

    def tell(self, op, phase="ok", job="J", token=0, process="p", at=None, **args):
        self.add(len(self) if at is None else at, process, op, phase, job, token, **args)
        return self

    def enqueued(self, job="J", state="queued", **asked):
        self.tell("enqueue", "invoke", job, **asked)
        self.moved("", state, job=job, run_at=asked.get("run_at"))
        return self.tell("enqueue", "ok", job, sent=job, created=True)

    def moved(self, before, after, token=0, attempt=0, job="J", **more):
        return self.tell("move", "ok", job, token, "engine", before=before, after=after, attempt=attempt, **more)

    def claimed(self, token=1, attempt=1, job="J", worker="w1", process="one", **more):
        self.moved("queued", "running", token, attempt, job, worker=worker, **more)
        return self.tell("claim", "ok", job, token, process)

    def ran(self, token=1, job="J", process="one", outcome="completed"):
        self.tell("start", "ok", job, token, process)
        return self.tell("end", "ok", job, token, process, outcome=outcome)

    def finished(
        self, state="completed", token=1, attempt=1, job="J", outcome="completed", by="worker", asked=None, **more
    ):
        self.tell("finish", "ok", job, token, "one", state=state, outcome=outcome, by=by, **(asked or {}))
        return self.moved("running", state, token, attempt, job, **more)

    def suspended(self, token, state="queued"):
        """The worker is suspended, its job swept; it comes back long before the next sweep."""
        self.tell("lease", job="", process="w1", until=len(self) + 5).claimed(token, token)
        self.tell("fault", job="", process="one", kind="pause").finished(state, token, token, outcome="crashed")
        for _ in range(20):
            self.tell("back", job="", process="one")
        return self

    def stands(self, state, job="J", token=1):
        return self.tell("final", "ok", job, token, "engine", state=state)


def broken(story, **options):
    return {violation.invariant for violation in check(story, **options)}


def test_a_good_history_passes():
    story = Story().enqueued().claimed().ran().finished().stands("completed")
    assert check(story, live=True) == []


def test_a_retried_handed_back_and_cancelled_job_passes():
    story = Story().enqueued(key="k").claimed()
    story.ran(outcome="failed").finished("scheduled", outcome="failed").moved("scheduled", "queued", 1, 1)
    story.claimed(2, 2).finished("queued", 2, 1, outcome="released").claimed(3, 2)
    story.tell("cancel", answer="cancelling").ran(3, outcome="cancelled").finished(
        "cancelled", 3, 2, outcome="cancelled"
    )
    assert check(story.stands("cancelled", token=3), live=True) == []


def test_a_handler_that_outlives_the_lease_of_its_worker_passes():
    story = Story().enqueued().claimed().tell("start", token=1, process="one", limit=3_000)
    story.tell("fault", process="one", kind="pause").finished("scheduled", outcome="failed", by="lost lease")
    story.tell("end", token=1, process="one", outcome="completed", ran=60_000)
    assert check(story.stands("scheduled")) == []


BREACHES = {
    "a lease given up in vain": ("I7", Story().enqueued().claimed().finished("scheduled", outcome="failed", by="lost lease")),
    "accepted and lost": ("I1", Story().tell("enqueue", "invoke").tell("enqueue", "ok", sent="J", created=True)),
    "lost_unknown": ("I1", Story().enqueued()),
    "never ends": ("I1", Story().enqueued().claimed().stands("running")),
    "turned away and stored": ("I2", Story().tell("enqueue", "invoke").tell("enqueue", "fail").stands("queued", token=0)),
    "half a batch": (
        "I2",
        Story().tell("enqueue", "invoke", "A", batch="b").tell("enqueue", "invoke", "B", batch="b").moved("", "queued", job="A")
        .stands("queued", "A"),
    ),
    "another job answered as new": (
        "I2",
        Story().enqueued().tell("enqueue", "ok", "J", sent="other", created=True).stands("queued"),
    ),
    "a child is missing": (
        "I2",
        Story().enqueued().claimed().tell("enqueue", "invoke", "C", parent="J", parent_token=1).ran().finished()
        .stands("completed"),
    ),
    "nobody enqueued it": ("I3", Story().moved("", "queued").stands("queued")),
    "a child of a refused attempt": (
        "I3",
        Story().enqueued().claimed().tell("enqueue", "invoke", "C", parent="J", parent_token=1).moved("", "queued", job="C")
        .finished("queued", outcome="crashed").stands("queued").stands("queued", "C"),
    ),
    "a token twice": ("I4", Story().enqueued().claimed().finished("queued", outcome="crashed").claimed(1, 2).stands("running")),
    "a token for two": ("I4", Story().enqueued().claimed().tell("claim", token=1, process="two").stands("running")),
    "two outcomes": ("I5", Story().enqueued().claimed().ran().finished().finished().stands("completed")),
    "an old token's outcome": (
        "I5",
        Story().enqueued().claimed().moved("running", "queued", 1, 1).claimed(2, 2)
        .tell("finish", token=1, state="completed", outcome="failed", by="worker").moved("running", "completed", 2, 2)
        .stands("completed"),
    ),
    "completed before it returned": (
        "I5",
        Story().enqueued().claimed().tell("start", token=1).finished().tell("end", token=1, outcome="completed")
        .stands("completed"),
    ),
    "taken after the end": (
        "I6",
        Story().enqueued().claimed().ran().finished().moved("completed", "running", 2, 2).stands("running"),
    ),
    "started after the end": (
        "I6",
        Story().enqueued().claimed().finished("dead", outcome="crashed").tell("start", token=1).stands("dead"),
    ),
    "taken from a holder": ("I7", Story().enqueued().claimed().moved("running", "running", 2, 2).stands("running")),
    "started without a claim": ("I7", Story().enqueued().ran(7).stands("queued")),
    "robbed of a running lease": (
        "I7",
        Story().enqueued().tell("lease", job="", process="w1", until=1_000).claimed().finished("queued", outcome="crashed")
        .stands("queued"),
    ),
    "lost its lease undisturbed": (
        "I7",
        Story().enqueued().tell("lease", job="", process="w1", until=9).claimed().finished("queued", outcome="crashed")
        .stands("queued"),
    ),
    "a lease renewed after its end": (
        "I7",
        Story().tell("lease", job="", process="w1", until=0).tell("lease", job="", process="w1", until=9),
    ),
    "an unknown move": ("I8", Story().enqueued().moved("queued", "completed").stands("completed")),
    "a gap": ("I8", Story().enqueued().moved("running", "completed").stands("completed")),
    "one attempt too many": ("I9", Story().enqueued().claimed(1, 4, max_attempts=3).stands("running")),
    "a hand-back that costs": (
        "I9",
        Story().enqueued().claimed().finished("queued", 1, 1, outcome="released").stands("queued"),
    ),
    "a failure that is free": ("I9", Story().enqueued().claimed().finished("scheduled", 1, 0, outcome="failed").stands("scheduled")),
    "two with one key": ("I12", Story().enqueued(key="k").enqueued("K", key="k").stands("queued").stands("queued", "K")),
    "a key kept after the end": (
        "I12",
        Story().enqueued(key="k").claimed().ran().finished().tell("enqueue", "absorbed", sent="K").stands("completed"),
    ),
    "completed after a cancel": (
        "I14",
        Story().enqueued().claimed().tell("cancel", answer="cancelling").ran().finished().stands("completed"),
    ),
    "retried after a cancel": (
        "I14",
        Story().enqueued().claimed().ran(outcome="failed").finished("scheduled", outcome="failed", cancelling=True)
        .stands("scheduled"),
    ),
    "there twice": ("I15", Story().enqueued().stands("queued").stands("queued")),
    "elsewhere than it was put": ("I15", Story().enqueued().stands("dead")),
    "removed while it ran": ("I15", Story().enqueued().claimed().moved("running", "", 1, 1)),
    "left behind": ("I15", Story().tell("stray", job="", table="log")),
    "before its time": ("I16", Story().enqueued(state="scheduled", run_at=99).moved("scheduled", "queued", run_at=99).claimed()),
    "the lesser first": (
        "I16",
        Story().tell("enqueue", "invoke", "A").tell("enqueue", "invoke", "B").moved("", "queued", job="A", priority=1)
        .moved("", "queued", job="B", priority=0).moved("queued", "running", 1, 1, "B", priority=0),
    ),
    "a time limit too early": (
        "I20",
        Story().enqueued().claimed().tell("start", token=1, process="one", limit=3_000)
        .finished("scheduled", outcome="timed out").stands("scheduled"),
    ),
    "a time limit that is never applied": (
        "I20",
        Story().enqueued().claimed().tell("start", token=1, process="one", limit=3_000)
        .tell("end", token=1, process="one", outcome="completed", ran=60_000).finished().stands("completed"),
    ),
    "crashed before it started": (
        "I21",
        Story().enqueued().claimed().tell("finish", token=1, state="queued", outcome="crashed", by="sweep", marks=True)
        .moved("running", "queued", 1, 1).stands("queued"),
    ),
    "poison without a death": ("I21", Story().enqueued().suspended(1).suspended(2).suspended(3, "dead").stands("dead", token=3)),
    "two attempts at once": (
        "I24",
        Story().enqueued().claimed().tell("start", token=1, process="one").finished("scheduled", outcome="timed out")
        .moved("scheduled", "queued", 1, 1).claimed(2, 2).tell("start", token=2, process="one").stands("running", token=2),
    ),
    "claimed and kept waiting": (
        "I25",
        Story().enqueued().claimed().tell("start", token=1, process="one", at=30_000).stands("running"),
    ),
    "deleted by a search that no longer matches": (
        "I26",
        Story().enqueued().moved("queued", "").tell("delete", only="dead", answer="deleted"),
    ),
    "decided before its deadline": (
        "I35",
        Story().enqueued().claimed().ran(outcome="review").finished("review", outcome="review", asked={"expires": 900, "policy": "reject"})
        .moved("review", "dead", 1, 1).tell("resolve_review", answer="rejected", actor="deadline", now=899).stands("dead"),
    ),
    "decided against its policy": (
        "I35",
        Story().enqueued().claimed().ran(outcome="review").finished("review", outcome="review", asked={"expires": 900, "policy": "dead"})
        .moved("review", "completed", 1, 1).tell("resolve_review", answer="approved", actor="deadline", now=901).stands("completed"),
    ),
    "decided by no deadline": (
        "I35",
        Story().enqueued().claimed().ran(outcome="review").finished("review", outcome="review")
        .moved("review", "dead", 1, 1).tell("resolve_review", answer="rejected", actor="deadline", now=1).stands("dead"),
    ),
    "reminded of twice": (
        "I35",
        Story().enqueued().claimed().ran(outcome="review").finished("review", outcome="review")
        .tell("remind", token=1, due=5).tell("remind", token=1, due=5).stands("review"),
    ),
    "a child of a review that was rejected": (
        "I3",
        Story().enqueued().claimed().tell("enqueue", "invoke", "C", parent="J", parent_token=1)
        .finished("review", outcome="review").moved("review", "dead", 1, 1).moved("", "queued", job="C").stands("dead")
        .stands("queued", "C"),
    ),
    "a child of a review that was approved": (
        "I2",
        Story().enqueued().claimed().tell("enqueue", "invoke", "C", parent="J", parent_token=1)
        .finished("review", outcome="review").moved("review", "completed", 1, 1).stands("completed"),
    ),
    "a stale note": ("I18", Story().enqueued().claimed(2, 1).tell("note", token=1, current=2, running=True).stands("running")),
}  # fmt: skip


@pytest.mark.parametrize("name", BREACHES)
def test_each_breach_is_reported(name):
    invariant, story = BREACHES[name]
    assert invariant in broken(story, live=True)


def test_an_unknown_enqueue_may_be_absent_or_there():
    absent = Story().tell("enqueue", "invoke").tell("enqueue", "unknown")
    there = Story().tell("enqueue", "invoke").tell("enqueue", "unknown").moved("", "queued").stands("queued")
    assert broken(absent) == broken(there) == set()


def test_what_is_not_at_rest_is_wrong_only_when_faults_have_stopped():
    story = Story().enqueued().stands("queued")
    assert broken(story) == set()
    assert broken(story, live=True) == {"I1"}


def test_where_the_order_is_not_sure_a_late_line_is_no_breach():
    story = Story().enqueued().claimed().finished("dead", outcome="crashed").ran().stands("dead")
    assert broken(story) == {"I6"}
    assert broken(story, ordered=False) == set()


def test_a_campaign_without_moves_is_judged_by_what_it_has():
    story = Story().tell("enqueue", "invoke").tell("enqueue", "ok", sent="J", created=True)
    story.tell("claim", token=1).ran().tell("finish", token=1, state="completed", outcome="completed").stands(
        "completed"
    )
    assert broken(story, live=True, ordered=False) == set()


def test_a_fault_excuses_the_loss_of_a_lease():
    story = Story().enqueued().tell("lease", job="", process="w1", until=6).claimed()
    story.tell("fault", job="", process="one", kind="pause").finished("queued", outcome="crashed").stands("queued")
    assert broken(story) == set()


def test_a_history_survives_its_file(tmp_path):
    story = Story().enqueued(key="k").claimed()
    story.dump(tmp_path / "history.jsonl")
    with (tmp_path / "history.jsonl").open("a") as file:
        file.write('[99,"cut')
    again = load(tmp_path / "history.jsonl")
    assert again.records == story.records
    assert again.hash() == story.hash()


def test_histories_of_several_processes_become_one():
    one, two = History(), History()
    one.add(1, "one", "start", job="A")
    one.add(5, "one", "end", job="A")
    two.add(3, "two", "start", job="B")
    assert [(record.step, record.process) for record in merge(one, two)] == [(0, "one"), (1, "two"), (2, "one")]


def test_a_review_that_its_deadline_decides_passes():
    story = Story().enqueued().claimed().ran(outcome="review")
    story.finished("review", outcome="review", asked={"expires": 900, "policy": "dead"}).tell("remind", token=1, due=5)
    story.tell("remind", token=1, due=6).moved("review", "dead", 1, 1)
    story.tell("resolve_review", answer="expired", actor="deadline", now=900)
    assert check(story.stands("dead"), live=True) == []

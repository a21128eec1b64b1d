"""The order of claims over many lanes (a queue × a type), and lanes that empty and fill again."""

import random

import pytest

from mainstay.core.clock import HOUR
from mainstay.core.outcome import COMPLETED, RELEASED
from tests.contract.building import FAILED, draft, keyed, transition

QUEUES = [f"queue{n}" for n in range(30)]
TYPES = [f"type.{n}" for n in range(20)]
EVERYTHING = dict.fromkeys(QUEUES, TYPES)
# Names that look like parts of other lanes' names.
ODD = ["", "1", ":", "1:a", "a", "a:", "é", "queue1", "queue10", "\x01"]


def ids(jobs):
    return [job.id for job in jobs]


def test_many_lanes_are_merged_by_priority_time_and_number(desk):
    expected = []
    for n in range(200):
        priority = n % 3
        expected.append((-priority, desk.now, n, desk.add(TYPES[n * 7 % 20], queue="queue4", priority=priority)))
        if n % 10 == 0:
            desk.clock.advance("1ms")
    order = [job_id for *_, job_id in sorted(expected)]
    assert ids(desk.take(70, wants=EVERYTHING)) == order[:70]
    assert ids(desk.take(1, wants=EVERYTHING)) == order[70:71]
    assert ids(desk.take(999, wants=EVERYTHING)) == order[71:]


def test_many_queues_are_served_in_the_order_given(desk):
    by_queue = {queue: desk.add("type.3", queue=queue, priority=n) for n, queue in enumerate(QUEUES)}
    backwards = dict.fromkeys(reversed(QUEUES), TYPES)
    assert ids(desk.take(4, wants=backwards)) == [by_queue[queue] for queue in QUEUES[:-5:-1]]
    assert ids(desk.take(99, wants=EVERYTHING)) == [by_queue[queue] for queue in QUEUES[:-4]]


def test_each_queue_may_want_other_types(desk):
    wants = {queue: TYPES[n % 3 :: 3] for n, queue in enumerate(QUEUES)}
    jobs = {(queue, name): desk.add(name, queue=queue) for queue in QUEUES[:6] for name in TYPES}
    taken = ids(desk.take(999, wants=wants))
    assert taken == [jobs[queue, name] for queue in QUEUES[:6] for name in TYPES if name in wants[queue]]


@pytest.mark.parametrize("many", [False, True])
def test_a_lane_that_is_not_wanted_is_never_touched(desk, many):
    wants = {"queue1": ["type.1"]} | (dict.fromkeys(QUEUES[2:], TYPES[2:]) if many else {})
    others = [desk.add("type.1", queue="queue2"), desk.add("type.2", queue="queue1"), desk.add("x", queue="y")]
    mine = desk.add("type.1", queue="queue1", priority=-9)
    assert ids(desk.take(9, wants=wants)) == [mine]
    assert {desk.state(job) for job in others} == {"queued"}


@pytest.mark.parametrize("more", [0, 100])
def test_a_type_that_is_wanted_twice_is_claimed_once(desk, more):
    expected = [desk.add() for _ in range(3)]
    wants = {"default": ["work", "work", *(f"t{n}" for n in range(more))]}
    assert ids(desk.take(9, wants=wants)) == expected


def test_hundreds_of_filled_lanes_are_merged(desk):
    types = [f"t{n:03}" for n in range(200)]
    given = [draft(type, priority=n % 3) for n, type in enumerate(types)]
    desk.store.enqueue(given, desk.now)
    expected = [job.id for job in sorted(given, key=lambda job: -job.priority)]
    wants = {"default": types}
    assert ids(desk.take(7, wants=wants)) + ids(desk.take(300, wants=wants)) == expected


def test_names_that_look_alike_are_different_lanes(desk):
    wants = dict.fromkeys(ODD[::2], ODD[1::2])
    jobs = {(queue, name): desk.add(name, queue=queue) for queue in ODD for name in ODD}
    taken = {(job.queue, job.type) for job in desk.take(999, wants=wants)}
    assert taken == {(queue, name) for queue, name in jobs if queue in wants and name in wants[queue]}


# lanes that empty and fill again ------------------------------------------------------------------------------------
@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize(
    "wants", [EVERYTHING, {"queue3": ["type.3"]}, {"queue3": TYPES[:5]}], ids=["all", "one", "few"]
)
def test_a_lane_that_was_emptied_is_found_again(desk, wants, limit):
    for _ in range(3):
        job = desk.add("type.3", queue="queue3")
        assert ids(desk.take(limit, wants=wants)) == [job]
        assert desk.take(limit, wants=wants) == []


def empty_by_cancel(desk, job):
    desk.store.cancel([job], desk.now, "me")


def empty_by_delete(desk, job):
    desk.store.delete([job], desk.now, "me")


def empty_by_another_worker(desk, job):
    assert ids(desk.take(1, "w-narrow", {"queue3": ["type.3"]})) == [job]


@pytest.mark.parametrize("empty", [empty_by_cancel, empty_by_delete, empty_by_another_worker])
def test_a_lane_that_others_emptied_is_found_again(desk, empty):
    desk.join("w-narrow")
    for _ in range(2):
        empty(desk, desk.add("type.3", queue="queue3"))
        behind = desk.add("type.4", queue="queue4")
        assert ids(desk.take(9, wants=EVERYTHING)) == [behind]
    last = desk.add("type.3", queue="queue3")
    assert ids(desk.take(9, wants=EVERYTHING)) == [last]


@pytest.mark.parametrize("outcome", [RELEASED, FAILED])
def test_a_job_that_comes_back_fills_its_lane(desk, outcome):
    desk.add("type.3", queue="queue3", max_attempts=5)
    (job,) = desk.take(1, wants=EVERYTHING)
    assert desk.take(1, wants=EVERYTHING) == []
    desk.end(job, outcome)
    desk.clock.advance("1s")
    assert ids(desk.take(1, wants=EVERYTHING)) == [job.id]


def test_a_replaced_job_changes_its_lane(desk):
    def asked(queue):
        return keyed(type="type.3", queue=queue, on_conflict="replace")

    job = desk.send(asked("queue3"))
    assert desk.store.enqueue([asked("queue4")], desk.now) == [(job, False)]
    assert desk.take(9, wants=dict.fromkeys(QUEUES[:4], TYPES)) == []
    assert ids(desk.take(9, wants=EVERYTHING)) == [job]


def test_jobs_of_types_that_nobody_here_wants_do_not_hide_a_lane(desk):
    """More lanes with jobs than this worker has lanes."""
    desk.store.enqueue([draft(f"strange{n}", queue="queue1", priority=9) for n in range(1_500)], desk.now)
    mine = [desk.add("type.2", queue="queue1"), desk.add("type.1", queue="queue2")]
    assert ids(desk.take(9, wants=dict.fromkeys(QUEUES[:4], TYPES))) == mine


# beside a model -----------------------------------------------------------------------------------------------------
class Model:
    """The jobs that wait, and which of them a claim takes."""

    def __init__(self):
        self.waiting, self.added = {}, 0

    def add(self, job_id, draft, ord):
        self.added += 1
        self.waiting[job_id] = draft.queue, draft.type, (-draft.priority, ord, self.added)

    def claim(self, wants, limit):
        places = list(wants)
        found = sorted(
            (places.index(queue), order, job_id)
            for job_id, (queue, type, order) in self.waiting.items()
            if type in wants.get(queue, ())
        )
        taken = [job_id for *_, job_id in found[:limit]]
        return [(job_id, self.waiting.pop(job_id)) for job_id in taken]


def some_wants(dice):
    """What a worker may want: of few or many queues and types, the same of each queue or not."""
    queues = dice.sample(QUEUES, dice.choice([1, 2, 5, 30]))
    types = dice.sample(TYPES, dice.choice([1, 3, 20]))
    if dice.random() < 0.3:
        return {queue: dice.sample(types, dice.randint(1, len(types))) for queue in queues}
    return dict.fromkeys(queues, types)


@pytest.mark.parametrize("seed", range(4))
def test_many_workers_with_different_wants_take_what_a_model_says(desk, seed):
    dice, model = random.Random(seed), Model()
    workers = {f"w{n}": some_wants(dice) for n in range(6)} | {"w-all": EVERYTHING}
    for name in workers:
        desk.join(name, lease=HOUR)
    for _ in range(60):
        drafts = [
            draft(
                dice.choice(TYPES),
                queue=dice.choice(QUEUES[:: dice.choice([1, 10])]),
                priority=dice.choice([0, 0, 1, -1]),
            )
            for _ in range(dice.choice([0, 1, 5, 40]))
        ]
        for (job_id, _), each in zip(desk.store.enqueue(drafts, desk.now), drafts, strict=True):
            model.add(job_id, each, desk.now)
        name = dice.choice(list(workers))
        check_claim(desk, model, dice, name, workers[name])
        desk.clock.advance(dice.choice(["0s", "1ms"]))


def check_claim(desk, model, dice, name, wants):
    """One claim beside the model; the jobs complete, or some of them go back to their places."""
    expected = model.claim(wants, limit := dice.choice([1, 2, 10, 50]))
    jobs = desk.take(limit, name, wants)
    assert ids(jobs) == [job_id for job_id, _ in expected]
    for job, (job_id, place) in zip(jobs, expected, strict=True):
        released = dice.random() < 0.2
        assert desk.store.finish([transition(job, RELEASED if released else COMPLETED, desk.now)]) == ["stored"]
        if released:
            model.waiting[job_id] = place

"""Changes of jobs by operators: another queue, priority, time or payload; and retries that are spread over a time."""

import json

import pytest

from mainstay.core import states
from mainstay.core.bulk import Bulk, new_bulk
from mainstay.core.change import NOW, Edit, Wish
from mainstay.core.clock import SECOND
from mainstay.core.errors import Conflict
from mainstay.query import parse
from tests.contract.building import COMPLETED, checkpoint, draft, keyed, transition
from tests.contract.ruled import Operator, fair, limited, rated, ruled, send, states as states_of

URGENT, SLOW = Wish(priority=5), Wish(queue="slow")
BOTH = {"default": ["work"], "slow": ["work"]}


def change(desk, job, wish, **given):
    return desk.store.change([job], desk.now, "ada", wish, **given)[job]


def edit(desk, job, payload, key=None, **slots):
    return Wish(edits={job: Edit(desk.job(job).payload, payload, key, slots)})


def details(desk, job):
    return [(line.actor, line.action, line.detail) for line in desk.store.actions(job, 9)]


@pytest.mark.parametrize("wish", [URGENT, SLOW, Wish(run_at=NOW)], ids=["priority", "queue", "time"])
@pytest.mark.parametrize("state", states.STATES)
def test_what_each_state_allows(desk, state, wish):
    job = desk.bring(state)
    before = desk.job(job)
    refused = {"running": "running", "review": "review", "completed": "ended"}
    if wish.run_at is not None:
        refused |= {"dead": "ended", "cancelled": "ended", "queued": "same", "blocked": "same"}
    result = change(desk, job, wish)
    assert result == refused.get(state, "changed")
    after = desk.job(job)
    if state in refused:
        assert after == before
        assert details(desk, job) == []
    else:
        wanted = (wish.queue or "default", wish.priority or 0)
        assert (after.queue, after.priority) == wanted
        assert after.state == ("queued" if wish.run_at == NOW else state if state != "blocked" else after.state)
        assert [(who, what) for who, what, _ in details(desk, job)] == [("ada", wish.action)]


def test_one_that_is_not_there_and_one_that_no_longer_matches(desk):
    job = desk.add()
    terms = parse("state:dead", desk.now)
    found = desk.store.change([job, "01NONE"], desk.now, "ada", URGENT, terms)
    assert found == {job: "unmatched", "01NONE": "missing"}
    assert desk.job(job).priority == 0


def test_before_and_after_are_on_record(desk):
    job = desk.add(payload='{"a":1,"b":{"c":"x"}}')
    for wish in (Wish(priority=3), SLOW, Wish(run_at=desk.now + SECOND), edit(desk, job, '{"a":2,"b":{}}')):
        assert change(desk, job, wish) == "changed"
        assert change(desk, job, wish if wish.edits is None else edit(desk, job, '{"a":2,"b":{}}')) == "same"
    told = [detail for _, _, detail in reversed(details(desk, job))]
    assert told[:2] == [{"priority": "0 → 3"}, {"queue": "default → slow"}]
    assert told[2]["run_at"].startswith("now → 20")
    assert told[3] == {"payload": 'a: 1 → 2, b.c: "x" → none, b: none → {}'}


def test_a_higher_priority_runs_first_and_its_place_stays(desk):
    first, second, third = (desk.add() for _ in range(3))
    assert change(desk, third, URGENT) == change(desk, second, URGENT) == "changed"
    assert [job.id for job in desk.take(3)] == [second, third, first]


def test_moved_to_another_queue_it_is_claimed_there_at_its_place(desk):
    job, other = desk.add(), desk.add(queue="slow")
    assert change(desk, job, SLOW) == "changed"
    assert desk.take(9) == []
    assert [each.id for each in desk.take(9, wants={"slow": ["work"]})] == [job, other]
    assert [(each.queue, each.attempt) for each in desk.store.get_many([job])] == [("slow", 1)]


def test_a_scheduled_job_stays_scheduled_unless_its_time_changes(desk):
    job = desk.bring("scheduled")
    at = desk.job(job).run_at
    assert change(desk, job, URGENT) == change(desk, job, SLOW) == "changed"
    assert (desk.state(job), desk.job(job).run_at) == ("scheduled", at)
    assert change(desk, job, Wish(run_at=at + SECOND)) == "changed"
    desk.clock.advance("1s")
    desk.promote()
    assert desk.state(job) == "scheduled"
    assert change(desk, job, Wish(run_at=NOW)) == "changed"
    assert (desk.state(job), desk.job(job).run_at) == ("queued", None)


def test_a_delayed_job_waits_for_its_time_and_keeps_its_attempts(desk):
    job = desk.run().id
    claimed = desk.store.claimed_by("w-first")[0]
    desk.store.finish([transition(claimed, COMPLETED._replace(kind="released"), desk.now)])
    before = desk.job(job)
    assert change(desk, job, Wish(run_at=desk.now + SECOND)) == "changed"
    assert (desk.state(job), desk.job(job).attempt) == ("scheduled", before.attempt)
    assert desk.take() == []
    desk.clock.advance("1s")
    assert [each.id for each in desk.take()] == [job]


def test_a_time_after_the_one_by_which_it_has_to_start_is_refused(desk):
    job = desk.send(ruled({"start_by": desk.now + SECOND}, start_by=desk.now + SECOND))
    assert change(desk, job, Wish(run_at=desk.now + 2 * SECOND)) == "late"
    assert desk.state(job) == "queued"


# rules ----------------------------------------------------------------------------------------------------------------
def test_the_limit_of_the_other_queue_holds_it_back_and_its_own_lets_it_go(desk):
    operator = Operator(desk)
    operator.set("queue", "slow", set={"running": 1})
    plain, there = desk.add(), desk.add(queue="slow")
    assert change(desk, plain, SLOW) == "changed"
    assert states_of(desk, plain, there) == "bq"
    assert change(desk, there, Wish(queue="default")) == "changed"
    assert states_of(desk, plain, there) == "qq"
    assert json.loads(desk.job(plain).rules) == {"limits": [["queue:slow", "", 1]]}
    assert desk.job(there).rules is None


def test_a_slot_that_a_changed_job_gives_back_goes_to_the_next(desk):
    first, second = send(desk, limited(), limited())
    assert states_of(desk, first, second) == "qb"
    assert change(desk, first, Wish(run_at=desk.now + SECOND)) == "changed"
    assert states_of(desk, first, second) == "sq"


def test_a_higher_priority_takes_the_slot_of_a_lower_one(desk):
    first, second = send(desk, limited(), limited())
    assert change(desk, second, URGENT) == "changed"
    assert states_of(desk, first, second) == "bq"


def test_a_job_that_its_rate_has_scheduled_waits_for_its_rate_again(desk):
    first, second = send(desk, rated(every=60_000), rated(every=60_000))
    assert [job.id for job in desk.take(9)] == [first]
    desk.promote()
    assert states_of(desk, second) == "s"
    at = desk.job(second).run_at
    assert change(desk, second, URGENT) == "changed"
    assert (desk.state(second), desk.job(second).run_at, desk.job(second).priority) == ("scheduled", at, 5)


def test_moved_to_a_fair_queue_it_takes_its_turn(desk):
    Operator(desk).set("queue", "slow", set={"fair": True})
    there = send(desk, *(fair("a", queue="slow") for _ in range(3)))
    mine = desk.add(tenant="b")
    assert change(desk, mine, SLOW) == "changed"
    order = [job.id for job in desk.take(9, wants=BOTH)]
    assert order.index(mine) < 2
    assert json.loads(desk.job(mine).rules)["fair"] == ["slow", "b", 1]
    assert there[0] in order


def test_a_queue_with_aging_keeps_the_priority_and_gives_it_back(desk):
    Operator(desk).set("queue", "slow", set={"aging": 1_000})
    job = desk.add(priority=2)
    assert change(desk, job, SLOW) == "changed"
    assert (desk.job(job).priority, json.loads(desk.job(job).rules)) == (0, {"aged": [2, 1_000]})
    assert change(desk, job, Wish(priority=7)) == "changed"
    assert json.loads(desk.job(job).rules) == {"aged": [7, 1_000]}
    assert change(desk, job, Wish(queue="default")) == "changed"
    assert (desk.job(job).priority, desk.job(job).rules) == (7, None)


def test_what_is_moved_counts_for_the_depth_of_the_queue(desk):
    from mainstay.core.errors import QueueFull

    Operator(desk).set("queue", "slow", set={"max_depth": 3})
    desk.add(queue="slow")
    moved = [desk.add() for _ in range(2)]
    assert set(desk.store.change(moved, desk.now, "ada", SLOW).values()) == {"changed"}
    with pytest.raises(QueueFull):
        desk.add(queue="slow")
    assert change(desk, moved[0], Wish(queue="default")) == "changed"


def test_a_paused_queue_holds_a_job_with_rules_that_is_moved_there(desk):
    operator = Operator(desk)
    operator.pause("queue:slow")
    job = desk.send(limited())
    assert change(desk, job, SLOW) == "changed"
    assert desk.state(job) == "blocked"
    operator.resume("queue:slow")
    desk.store.admit(desk.now, 100)
    assert desk.state(job) == "queued"


# payloads -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("state", ["queued", "scheduled", "dead", "cancelled"])
def test_an_edited_payload_is_what_the_next_attempt_gets(desk, state):
    job = desk.bring(state, payload='{"n":1}')
    assert change(desk, job, edit(desk, job, '{"n":"ä\\n2"}')) == "changed"
    assert desk.job(job).payload == '{"n":"ä\\n2"}'
    assert desk.state(job) == state
    if state == "dead":
        desk.store.retry([job], desk.now, "ada")
        assert desk.take_this(job).payload == '{"n":"ä\\n2"}'


def test_a_payload_that_has_changed_since_it_was_read_is_left_alone(desk):
    job = desk.send(keyed(payload='{"n":1}'))
    wish = edit(desk, job, '{"n":3}')
    desk.store.enqueue([keyed(payload='{"n":2}', on_conflict="replace")], desk.now)
    assert change(desk, job, wish) == "stale"
    assert desk.job(job).payload == '{"n":2}'


def test_one_without_an_edit_is_refused(desk):
    job, other = desk.add(), desk.add()
    wish = edit(desk, job, '{"n":3}')
    assert desk.store.change([job, other], desk.now, "ada", wish) == {job: "changed", other: "invalid"}


def test_the_new_work_does_not_start_where_the_old_one_stopped(desk):
    job = desk.run(max_attempts=3)
    desk.store.finish([transition(job, COMPLETED._replace(kind="failed", error="no"), desk.now)], [checkpoint(job)])
    assert desk.store.checkpoint(job.id) is not None
    assert change(desk, job.id, edit(desk, job.id, '{"n":3}')) == "changed"
    assert desk.store.checkpoint(job.id) is None


def test_the_key_follows_the_payload(desk):
    job, other = desk.send(keyed("1")), desk.send(keyed("2"))
    assert change(desk, job, edit(desk, job, '{"id":2}', key="2")) == f"duplicate {other} 2"
    assert desk.job(job).key == "1"
    assert change(desk, job, edit(desk, job, '{"id":3}', key="3")) == "changed"
    assert desk.job(job).key == "3"
    assert desk.store.search(parse("key:3", 0), 5, None, desk.now).ids == (job,)
    assert desk.store.search(parse("key:1", 0), 5, None, desk.now).ids == ()
    again = keyed("3")
    assert desk.store.enqueue([again], desk.now) == [(job, False)]
    desk.send(keyed("1"))


def test_a_key_for_ever_stays_taken_and_the_new_one_is_too(desk):
    from mainstay.core.keys import FOREVER

    job = desk.send(keyed("1", FOREVER))
    assert change(desk, job, edit(desk, job, '{"id":2}', key="2")) == "changed"
    assert sorted((each.key, each.job) for each in desk.store.keys("", 9)) == [("1", job), ("2", job)]
    desk.store.cancel([job], desk.now, "ada")
    other = desk.send(keyed("3", FOREVER))
    assert change(desk, job, edit(desk, job, '{"id":3}', key="3")) == f"duplicate {other} 3"


def test_the_slots_of_limits_follow_the_payload(desk):
    first, second = send(desk, limited("a"), limited("a"))
    assert states_of(desk, first, second) == "qb"
    assert change(desk, second, edit(desk, second, '{"to":"b"}', mail="b")) == "changed"
    assert states_of(desk, first, second) == "qq"
    assert json.loads(desk.job(second).rules) == {"limits": [["mail", "b", 1]]}


def test_a_large_payload(desk):
    job = desk.add(payload='{"n":1}')
    text = json.dumps({"text": "x" * 10_000_000})
    assert change(desk, job, edit(desk, job, text)) == "changed"
    assert desk.job(job).payload == text
    assert len(details(desk, job)[0][2]["payload"]) <= 1_000


# retries that are spread ----------------------------------------------------------------------------------------------
def test_retried_jobs_start_at_their_times(desk):
    jobs = [desk.bring(state) for state in ("dead", "cancelled", "review")]
    times = [desk.now, desk.now + SECOND, desk.now + 2 * SECOND]
    found = desk.store.retry(jobs, desk.now, "ada", times=times)
    assert list(found.values()) == ["queued", "scheduled", "scheduled"]
    assert [job.run_at for job in desk.store.get_many(jobs)] == [None, *times[1:]]
    assert [job.id for job in desk.take(9)] == jobs[:1]
    desk.clock.advance("1s")
    assert [job.id for job in desk.take(9)] == jobs[1:2]
    assert [job.attempt for job in desk.store.get_many(jobs)] == [1, 1, 0]


# operations -----------------------------------------------------------------------------------------------------------
def line(desk):
    (found,) = desk.store.actions(None, 9)
    return found.action, found.detail


def test_the_line_of_an_operation_has_its_place_from_the_first_call_on(desk):
    jobs, bulk = [desk.bring("dead") for _ in range(3)], new_bulk().id
    told = {"search": "state:dead", "matched": 4, "place": jobs[1]}
    running = desk.bring("running")
    desk.store.retry([running, jobs[0], jobs[1]], desk.now, "ada", bulk=Bulk(bulk, "retry", told))
    counted = {"jobs": 2, "from": {"dead": 2}, "refused": {"running": 1}}
    assert line(desk) == ("retry", counted | told)
    last = Bulk(bulk, "retry", {"place": None}, was=jobs[1])
    desk.store.retry([jobs[2], "01NONE"], desk.now, "ada", bulk=last)
    counted = {"jobs": 3, "from": {"dead": 3}, "refused": {"running": 1, "missing": 1}}
    assert line(desk) == ("retry", counted | {"search": "state:dead", "matched": 4})


def test_an_operation_that_changes_nothing_has_a_line_too(desk):
    job, bulk = desk.bring("completed"), new_bulk().id
    desk.store.cancel([job], desk.now, "ada", bulk=Bulk(bulk, "cancel", {"place": job}))
    assert line(desk) == ("cancel", {"jobs": 0, "refused": {"ended": 1}, "place": job})


@pytest.mark.parametrize("verb", ["retry", "cancel", "delete", "change"])
def test_of_two_that_go_on_from_the_same_place_one_does_it(desk, verb):
    jobs, bulk = [desk.add() for _ in range(3)], new_bulk().id
    given = [URGENT] if verb == "change" else []
    act = getattr(desk.store, verb)
    act(jobs[:1], desk.now, "ada", *given, bulk=Bulk(bulk, verb, {"place": "a"}))
    act(jobs[1:2], desk.now, "ada", *given, bulk=Bulk(bulk, verb, {"place": "b"}, was="a"))
    before = desk.store.get_many(jobs), line(desk)
    with pytest.raises(Conflict, match="another process"):
        act(jobs[2:], desk.now, "ada", *given, bulk=Bulk(bulk, verb, {"place": "c"}, was="a"))
    assert (desk.store.get_many(jobs), line(desk)) == before


# counts ---------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text", ["", "state:queued", "type:work", "args.n:1", "queue:default -type:other", "state:dead"]
)
def test_a_count_is_exact_and_by_type(desk, text):
    for n in range(7):
        desk.add(payload=f'{{"n":{n % 2}}}')
        desk.add("other", payload='{"n":1}')
    terms = parse(text, desk.now)
    found = desk.store.search(terms, 100, None, desk.now).ids
    expected = {}
    for job in desk.store.get_many(found):
        expected[job.type] = expected.get(job.type, 0) + 1
    assert desk.store.count(terms, desk.now) == expected
    if found:
        below = desk.store.count(terms, desk.now, found[2])
        assert sum(below.values()) == len(found) - 3
        assert sum(desk.store.count(terms, desk.now, found[0] + "~").values()) == len(found)


def test_drafts_of_another_schema_are_not_needed_to_change(desk):
    """A job with everything keeps what is not changed."""
    job = desk.send(
        draft(
            payload='{"n":1}',
            key="k",
            lock="work:k",
            tenant="acme/x",
            ref="order/1",
            tags=("a", "b"),
            timeout=None,
            keep=5,
            version=3,
        )
    )
    before = desk.job(job)
    assert change(desk, job, SLOW) == "changed"
    assert desk.job(job) == before._replace(queue="slow")

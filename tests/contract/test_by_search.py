"""Changes of jobs that a search found: a job is changed only while the search still finds it."""

import threading

import pytest

from mainstay.core.bulk import new_bulk
from mainstay.query import parse
from tests.contract.building import draft

VERBS = {
    "cancel": ("state:waiting", "cancelled"),
    "retry": ("state:dead", "queued"),
    "delete": ("state:dead", "deleted"),
}


def terms(desk, text):
    return parse(text, desk.now)


def find(desk, text):
    return list(desk.store.search(terms(desk, text), 100, None, desk.now).ids)


@pytest.mark.parametrize("verb", VERBS)
def test_a_job_that_the_search_finds_is_changed(desk, verb):
    text, outcome = VERBS[verb]
    jobs = [desk.bring("dead" if "dead" in text else "queued") for _ in range(3)]
    change = getattr(desk.store, verb)
    assert change(jobs, desk.now, "me", terms(desk, text)) == dict.fromkeys(jobs, outcome)


@pytest.mark.parametrize("verb", VERBS)
def test_a_job_that_changed_meanwhile_is_left_alone(desk, verb):
    """All but one moved on after the search; the audit trail counts the one."""
    text, outcome = VERBS[verb]
    jobs = [desk.bring("dead" if "dead" in text else "queued") for _ in range(3)]
    found = find(desk, text)
    assert sorted(found) == sorted(jobs)
    if "dead" in text:
        desk.store.retry(jobs[1:], desk.now, "another")
    else:
        desk.store.cancel(jobs[1:], desk.now, "another")
    results = getattr(desk.store, verb)([*jobs, "01NONE"], desk.now, "me", terms(desk, text))
    assert results == {jobs[0]: outcome, jobs[1]: "unmatched", jobs[2]: "unmatched", "01NONE": "missing"}
    assert [action.detail["jobs"] for action in desk.store.actions(None, 50) if action.actor == "me"] == [1]
    assert not [action for job in jobs[1:] for action in desk.store.actions(job, 50) if action.actor == "me"]


@pytest.mark.parametrize(
    ("text", "given", "replaced"),
    [
        ("args.n:1", {"payload": '{"n": 1}'}, {"payload": '{"n": 2}'}),
        ("tag:old", {"tags": ("old",)}, {"tags": ("new",)}),
        ("priority:5", {"priority": 5}, {"priority": 6}),
    ],
)
def test_the_whole_search_must_still_hold_not_only_the_state(desk, text, given, replaced):
    key = {"key": "k", "lock": "work:k"}
    job = desk.send(draft(**key, **given))
    asked = terms(desk, f"state:queued {text}")
    assert desk.store.search(asked, 5, None, desk.now).ids == (job,)
    desk.store.enqueue([draft(**key, on_conflict="replace", **replaced)], desk.now)
    assert desk.store.delete([job], desk.now, "me", asked) == {job: "unmatched"}
    assert desk.store.get(job) is not None


def test_a_review_that_the_search_no_longer_finds_is_not_ended(desk):
    job = desk.bring("review")
    assert desk.store.resolve_review(job, True, desk.now, "me", "", terms(desk, "type:other")) == "unmatched"
    assert desk.store.resolve_review(job, True, desk.now, "me", "", terms(desk, "state:review type:work")) == "approved"
    assert desk.store.resolve_review(job, True, desk.now, "me", "", terms(desk, "state:completed")) == "completed"


def test_by_a_word_and_by_the_start_of_an_id(desk):
    job, other = desk.bring("dead"), desk.bring("dead")
    assert desk.store.delete([job, other], desk.now, "me", terms(desk, job)) == {job: "deleted", other: "unmatched"}


def test_no_job_is_deleted_that_was_queued_again_meanwhile(desk):
    """Dead jobs are queued again while the command that deletes the dead ones runs: the audit counts the states."""
    jobs = [desk.bring("dead") for _ in range(50)]
    asked, started = terms(desk, "state:dead"), threading.Event()

    def requeue():
        started.wait()
        for job in reversed(jobs):
            desk.store.retry([job], desk.now, "another")

    thread = threading.Thread(target=requeue)
    thread.start()
    started.set()
    results, bulk = {}, new_bulk()
    for start in range(0, 50, 5):
        results |= desk.store.delete(jobs[start : start + 5], desk.now, "me", asked, bulk)
    thread.join()
    deleted = {job for job, result in results.items() if result == "deleted"}
    audit = [action.detail["from"] for action in desk.store.actions(None, 200) if action.action == "delete"]
    assert audit == ([{"dead": len(deleted)}] if deleted else [])
    assert {job for job in jobs if desk.store.get(job) is None} == deleted
    assert {*results.values()} <= {"deleted", "unmatched"}

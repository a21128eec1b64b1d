"""The code of an error: kept with its attempt and its job, found by a search, and moved, on every engine."""

import json

import pytest

from mainstay.core.decide import decide
from mainstay.core.outcome import COMPLETED, Outcome
from mainstay.query import parse
from mainstay.stores import open_store
from mainstay.stores.move import move
from tests.contract.building import draft, worker
from tests.contract.moving import silent
from tests.servers.engines import kind, untouched

NAME = "w-codes"
OTHER = {"sqlite": "valkey", "memory": "postgres18", "postgres": "sqlite", "redis": "postgres18"}  # where jobs move to
LIMITED = Outcome("failed", error="HTTPError: too many requests", traceback="…", code="429")
PLAIN = Outcome("failed", error="ValueError: no", traceback="…")
NO_PAGE = Outcome("failed", error="Permanent: no such page", retry=False, reason="permanent", code="no-page")
SNOOZED = Outcome("snoozed", reason="busy", delay=1_000, code="busy")


@pytest.fixture
def run(store, clock):
    """A function that runs a job through these outcomes and returns its id."""
    store.register(worker(NAME, clock.now(), lease=10**9))

    def run(*outcomes, **given):
        ((job, _),) = store.enqueue([draft(max_attempts=9, **given)], clock.now())
        for outcome in outcomes:
            clock.advance(5)
            (claimed,) = store.claim(NAME, {"default": ["work"]}, 1, clock.now()).jobs
            assert store.finish([decide(claimed, outcome, clock.now(), float)]) == ["stored"]
        return job

    return run


def find(store, clock, text):
    return set(store.search(parse(text, clock.now()), 50, None, clock.now()).ids)


def codes(store, job):
    return [attempt.code for attempt in store.attempts(job)]


def test_each_attempt_keeps_its_code(store, run):
    job = run(LIMITED, PLAIN, NO_PAGE)
    assert codes(store, job) == ["429", None, "no-page"]
    assert store.get(job).code == "no-page"


def test_a_job_has_the_code_of_its_last_error(store, run):
    assert store.get(run(PLAIN, LIMITED, COMPLETED)).code == "429"
    job = run(LIMITED, PLAIN, NO_PAGE._replace(code=None))
    assert store.get(job).code is None
    assert codes(store, job) == ["429", None, None]


def test_a_snooze_keeps_its_code_too(store, run, clock):
    job = run(SNOOZED, NO_PAGE)
    assert codes(store, job) == ["busy", "no-page"]
    assert find(store, clock, "code:busy") == {job}


def test_a_search_finds_every_job_that_had_the_code(store, run, clock):
    limited, both, page, plain = run(LIMITED, COMPLETED), run(LIMITED, LIMITED, NO_PAGE), run(NO_PAGE), run(COMPLETED)
    assert find(store, clock, "code:429") == {limited, both}
    assert find(store, clock, "code:no-page") == {both, page}
    assert find(store, clock, "code:429,no-page") == {limited, both, page}
    assert find(store, clock, "-code:429") == {page, plain}
    assert find(store, clock, "code:429 state:dead") == {both}
    assert find(store, clock, "state:dead -code:429") == {page}
    assert find(store, clock, "code:42") == set()


def test_the_code_narrows_a_search_by_another_index(store, run, clock):
    run(LIMITED, COMPLETED, tenant="acme")
    job = run(NO_PAGE, tenant="acme")
    for _ in range(3):
        run(NO_PAGE)
    assert find(store, clock, "code:no-page tenant:acme") == {job}


def test_a_deleted_job_leaves_no_code(store, run, clock):
    job = run(LIMITED, NO_PAGE)
    store.delete([job], clock.now(), "me")
    assert find(store, clock, "code:429") == set()
    assert codes(store, job) == []


def test_a_replaced_job_is_still_found_by_its_code(store, run, clock):
    given = {"key": "k", "lock": "work:k"}
    job = run(LIMITED, **given)
    ((same, created),) = store.enqueue([draft(payload='{"n":2}', on_conflict="replace", **given)], clock.now())
    assert (same, created) == (job, False)
    assert find(store, clock, "code:429") == {job}


def test_codes_move_to_another_engine(store, run, clock, engine, tmp_path_factory):
    unknown = NO_PAGE._replace(code=None)
    jobs = [run(LIMITED, PLAIN, NO_PAGE), run(LIMITED, COMPLETED), run(LIMITED, unknown), run(PLAIN, NO_PAGE)]
    store.deregister(NAME)
    with untouched(OTHER[kind(engine)], tmp_path_factory.mktemp("there")) as there, open_store(there) as target:
        move(store, target, silent)
        assert [codes(target, job) for job in jobs] == [codes(store, job) for job in jobs]
        assert [target.get(job).code for job in jobs] == ["no-page", "429", None, "no-page"]
        assert find(target, clock, "code:429") == set(jobs[:3])


@pytest.mark.engines("redis")
def test_the_line_of_an_attempt_stays_as_older_code_reads_it(store, run):
    job = run(LIMITED, NO_PAGE)
    lines = [json.loads(line) for line in store.server.read("LRANGE", f"attempt:{job}", 0, -1)]
    assert [len(line) for line in lines] == [8, 8], "older code takes eight values, no more and no fewer"

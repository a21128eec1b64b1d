"""`cancel --wait`: returns when the handlers have ended, and tells the truth about those that have not."""

import json
import threading

import pytest

from mainstay.cli import exits
from mainstay.cli.cancel_wait import await_cancelled
from mainstay.cli.output import Output, Shape
from mainstay.control.bulk_run import Report
from mainstay.core.decide import decide
from mainstay.core.outcome import CANCELLED
from tests.cli.shop import Shop
from tests.waiting import eventually


@pytest.fixture
def shop(app):
    return Shop(app)


@pytest.fixture
def stopping(shop):
    """Ends claimed jobs as a worker does that hears of the cancel, on another thread."""
    threads = []

    def stop(*claimed):
        def work():
            for each in claimed:
                eventually(lambda each=each: shop.store.get(each.id).cancel_at, "the cancel")
                ended = decide(each._replace(cancelling=True), CANCELLED, shop.app.clock.now(), lambda: 0.0)
                shop.store.finish([ended])

        threads.append(threading.Thread(target=work))
        threads[-1].start()

    yield stop
    for thread in threads:
        thread.join(10)


def test_it_returns_when_the_job_has_ended(run, shop, stopping):
    claimed = shop.claim()
    stopping(claimed)
    assert run("cancel", claimed.id, "--wait") == (exits.OK, f"{claimed.id} cancelled\n", "")
    assert shop.store.get(claimed.id).state == "cancelled"


def test_a_job_that_does_not_stop_in_time_is_named(run, shop):
    claimed = shop.claim()
    found = run("cancel", claimed.id, "--wait", "--timeout", "0.05")
    assert (found.code, found.out) == (exits.TIMEOUT, f"{claimed.id} cancelling\n")
    assert found.err == f"error: job {claimed.id} did not stop in time\n  try: mainstay why {claimed.id}\n"


def test_by_search_it_waits_for_all(run, shop, stopping):
    claimed = [shop.claim() for _ in range(3)]
    waiting = shop.add()
    stopping(*claimed)
    found = run("cancel", "type:mail", "--yes", "--wait", "--timeout", "20s", "--json")
    counts = json.loads(found.out)
    assert (found.code, counts["matched"], counts["changed"], counts["refused"]) == (exits.OK, 4, 4, {})
    jobs = [*(each.id for each in claimed), waiting]
    assert {shop.store.get(job).state for job in jobs} == {"cancelled"}


def test_by_search_it_says_how_many_have_stopped(run, shop, stopping):
    good, bad, waiting = shop.claim(), shop.claim(), shop.add()
    stopping(good)
    found = run("cancel", "type:mail", "--yes", "--wait", "--timeout", "0.5")
    assert found.code == exits.TIMEOUT
    assert f"job {bad.id} did not stop in time" in found.err
    assert "2 jobs cancelled, 1 job cancelling" in found.err
    assert shop.store.get(waiting).state == "cancelled"


def test_by_search_quietly_it_prints_the_ids(run, shop, stopping):
    good, waiting = shop.claim(), shop.add()
    stopping(good)
    found = run("cancel", "type:mail", "--yes", "--wait", "-q")
    assert (found.code, sorted(found.out.split())) == (exits.OK, sorted([good.id, waiting]))


def test_one_that_is_gone_meanwhile_was_not_cancelled(shop):
    jobs = {"gone": "cancelling", "other": "cancelled"}
    before = Report("", "cancel", 2, 2, {}, {"cancelling": 1, "cancelled": 1}, jobs=jobs)
    after, found = await_cancelled(shop.app, Output(Shape()), before, ["gone"], 1)
    assert found == {"gone": "ended"}
    assert (after.changed, after.refused, after.results) == (1, {"ended": 1}, {"cancelled": 1, "cancelling": 0})
    assert after.jobs == {"gone": "ended", "other": "cancelled"}


def test_one_that_stops_and_one_that_does_not(run, shop, stopping):
    good, bad = shop.claim(), shop.claim()
    stopping(good)
    found = run("cancel", good.id, bad.id, "--wait", "--timeout", "0.5")
    assert (found.code, found.out) == (exits.TIMEOUT, f"{good.id} cancelled\n{bad.id} cancelling\n")


def test_a_job_that_completed_before_is_a_conflict(run, shop):
    done = shop.end()
    found = run("cancel", done, "--wait")
    assert found.code == exits.CONFLICT
    assert "it has ended" in found.err


def test_timeout_alone_and_nonsense_change_nothing(run, shop):
    waiting = shop.add()
    assert run("cancel", waiting, "--timeout", "3s").code == exits.USAGE
    assert run("cancel", waiting, "--wait", "--timeout", "soon").code == exits.USAGE
    assert shop.store.get(waiting).state == "queued"


def test_show_says_how_long_the_cancel_took(run, shop, stopping):
    claimed = shop.claim()
    assert run("cancel", claimed.id).out == f"{claimed.id} cancelling\n"
    assert "it was asked to stop" in run("why", claimed.id).out
    asked = shop.store.get(claimed.id).cancel_at
    shop.store.finish([decide(claimed._replace(cancelling=True), CANCELLED, asked + 1_300, lambda: 0.0)])
    shown = run("show", claimed.id).out
    assert "cancelled 1.3s after it was asked" in shown
    assert shown.index("attempt 1 started") < shown.index("cancel requested") < shown.index("attempt 1 cancelled")
    record = json.loads(run("show", claimed.id, "--json").out)
    assert (record["cancel_took"], bool(record["cancel_at"])) == (1.3, True)
    assert shop.app.get(claimed.id).cancel_took.total_seconds() == 1.3


def test_a_job_that_waited_was_cancelled_at_once(run, shop):
    waiting = shop.add()
    run("cancel", waiting)
    assert "after it was asked" not in run("show", waiting).out
    assert json.loads(run("show", waiting, "--json").out)["cancel_took"] == 0

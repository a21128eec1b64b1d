"""A job that has to start by an instant is cancelled when it has not; and what is known of types and settings."""

import pytest

from mainstay.core.clock import SECOND
from mainstay.core.job import TypeInfo
from tests.contract.building import FAILED, draft
from tests.contract.ruled import Operator, limited, send, states


def by(desk, delay=SECOND, make=draft, **given):
    return make(start_by=desk.now + delay, **given)


def test_what_has_not_started_in_time_is_cancelled(desk):
    queued, scheduled, other = send(desk, by(desk), by(desk, run_at=desk.now + 10 * SECOND), by(desk, 5 * SECOND))
    assert desk.job(queued).start_by == desk.now + SECOND
    assert desk.store.expire(desk.now, 100) == 0
    desk.clock.advance("2s")
    assert desk.store.expire(desk.now, 100) == 2
    assert states(desk, queued, scheduled, other) == "xxq"
    job = desk.job(queued)
    assert job.reason.startswith("not started by 20")
    assert (job.finished_at, job.expires_at) == (desk.now, desk.now + job.keep)
    assert desk.store.expire(desk.now, 100) == 0


def test_what_has_started_is_left_alone(desk):
    running, retrying = desk.run(start_by=desk.now + SECOND), desk.run(start_by=desk.now + SECOND)
    desk.end(retrying, FAILED)
    desk.clock.advance("5s")
    assert desk.store.expire(desk.now, 100) == 0
    assert states(desk, running.id, retrying.id) == "rs"


def test_a_blocked_job_is_cancelled_too_and_a_queued_one_lets_the_next_in(desk):
    first, second, third = send(desk, by(desk, make=limited), by(desk, make=limited), limited())
    assert states(desk, first, second, third) == "qbb"
    desk.clock.advance("2s")
    assert desk.store.expire(desk.now, 100) == 2
    assert states(desk, first, second, third) == "xxq"


def test_no_more_are_cancelled_at_once_than_asked_for(desk):
    send(desk, *(by(desk) for _ in range(5)))
    desk.clock.advance("2s")
    assert [desk.store.expire(desk.now, 3), desk.store.expire(desk.now, 3)] == [3, 2]


def test_a_job_waits_for_a_pause_no_longer_than_its_time(desk):
    Operator(desk).pause("all")
    job = desk.send(by(desk, make=limited))
    desk.clock.advance("2s")
    desk.store.expire(desk.now, 9)
    assert states(desk, job) == "x"


# types and settings -----------------------------------------------------------------------------------------------
INFO = TypeInfo("work", "default", "work()", {"priority": 0}, 100, "Works.", '{"type":"object"}')


def test_a_type_remembers_when_it_was_declared_first_and_changed_last(desk):
    store = desk.store
    store.register_types([INFO])
    (info,) = store.types()
    assert (info.description, info.takes, info.created_at, info.updated_at) == ("Works.", '{"type":"object"}', 100, 100)
    store.register_types([INFO._replace(seen_at=200)])
    (info,) = store.types()
    assert (info.seen_at, info.created_at, info.updated_at) == (200, 100, 100)


@pytest.mark.parametrize(
    "change",
    [{"queue": "slow"}, {"signature": "work(n)"}, {"policy": {"priority": 1}}, {"description": None}, {"takes": "{}"}],
)
def test_a_changed_declaration_is_an_update(desk, change):
    desk.store.register_types([INFO])
    desk.store.register_types([INFO._replace(seen_at=300, **change)])
    (info,) = desk.store.types()
    assert (info.created_at, info.updated_at) == (100, 300)
    assert info == INFO._replace(seen_at=300, created_at=100, updated_at=300, **change)


def test_a_setting_keeps_its_description(desk):
    store = desk.store
    store.set_setting("colour", "blue", "What colour.", 100)
    store.set_setting("colour", "red", None, 200)
    assert store.setting("colour") == "red"
    rows = [tuple(row) for row in store.export_rows("settings", None, 99).rows]
    assert ("colour", "red", "What colour.", 200) in rows
    store.set_setting("colour", None)
    assert store.setting("colour") is None


def test_a_setting_that_an_operator_changes_is_on_record(desk):
    store = desk.store
    store.set_setting("colour", "blue", None, desk.now, "me")
    store.set_setting("colour", "red", None, desk.now, "me")
    store.set_setting("other", "1", None, desk.now)
    store.set_setting("colour", None, None, desk.now, "me")
    lines = store.actions(None, 9)
    assert [(line.at, line.actor, line.action, line.job, line.detail) for line in lines] == [
        (desk.now, "me", "setting", None, {"name": "colour", "before": "red", "after": None}),
        (desk.now, "me", "setting", None, {"name": "colour", "before": "blue", "after": "red"}),
        (desk.now, "me", "setting", None, {"name": "colour", "before": None, "after": "blue"}),
    ]


def test_an_expired_job_that_an_operator_retries_runs(desk):
    rules = f'{{"start_by":{desk.now + SECOND}}}'
    job = desk.send(draft(start_by=desk.now + SECOND, rules=rules))
    desk.clock.advance("2s")
    assert desk.store.expire(desk.now, 100) == 1
    desk.store.retry([job], desk.now, "ada")
    assert desk.store.expire(desk.now, 100) == 0
    assert (states(desk, job), desk.job(job).start_by, desk.job(job).rules) == ("q", None, None)

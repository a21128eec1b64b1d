"""Schedules on every engine: a tick makes one job, whoever fires it and however often; what is changed holds at once."""

from datetime import UTC, datetime, timedelta

import pytest

from mainstay import Mainstay
from mainstay.core import schedule as core
from mainstay.core.clock import HOUR, MINUTE, SECOND
from mainstay.core.errors import Conflict, NotFound, QueueFull, UsageError
from mainstay.core.job import Rule
from mainstay.core.rules import SCHEDULE, TICK
from mainstay.upkeep.schedule import Schedules
from tests.contract.building import draft


@pytest.fixture
def app(store, clock):
    clock.move_to(at("2026-06-01T00:00:30"))
    app = Mainstay(store=store, clock=clock)

    @app.job
    def report(n: int = 0) -> None: ...

    app.report = report
    return app


def at(text):
    """An instant in UTC as milliseconds."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def steps(app, clock, until, chore=None):
    """Move the clock from tick to tick, as a worker that runs all the time sees it; return the chore."""
    chore = chore or Schedules(app)
    while (tick := chore.catch_up()) is not None and tick <= until:
        clock.move_to(tick)
    clock.move_to(until)
    chore.catch_up()
    return chore


def fired(app, name="nightly"):
    """The ticks of a schedule that have jobs, oldest first."""
    return sorted(job.tick for job in app.list(f"schedule:{name}", limit=10_000))


def hours(*numbers):
    return [datetime(2026, 6, 1, number, tzinfo=UTC) for number in numbers]


def test_each_tick_makes_one_job_that_carries_it(app, clock):
    app.create_schedule("nightly", app.report.prepare(7), cron="0 * * * *")
    steps(app, clock, at("2026-06-01T03:10"))
    assert fired(app) == hours(1, 2, 3)
    (job, *_) = app.list("schedule:nightly")
    assert (job.type, job.args, job.schedule, job.state, job.run_at) == ("report", {"n": 7}, "nightly", "queued", None)
    assert app.list("schedule:weekly") == [] == app.list("-schedule:nightly")
    (found,) = app.schedules()
    assert (found.next, found.last, found.fired, found.job, found.result) == (*hours(4, 3), 3, job.id, "queued")


def test_of_two_that_fire_a_tick_one_wins(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    chores = [Schedules(app), Schedules(app)]
    for chore in chores:
        chore.catch_up()
    for hour in range(1, 6):
        clock.move_to(at(f"2026-06-01T0{hour}:00"))
        for chore in chores:
            chore.step(clock.now())
    assert fired(app) == hours(1, 2, 3, 4, 5)


def test_a_firing_that_is_out_of_date_changes_nothing(app, store, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    steps(app, clock, clock.now())
    value, state = (store.rules([kind])[0].value for kind in (SCHEDULE, TICK))
    clock.advance("1h")
    firing = core.decide("nightly", value, state, clock.now())
    assert [each.verdict for each in store.fire([firing], clock.now())] == ["fired"]
    (again,) = store.fire([firing], clock.now())
    assert (again.verdict, again.value, again.state) == ("changed", value, firing.state)
    app.pause_schedule("nightly")
    later = core.decide("nightly", value, firing.state, clock.now() + HOUR)
    assert store.fire([later], clock.now())[0].verdict == "changed"
    app.remove_schedule("nightly")
    assert store.fire([later], clock.now())[0] == core.Fired("changed", None, None)
    assert len(fired(app)) == 1


def test_the_engines_clock_decides_whether_a_tick_has_come(app, store, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    steps(app, clock, clock.now())
    value, state = (store.rules([kind])[0].value for kind in (SCHEDULE, TICK))
    early = core.decide("nightly", value, state, clock.now() + HOUR)
    assert store.fire([early], clock.now())[0] == core.Fired("early", value, state)
    assert fired(app) == []


def test_several_are_fired_at_once(app, clock):
    for name in ("a", "b", "c"):
        app.create_schedule(name, app.report.prepare(), cron="0 * * * *", catch_up="all")
    chore = steps(app, clock, clock.now())
    app.pause_schedule("b")
    clock.advance("2h")
    chore.step(clock.now())
    assert [fired(app, name) for name in "abc"] == [hours(1, 2), [], hours(1, 2)]


def test_changes_are_seen_within_a_second(app, clock):
    chore = Schedules(app)
    assert chore.step(clock.now()) == SECOND
    app.create_schedule("nightly", app.report.prepare(), every="10s")
    clock.advance("1s")
    chore.catch_up()
    version = app.store.schedules_version(clock.now())[0]
    clock.advance("10s")
    chore.step(clock.now())
    assert len(fired(app)) == 1
    assert app.store.schedules_version(clock.now())[0] == version  # a tick is no change


# catching up ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "ticks", "missed"),
    [("skip", [], 72), ("latest", [3 * 24], 71), ("all", list(range(1, 3 * 24 + 1)), 0)],
)
def test_after_three_days_without_a_worker(app, clock, mode, ticks, missed):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", catch_up=mode)
    chore = steps(app, clock, clock.now())
    clock.move_to(at("2026-06-04T00:10"))
    chore.catch_up()
    start = datetime(2026, 6, 1, tzinfo=UTC)
    assert fired(app) == [start + timedelta(hours=tick) for tick in ticks]
    (found,) = app.schedules()
    assert (found.missed, found.next) == (missed, datetime(2026, 6, 4, 1, tzinfo=UTC))


def test_a_tick_that_is_a_little_late_is_not_missed(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", catch_up="skip")
    chore = steps(app, clock, clock.now())
    clock.move_to(at("2026-06-01T01:00:59"))
    chore.catch_up()
    assert fired(app) == hours(1)


def test_a_long_absence_from_a_schedule_of_each_second_is_cheap(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="* * * * * *")
    chore = steps(app, clock, clock.now())
    clock.advance("30d")
    chore.catch_up()
    (found,) = app.schedules()
    assert (found.fired, found.missed) == (1, core.COUNTED)


# bounds ---------------------------------------------------------------------------------------------------------------
def test_start_end_and_limit_bound_the_ticks(app, clock):
    app.create_schedule(
        "bounded", app.report.prepare(), every="1h", start="2026-06-01T02:30:00+00:00", end="2026-06-01T05:00:00+00:00"
    )
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", limit=2)
    steps(app, clock, at("2026-06-02T00:00"))
    assert [tick.hour * 60 + tick.minute for tick in fired(app, "bounded")] == [150, 210, 270]
    assert fired(app) == hours(1, 2)
    assert [each.next for each in app.schedules()] == [None, None]
    app.reschedule("nightly", limit=3)
    steps(app, clock, at("2026-06-02T05:00"))
    assert len(fired(app)) == 3


def test_an_interval_counts_from_when_it_was_made(app, clock):
    made = clock.now()
    app.create_schedule("nightly", app.report.prepare(), every="90s")
    steps(app, clock, made + 10 * MINUTE)
    assert [round(tick.timestamp() * 1000) - made for tick in fired(app)] == [90_000 * k for k in range(1, 7)]
    app.pause_schedule("nightly")
    steps(app, clock, made + 20 * MINUTE)
    app.resume_schedule("nightly")
    steps(app, clock, made + 23 * MINUTE)
    assert (round(fired(app)[-1].timestamp() * 1000) - made) % 90_000 == 0


def test_jitter_delays_each_job_by_less_than_it(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", jitter="5m")
    steps(app, clock, at("2026-06-01T05:00"))
    jobs = app.list("schedule:nightly")
    delays = {job.run_at - job.tick for job in jobs}
    assert len(jobs) == len(delays) == 5
    assert all(timedelta() <= delay < timedelta(minutes=5) for delay in delays)
    assert {job.state for job in jobs} <= {"scheduled", "queued"}
    assert app.why(jobs[0].id).reasons[0].kind in ("scheduled", "ready", "worker")


# overlap --------------------------------------------------------------------------------------------------------------
def test_overlap_skip_makes_no_job_while_the_last_one_is_alive(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", overlap="skip")
    chore = steps(app, clock, at("2026-06-01T03:00"))
    assert fired(app) == hours(1)
    assert app.schedules()[0].skipped == 2
    app.cancel(app.list("schedule:nightly")[0].id)
    steps(app, clock, at("2026-06-01T04:00"), chore)
    assert fired(app) == hours(1, 4)


def test_overlap_skip_of_two_schedules_whose_jobs_have_the_same_key(app, clock):
    for name in ("first", "second"):
        job = app.report.options(key="one").prepare()
        app.create_schedule(name, job, cron="0 * * * *", overlap="skip")
    steps(app, clock, at("2026-06-01T03:00"))
    assert [each.skipped for each in app.schedules()] == [2, 2]


def test_overlap_queue_starts_the_next_when_the_last_one_has_ended(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", overlap="queue", catch_up="all")
    chore = steps(app, clock, clock.now())
    clock.move_to(at("2026-06-01T03:00"))
    chore.catch_up()
    first, second, third = reversed(app.list("schedule:nightly"))
    assert [first.state, second.state, third.state] == ["queued", "blocked", "blocked"]
    app.cancel(first.id)
    assert [app.get(job.id).state for job in (second, third)] == ["queued", "blocked"]


def test_overlap_cancel_ends_the_last_one(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", overlap="cancel")
    steps(app, clock, at("2026-06-01T03:00"))
    third, second, first = app.list("schedule:nightly")
    assert [first.state, second.state, third.state] == ["cancelled", "cancelled", "queued"]
    assert [each.actor for each in app.actions(first.id)] == ["schedule nightly"]


def test_overlap_cancel_asks_a_running_one_to_stop(app, clock, desk):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", overlap="cancel")
    chore = steps(app, clock, at("2026-06-01T01:00"))
    desk.join()
    (job,) = desk.store.claim("w-first", {"default": ["report"]}, 1, desk.now).jobs
    clock.move_to(at("2026-06-01T01:00") + 5 * SECOND)
    app.reschedule("nightly", every="1s")
    clock.advance("1s")
    chore.catch_up()
    clock.advance("1s")
    chore.catch_up()
    assert app.get(job.id).label == "cancelling"
    assert desk.store.renew("w-first", desk.now, 10 * SECOND).cancelling == [(job.id, job.token)]


# problems -------------------------------------------------------------------------------------------------------------
def test_a_tick_that_a_disabled_type_refuses_is_tried_again(app, store, clock):
    failures = []
    app.events.on("schedule_failed", lambda schedule, error: failures.append((schedule, type(error).__name__)))
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    chore = steps(app, clock, clock.now())
    store.set_rule(Rule("type", "report", {"set": {"disabled": "no"}}, "ada", clock.now()))
    clock.move_to(at("2026-06-01T01:00"))
    chore.catch_up()
    assert fired(app) == []
    assert failures[0] == ("nightly", "TypeDisabled")
    assert app.schedules()[0].problem.startswith("TypeDisabled: ")
    store.set_rule(Rule("type", "report", {}, "ada", clock.now()), remove=True)
    clock.advance("5m")
    chore.catch_up()
    assert fired(app) == hours(1)
    assert app.schedules()[0].problem is None


def test_a_full_queue_and_a_broken_schedule_hold_up_no_other(app, store, clock):
    app.create_schedule("ahead", app.report.options(queue="narrow").prepare(), cron="0 * * * *")
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    app.create_schedule("typo", app.report.prepare(), cron="0 * * * *")
    rule = next(rule for rule in store.rules([SCHEDULE]) if rule.name == "typo")
    store.set_rule(rule._replace(value={"set": {**rule.value["set"], "tz": "Mars/Olympus"}}))
    store.enqueue([draft(queue="narrow")], clock.now())
    app.set_queue("narrow", max_depth=1)
    with pytest.raises(QueueFull):
        store.enqueue([draft(queue="narrow")], clock.now())
    steps(app, clock, at("2026-06-01T01:00"))
    assert [fired(app, name) for name in ("ahead", "nightly", "typo")] == [[], hours(1), []]
    problems = {each.name: each.problem for each in app.schedules()}
    assert problems["nightly"] is None
    assert problems["ahead"].startswith("QueueFull")
    assert "Mars/Olympus" in problems["typo"]


def test_a_payload_that_the_code_no_longer_takes_is_a_problem(app, store, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    rule = store.rules([SCHEDULE])[0]
    job = {**rule.value["set"]["job"], "payload": '{"n":"many"}'}
    store.set_rule(rule._replace(value={"set": {**rule.value["set"], "job": job}}))
    steps(app, clock, at("2026-06-01T02:00"))
    assert app.schedules()[0].problem.startswith("InvalidPayload")
    assert fired(app) == []


# operators ------------------------------------------------------------------------------------------------------------
def test_ticks_of_a_pause_are_not_caught_up(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", catch_up="all")
    chore = steps(app, clock, at("2026-06-01T01:00"))
    app.pause_schedule("nightly", "holiday", actor="ada")
    steps(app, clock, at("2026-06-01T03:30"), chore)
    (found,) = app.schedules()
    assert (found.paused.value, found.paused.actor, found.next) == ("holiday", "ada", None)
    app.resume_schedule("nightly", actor="bob")
    steps(app, clock, at("2026-06-01T05:00"), chore)
    assert fired(app) == hours(1, 4, 5)
    assert [(each.actor, each.action) for each in app.actions()] == [
        ("bob", "rule"),
        ("ada", "rule"),
        ("python", "rule"),
    ]


def test_a_change_holds_from_then_on_and_is_no_second_tick(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    chore = steps(app, clock, at("2026-06-01T01:00"))
    change = app.reschedule("nightly", cron="30 * * * *", actor="ada", reason="load")
    assert (change.before["cron"], change.after["cron"]) == ("0 * * * *", "30 * * * *")
    steps(app, clock, at("2026-06-01T02:45"), chore)
    assert [tick.minute for tick in fired(app)] == [0, 30, 30]


def test_a_change_while_no_worker_ran_counts_from_the_change(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", catch_up="all")
    steps(app, clock, clock.now())
    clock.move_to(at("2026-06-01T03:30"))
    app.reschedule("nightly", cron="15 * * * *")
    clock.move_to(at("2026-06-01T06:00"))
    steps(app, clock, clock.now())
    assert [(tick.hour, tick.minute) for tick in fired(app)] == [(1, 0), (2, 0), (3, 0), (4, 15), (5, 15)]


def test_a_pause_while_no_worker_ran_leaves_out_its_ticks_and_no_others(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *", catch_up="all")
    steps(app, clock, clock.now())
    clock.move_to(at("2026-06-01T02:30"))
    app.pause_schedule("nightly")
    clock.move_to(at("2026-06-01T04:30"))
    app.resume_schedule("nightly")
    clock.move_to(at("2026-06-01T06:00"))
    steps(app, clock, clock.now())
    assert fired(app) == hours(1, 2, 5, 6)


def test_a_tick_that_has_come_fires_although_the_times_were_changed_since(app, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    chore = steps(app, clock, clock.now())
    clock.move_to(at("2026-06-01T01:00") + 5)
    app.reschedule("nightly", end="2026-06-01T01:00:00+00:00")
    chore.catch_up()
    assert fired(app) == hours(1)
    assert app.schedules()[0].next is None


def test_run_now_makes_an_extra_job(app, clock):
    app.create_schedule("nightly", app.report.prepare(3), cron="0 * * * *")
    app.pause_schedule("nightly")
    handle = app.run_schedule("nightly", actor="ada")
    job = handle.job()
    assert (job.args, job.schedule, job.tick) == ({"n": 3}, "nightly", datetime.fromtimestamp(clock.now() / 1000, UTC))
    assert [(each.actor, each.action, each.detail) for each in app.actions(job.id)] == [
        ("ada", "run", {"schedule": "nightly"})
    ]
    assert app.schedules()[0].fired == 0


def test_a_removed_schedule_leaves_its_jobs_and_nothing_else(app, store, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    chore = steps(app, clock, at("2026-06-01T01:00"))
    app.remove_schedule("nightly", actor="ada")
    steps(app, clock, at("2026-06-01T03:00"), chore)
    assert fired(app) == hours(1)
    assert app.schedules() == [] == store.rules([SCHEDULE, TICK])
    with pytest.raises(NotFound, match="there is no schedule"):
        app.remove_schedule("nightly")


def meanwhile(monkeypatch, store, act):
    """Let another act right after the next read of rules."""
    read = store.rules

    def rules(kinds):
        found = read(kinds)
        monkeypatch.undo()
        act()
        return found

    monkeypatch.setattr(store, "rules", rules)


@pytest.mark.parametrize("change", ["reschedule", "pause", "resume"])
def test_a_change_does_not_bring_back_what_another_has_just_removed(app, store, monkeypatch, change):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    app.pause_schedule("nightly", "holidays")
    meanwhile(monkeypatch, store, lambda: app.remove_schedule("nightly"))
    with pytest.raises(NotFound, match="there is no schedule"):
        app.reschedule("nightly", every="1h") if change == "reschedule" else getattr(app, f"{change}_schedule")(
            "nightly"
        )
    assert app.schedules() == [] == store.rules([SCHEDULE, TICK])


def test_a_schedule_that_another_has_just_changed_is_removed(app, store, monkeypatch):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    meanwhile(monkeypatch, store, lambda: app.pause_schedule("nightly", "holidays"))
    assert "paused" in app.remove_schedule("nightly").before
    assert app.schedules() == []


def test_code_declares_and_operators_change_over_it(app, store, clock):
    app.schedule("nightly", app.report.prepare(), cron="0 4 * * *")
    app.sync_schedules()
    app.reschedule("nightly", cron="0 5 * * *", actor="ada")
    app.sync_schedules()  # the next deploy
    (found,) = app.schedules()
    assert (found.cron, found.declared["cron"], found.drift, found.in_code) == (
        "0 5 * * *",
        "0 4 * * *",
        ("cron",),
        True,
    )
    app.reset_schedule("nightly")
    (found,) = app.schedules()
    assert (found.cron, found.drift) == ("0 4 * * *", ())
    with pytest.raises(Conflict, match="declared in code"):
        app.remove_schedule("nightly")
    later = Mainstay(store=store, clock=clock)
    assert later.schedules()[0].in_code is None  # it has no code
    later.job(steps)
    assert later.schedules()[0].in_code is False
    later.remove_schedule("nightly")


def test_a_dry_run_changes_nothing(app, store, clock):
    app.create_schedule("other", app.report.prepare(), cron="0 * * * *", dry_run=True)
    assert store.rules([SCHEDULE]) == []
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    before = store.rules([SCHEDULE]), len(app.actions())
    app.reschedule("nightly", cron="@daily", dry_run=True)
    app.pause_schedule("nightly", dry_run=True)
    app.remove_schedule("nightly", dry_run=True)
    assert (store.rules([SCHEDULE]), len(app.actions())) == before


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"cron": "61 * * * *"}, "'61' is no minute"), ({"cron": "0-1000000000 * * * *"}, "no minute"), ({"cron": "@dayly"}, "@daily"),
        ({"cron": "0 4 * * *", "tz": "Europe/Berln"}, "Europe/Berlin"), ({"every": 0}, "one second"), ({"every": -5}, "not a duration"),
        ({"every": "soon"}, "not a duration"), ({"cron": "0 4 * * *", "every": "1h"}, "one of them"), ({}, "cron= or every="),
        ({"every": "1h", "limit": 0}, "from 1 on"), ({"every": "1h", "catch_up": "lates"}, "latest"), ({"every": "1h", "overlap": "no"}, "one of"),
        ({"every": "1h", "start": "2026-06-02T00:00:00+00:00", "end": "2026-06-01T00:00:00+00:00"}, "before start"),
        ({"every": "1h", "start": datetime(2026, 6, 1)}, "no time zone"), ({"every": "1h", "jitter": "-1s"}, "not a duration"),  # noqa: DTZ001
    ],
)  # fmt: skip
def test_bad_values_are_refused_and_change_nothing(app, store, given, says):
    for make in (app.create_schedule, app.schedule):
        with pytest.raises(UsageError, match=says):
            make("nightly", app.report.prepare(), **given)
    app.create_schedule("there", app.report.prepare(), cron="@daily")
    before = store.rules([SCHEDULE, TICK])
    if given:
        with pytest.raises(UsageError):
            app.reschedule("there", **given)
    assert store.rules([SCHEDULE, TICK]) == before


@pytest.mark.parametrize("name", ["", "a b", "\x1b[31m", "a\0b", "x" * 201, "-rf", 7])
def test_bad_names_are_refused(app, name):
    with pytest.raises(UsageError, match="schedule name"):
        app.create_schedule(name, app.report.prepare(), every="1h")


def test_unknown_names_get_the_one_that_was_meant(app):
    app.create_schedule("nightly", app.report.prepare(), every="1h")
    with pytest.raises(NotFound, match="nightly"):
        app.pause_schedule("nigthly")
    with pytest.raises(Conflict, match="reschedule"):
        app.create_schedule("nightly", app.report.prepare(), every="1h")


def test_schedules_move_with_everything_else(app, clock, store, target):
    from mainstay.stores.move import move
    from tests.contract.moving import silent

    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    steps(app, clock, at("2026-06-01T02:00"))
    store.deregister("w-first")
    before = store.rules([SCHEDULE, TICK])
    move(store, target, silent)
    assert target.rules([SCHEDULE, TICK]) == before
    moved = Mainstay(store=target, clock=clock)
    assert fired(moved) == hours(1, 2)
    steps(moved, clock, at("2026-06-01T03:00"))
    assert fired(moved) == hours(1, 2, 3)


def test_schedules_turn_on_no_rules_for_other_jobs(app, store, clock):
    app.create_schedule("nightly", app.report.prepare(), cron="0 * * * *")
    steps(app, clock, at("2026-06-01T02:00"))
    if store.url.startswith("redis"):
        assert store.server.read("GET", "flow") is None
        assert store.server.read("GET", "ruled") is None

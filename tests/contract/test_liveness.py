"""Workers that live and die: a lease is renewed in time or never, and what a dead worker held is found, always."""

from types import SimpleNamespace

import pytest

from mainstay.core.clock import HOUR, MINUTE, SECOND
from mainstay.core.errors import LeaseLost
from mainstay.core.events import Events
from mainstay.core.outcome import CRASHED, INTERRUPTED
from mainstay.registry import Registry
from mainstay.stores.local_workers import LocalWorkers
from mainstay.upkeep.sweep import Sweep
from mainstay.worker.registration import Registration, new_identity
from tests.contract.building import FAILED, LEASE, WORKER, draft, transition, worker

GRACE = MINUTE


def orphans(desk, limit=99):
    return desk.store.orphans(desk.now, GRACE, limit)


def sweep(desk):
    Sweep(desk.store, lambda: 0.0, Events(), 1).step(desk.now)


# joining and leaving ----------------------------------------------------------------------------------------------
def test_a_worker_is_seen_as_it_joined(desk):
    info = worker("w2", desk.now)._replace(host="h", pid=7, slots=3, queues=("a", "b"), types=("x", "y"))
    desk.store.register(info)
    assert desk.store.workers()[-1] == info


def test_workers_are_shown_oldest_first_with_what_they_run(desk):
    desk.clock.advance("1s")
    desk.join("second")
    desk.run()
    desk.run(worker="second")
    desk.run(worker="second")
    assert [(info.id, info.running) for info in desk.store.workers()] == [(WORKER, 1), ("second", 2)]


def test_a_worker_may_join_again_under_its_name(desk):
    desk.clock.advance("3s")
    desk.join(lease=99)
    (info,) = desk.store.workers()
    assert (info.started_at, info.expires_at) == (desk.now, desk.now + 99)


def test_who_left_is_not_seen_any_more_and_may_leave_twice(desk):
    desk.store.deregister(WORKER)
    desk.store.deregister(WORKER)
    desk.store.deregister("nobody")
    assert desk.store.workers() == []


# the lease --------------------------------------------------------------------------------------------------------
def test_a_beat_renews_the_lease(desk):
    desk.clock.move_to(desk.now + LEASE - 1)
    assert desk.store.renew(WORKER, desk.now, LEASE).alive
    (info,) = desk.store.workers()
    assert (info.beat_at, info.expires_at) == (desk.now, desk.now + LEASE)


def test_a_worker_that_stops_says_so_until_it_registers_again(desk):
    assert desk.store.renew(WORKER, desk.now, LEASE, stopping=True).alive
    assert desk.store.renew(WORKER, desk.now, LEASE).alive  # its supervisor's
    (info,) = desk.store.workers()
    assert info == worker(WORKER, desk.now)._replace(stopping=True)
    desk.join()
    assert not desk.store.workers()[0].stopping


@pytest.mark.engines("memory", "postgres", "redis")  # on a file a sweep ends it, see below
@pytest.mark.parametrize("late", [0, 1, HOUR])
def test_a_lease_that_ran_out_can_never_be_renewed(desk, late):
    desk.clock.move_to(desk.now + LEASE + late)
    for _ in range(2):
        assert not desk.store.renew(WORKER, desk.now, LEASE).alive
    with pytest.raises(LeaseLost):
        desk.take()


def test_who_is_not_registered_cannot_beat(desk):
    desk.store.deregister(WORKER)
    assert not desk.store.renew(WORKER, desk.now, LEASE).alive
    assert desk.store.workers() == []


def test_a_beat_tells_only_of_the_workers_own_jobs(desk):
    desk.join("other")
    mine, others = desk.run(), desk.run(worker="other")
    desk.store.cancel([mine.id, others.id], desk.now, "me")
    assert desk.store.renew(WORKER, desk.now, LEASE).cancelling == [(mine.id, mine.token)]
    assert desk.store.renew("other", desk.now, LEASE).cancelling == [(others.id, others.token)]


def test_b12_a_job_that_outlasts_many_leases_is_left_alone_while_its_worker_beats(desk):
    job = desk.run(timeout=None)
    for _ in range(20):
        desk.clock.move_to(desk.now + LEASE - 1)
        assert desk.store.renew(WORKER, desk.now, LEASE).alive
        assert orphans(desk) == []
    assert desk.state(job.id) == "running"


# orphans ----------------------------------------------------------------------------------------------------------
def test_b13_who_boots_among_healthy_workers_recovers_nothing(desk):
    desk.run()
    desk.join("new")
    assert orphans(desk) == []


def test_jobs_of_a_worker_that_left_are_orphans_at_once(desk):
    job = desk.run()
    desk.store.deregister(WORKER)
    (orphan,) = orphans(desk)
    assert (orphan.job.id, orphan.job.token, orphan.worker, orphan.gone) == (job.id, job.token, WORKER, True)
    assert (orphan.job.attempt, orphan.job.max_attempts, orphan.job.keep, orphan.job.backoff) == (
        job.attempt, job.max_attempts, job.keep, job.backoff,
    )  # fmt: skip


@pytest.mark.engines("memory", "postgres", "redis")
def test_b36_jobs_of_a_worker_whose_lease_ran_out_are_orphans(desk):
    job = desk.run(timeout=None)
    desk.clock.move_to(desk.now + LEASE - 1)
    assert orphans(desk) == []
    desk.clock.advance("1ms")
    assert [orphan.job.id for orphan in orphans(desk)] == [job.id]


def test_who_was_buried_cannot_come_back_to_his_lease(desk):
    desk.run()
    desk.outlive()
    orphans(desk)
    assert desk.store.workers() == []
    assert not desk.store.renew(WORKER, desk.now - LEASE, LEASE).alive  # not even by a clock that runs behind


def test_dead_workers_are_buried_though_they_held_nothing(desk):
    desk.outlive()
    assert orphans(desk) == []
    assert desk.store.workers() == []


def test_b29_a_worker_whose_entry_is_gone_is_missed_all_the_same(desk):
    """Its entry was removed before its jobs were found, and the jobs found before they were freed: nothing is forgotten."""
    job = desk.run()
    desk.outlive()
    assert [orphan.job.id for orphan in orphans(desk)] == [job.id]  # and the sweep dies here
    assert [orphan.job.id for orphan in orphans(desk)] == [job.id]
    sweep(desk)
    assert desk.state(job.id) == "queued"


def test_b30_a_restarted_worker_does_not_hide_the_orphans_of_the_one_before(desk):
    """Same host, same process number, another identity: what the old one held is nobody's."""
    old, new = new_identity(), new_identity()
    assert old != new
    desk.join(old)
    job = desk.run(worker=old)
    desk.store.deregister(old)
    desk.join(new)
    assert [orphan.job.id for orphan in orphans(desk)] == [job.id]


def test_a_worker_with_a_name_that_is_restarted_at_once_leaves_no_job_running_for_ever(desk):
    """As systemd does after a kill: the new worker of that name must not keep the old one's jobs from being found."""
    old, new = (named_worker(desk, "web-1") for _ in range(2))
    old.register()
    job = desk.run(worker=old.id)
    desk.clock.move_to(desk.now + LEASE // 2)
    desk.kill(old.id)
    new.register()
    desk.clock.move_to(desk.now + LEASE // 2 + 1)  # the lease of the old one is over, that of the new one is not
    assert [orphan.job.id for orphan in orphans(desk)] == [job.id]


def named_worker(desk, identity):
    app = SimpleNamespace(
        store=desk.store, registry=Registry(), clock=desk.clock, queue_rules={}, declared_schedules={}, declares=False
    )
    return Registration(app, {"default": []}, 1, LEASE, identity)


def test_b31_whoever_sweeps_next_finds_what_a_dead_sweep_left(desk, another):
    job = desk.run()
    desk.store.deregister(WORKER)
    orphans(desk)
    (orphan,) = another.orphans(desk.now, GRACE, 9)
    assert orphan.job.id == job.id


def test_b33_ten_thousand_long_jobs_do_not_hide_an_orphan(desk):
    desk.join("dying")
    desk.store.enqueue([draft(timeout=None, priority=1) for _ in range(10_000)], desk.now)
    while desk.take(5_000):
        pass
    job = desk.run(worker="dying")
    desk.store.deregister("dying")
    assert [orphan.job.id for orphan in orphans(desk, limit=1)] == [job.id]


def test_no_more_orphans_than_asked_and_the_rest_next_time(desk):
    desk.join("dying")
    ids = {desk.run(worker="dying").id for _ in range(7)}
    desk.store.deregister("dying")
    seen = set()
    while found := orphans(desk, limit=3):
        assert len(found) <= 3
        seen |= {orphan.job.id for orphan in found}
        desk.store.finish([decided(orphan, desk.now) for orphan in found])
    assert seen == ids


def decided(orphan, now):
    return transition(orphan.job, CRASHED, now)


# marks ------------------------------------------------------------------------------------------------------------
def test_a_job_whose_handler_had_begun_is_told_from_one_that_waited_for_a_slot(engine, desk):
    """By the marks of a worker on this machine; a database in memory has none, and there every orphan counts as begun."""
    desk.join("dying")
    marks = desk.store.started_jobs("dying")
    begun, through, waiting = (desk.run(worker="dying") for _ in range(3))
    marks.begin(begun)
    marks.end(marks.begin(through))
    leave_without_a_word(desk, "dying")
    found = {orphan.job.id: orphan.begun for orphan in orphans(desk)}
    kept = engine != "memory"
    assert found == {begun.id: True, through.id: not kept, waiting.id: not kept}


@pytest.mark.engines("postgres", "redis")
def test_nobody_can_tell_what_a_worker_on_another_machine_had_begun(desk, monkeypatch, tmp_path):
    desk.join("dying")
    job = desk.run(worker="dying", max_attempts=1)
    elsewhere = LocalWorkers(str(tmp_path))
    monkeypatch.setitem(vars(desk.store), "_local_workers", elsewhere)
    leave_without_a_word(desk, "dying")
    assert [orphan.begun for orphan in orphans(desk)] == [None]
    sweep(desk)
    found = desk.job(job.id)
    assert (found.state, found.attempt, found.crashes) == ("queued", 0, 1)


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_marks_tell_attempts_apart(desk):
    desk.join("dying")
    marks = desk.store.started_jobs("dying")
    marks.begin(desk.run(worker="dying")._replace(token=99))
    leave_without_a_word(desk, "dying")
    assert [orphan.begun for orphan in orphans(desk)] == [False]


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_marks_are_kept_of_a_worker_that_leaves_jobs_behind(desk):
    """The reply of its last claim was lost, or the outcome of a job could not be stored before it stopped."""
    desk.join("leaving")
    marks = desk.store.started_jobs("leaving")
    begun, unknown = desk.run(worker="leaving"), desk.run(worker="leaving")
    marks.begin(begun)
    desk.store.deregister("leaving")
    assert {orphan.job.id: orphan.begun for orphan in orphans(desk)} == {begun.id: True, unknown.id: False}


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_more_marks_than_there_are_places_count_all_as_begun(desk):
    desk.join("dying")
    marks = desk.store.started_jobs("dying")
    job = desk.run(worker="dying")
    places = [marks.begin(job._replace(token=n)) for n in range(10**6, 10**6 + 5_000)]
    assert 0 in places
    leave_without_a_word(desk, "dying")
    assert [orphan.begun for orphan in orphans(desk)] == [True]


def leave_without_a_word(desk, worker):
    """The worker is gone as by a power cut: its lease runs out, its life sign stays."""
    desk.outlive()
    desk.join()


# workers that hold their lock ---------------------------------------------------------------------------------------
def watch(desk, ms):
    """Sweep every half second for so long; return the orphans of the last sweep."""
    for _ in range(ms // 500):
        desk.clock.advance("500ms")
        found = orphans(desk)
    return found


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("late", [LEASE, HOUR])
def test_a_clock_put_forward_ends_no_lease_of_a_worker_that_holds_its_lock(desk, late):
    desk.run(timeout=None)
    desk.clock.move_to(desk.now + late)
    assert orphans(desk) == []
    assert desk.store.renew(WORKER, desk.now, LEASE).alive
    assert watch(desk, LEASE - 500) == []
    assert desk.take() == []  # no LeaseLost


@pytest.mark.engines("sqlite")
def test_a_worker_that_holds_its_lock_and_does_not_renew_is_given_up_after_half_a_lease_more(desk):
    job = desk.run(timeout=None)
    desk.clock.move_to(desk.now + LEASE)
    assert orphans(desk) == []
    assert watch(desk, LEASE // 2 - 500) == []
    assert [(orphan.job.id, orphan.alive) for orphan in watch(desk, 500)] == [(job.id, True)]
    assert not desk.store.renew(WORKER, desk.now, LEASE).alive
    with pytest.raises(LeaseLost):
        desk.take()


@pytest.mark.engines("sqlite")
def test_time_in_which_a_sweep_could_not_look_does_not_count(desk):
    """It could not write, or was stopped: neither could the others renew."""
    desk.run(timeout=None)
    for _ in range(4):
        desk.clock.advance("1h")
        assert orphans(desk) == []
    assert desk.store.renew(WORKER, desk.now, LEASE).alive


def lose(desk):
    """Let every lease run out, of workers whose process exists; sweeps have watched for long enough."""
    desk.clock.move_to(desk.now + LEASE + 1)
    for _ in range(12):
        desk.clock.advance("500ms")
        orphans(desk)


@pytest.mark.engines("sqlite", "postgres", "redis")
def test_suspends_of_a_worker_on_this_machine_cost_attempts_and_are_no_poison(desk):
    ids = [desk.add(max_attempts=9) for _ in range(2)]
    for n in range(1, 5):
        desk.join("dozing")
        begun, _ = sorted(desk.take(2, "dozing"), key=lambda job: ids.index(job.id))
        desk.store.started_jobs("dozing").begin(begun)
        lose(desk)
        sweep(desk)
        found = [desk.job(id) for id in ids]
        assert [(job.attempt, job.crashes) for job in found] == [(n, 0), (0, 0)]
        desk.clock.advance("2s")
    assert {attempt.error.partition(":")[0] for attempt in desk.store.attempts(begun.id)} == {"LeaseLost"}


# crashes that were none ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("next", ["waits", "runs", "failed"])
def test_a_worker_that_comes_back_takes_the_crash_back_that_a_sweep_counted(desk, next):
    """Whatever has become of the job meanwhile, unless it has ended."""
    job = desk.run(max_attempts=9)
    desk.outlive()
    sweep(desk)
    assert desk.job(job.id).crashes == 1
    desk.join("other")
    again = desk.take_this(job.id, "other") if next != "waits" else None
    assert [desk.store.retract_crashes([job]) for _ in range(2)] == [1, 0]
    if next == "failed":
        assert desk.end(again, FAILED) == "stored"
    assert desk.job(job.id).crashes == 0
    first = desk.store.attempts(job.id)[0]
    assert (first.token, first.outcome, first.error) == (job.token, "failed", INTERRUPTED.error)
    assert desk.job(job.id).error == ("ValueError: no" if next == "failed" else INTERRUPTED.error)


def test_a_crash_after_one_that_was_taken_back_counts(desk):
    job = desk.run(max_attempts=9)
    desk.outlive()
    sweep(desk)
    desk.join("other")
    desk.take_this(job.id, "other")
    desk.store.retract_crashes([job])
    desk.outlive()
    sweep(desk)
    assert desk.job(job.id).crashes == 1


def test_only_a_crash_of_the_same_attempt_and_worker_is_taken_back(desk):
    job, failed = desk.run(max_attempts=9), desk.run()
    desk.end(failed, FAILED)
    desk.outlive()
    sweep(desk)
    others = [job._replace(worker="other"), job._replace(token=job.token + 1), failed]
    assert desk.store.retract_crashes(others) == 0
    assert desk.job(job.id).crashes == 1


def test_a_job_that_is_dead_as_poison_stays_so(desk):
    job = desk.run(max_attempts=9)
    desk.end(job._replace(crashes=2), CRASHED)
    assert desk.store.retract_crashes([job]) == 0
    found = desk.job(job.id)
    assert (found.state, found.crashes > 0) == ("dead", True)


# overdue ----------------------------------------------------------------------------------------------------------
def test_a_job_far_past_its_timeout_is_found_and_left_to_a_living_worker_that_may_run_it(desk):
    job = desk.run(timeout=SECOND)
    desk.join(lease=HOUR)
    desk.clock.move_to(desk.now + SECOND + GRACE)
    assert orphans(desk) == []
    desk.clock.advance("1ms")
    (orphan,) = orphans(desk)
    assert (orphan.job.id, orphan.gone) == (job.id, False)
    sweep(desk)
    assert [attempt.outcome for attempt in desk.store.attempts(job.id)] == ["running"]


@pytest.mark.engines("sqlite")
def test_a_job_far_past_its_timeout_is_taken_from_a_living_worker_that_does_not_run_it(desk):
    job = desk.run(timeout=SECOND)
    desk.join(lease=HOUR)
    desk.store.started_jobs(WORKER)  # its record: it runs nothing
    sweep = Sweep(desk.store, lambda: 0.0, Events(), 1, GRACE, desk.clock)
    for outcome in ("running", "timed out"):  # the clock may have been put forward: one sight is not enough
        desk.clock.move_to(desk.now + SECOND + GRACE + 1)
        sweep.step(desk.now)
        assert [attempt.outcome for attempt in desk.store.attempts(job.id)] == [outcome]
    assert desk.state(job.id) == "scheduled"


def test_overdue_jobs_do_not_hide_an_orphan(desk):
    """Sweeps leave them alone for long, and find no more than so many jobs at once."""
    for _ in range(5):
        desk.run(timeout=SECOND)
    desk.join(lease=HOUR)
    desk.join("z-dying", lease=HOUR)
    job = desk.run(worker="z-dying")
    desk.clock.move_to(desk.now + SECOND + GRACE + 1)
    desk.store.deregister("z-dying")
    assert [orphan.job.id for orphan in orphans(desk, limit=1)] == [job.id]


def test_a_job_without_a_timeout_is_never_overdue(desk):
    desk.run(timeout=None)
    desk.join(lease=10**12)
    desk.clock.advance("3650d")
    assert orphans(desk) == []


def test_b35_no_living_job_is_swept_however_often_one_sweeps(desk):
    jobs = [desk.run() for _ in range(20)]
    for _ in range(50):
        sweep(desk)
        desk.clock.advance("10ms")
    assert {desk.state(job.id) for job in jobs} == {"running"}


def test_b29_the_sweep_frees_what_was_held_and_it_runs_again(desk):
    job = desk.run()
    desk.outlive()
    sweep(desk)
    desk.join("next")
    again = desk.take_this(job.id, "next")
    assert (again.token, again.attempt, again.crashes) == (2, 2, 1)

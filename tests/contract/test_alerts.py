"""Alerts on every engine: each rule opens an incident once over the fleet and recovers once; no notice is lost."""

import pytest

from mainstay import Mainstay
from mainstay.control.rules import change
from mainstay.core import alerts as core
from mainstay.core.clock import HOUR, MINUTE
from mainstay.core.decide import decide
from mainstay.core.errors import SendFailed, UsageError
from mainstay.core.job import Rule, RuleChanged, WorkerInfo
from mainstay.core.outcome import COMPLETED, Outcome
from mainstay.core.rules import TROUBLE, WATCH
from mainstay.upkeep.alerts import TURN, Alerts
from mainstay.upkeep.sweep import Sweep
from tests.contract.building import draft
from tests.servers.engines import ONE_OF_EACH

DEAD = Outcome("failed", error="Boom: no", retry=False, reason="permanent")

pytestmark = pytest.mark.engines(*ONE_OF_EACH)


class Post:
    """A channel of the test: it keeps what it gets, or fails."""

    kind, seconds = "test", 5.0

    def __init__(self, name="post"):
        self.name, self.got, self.broken = name, [], False

    def wants(self, alert):
        return True

    def send(self, notice):
        if self.broken:
            raise SendFailed("out of order")
        self.got.append(notice)


class Fleet:
    """Two processes that look and tell, on one store and one clock."""

    def __init__(self, stores, clock):
        self.clock, self.post, self.events = clock, Post(), []
        self.apps = [Mainstay(store=store, clock=clock) for store in stores]
        self.store, self.app = self.apps[0].store, self.apps[0]
        self.chores = []
        for app in self.apps:
            app.channels = {"post": self.post}
            app.events.on("alert", lambda what, alert: self.events.append((what, alert.name)))
            self.chores.append(Alerts(app))

    def look(self, after="1m"):
        """Move the clock on and let both look; return what was told."""
        self.clock.advance(after)
        before = len(self.post.got)
        for chore in [*self.chores, *self.chores]:
            chore.step(self.clock.now())
            chore._sending and chore._sending.join()
        return [(notice.what, notice.alert.name) for notice in self.post.got[before:]]

    def join(self, worker="w1", lease=9 * HOUR):
        now = self.clock.now()
        types = ("mail", "audit-export")
        self.store.register(
            WorkerInfo(worker, "h", 1, 500, ("default",), types, now, now, now + lease, 0, stopping=False)
        )

    def add(self, count=1, type="mail", **options):
        accepted = self.store.enqueue([draft(type, **options) for _ in range(count)], self.clock.now())
        return [job for job, _ in accepted]

    def claim(self, count=1, type="mail"):
        return self.store.claim("w1", {"default": [type]}, count, self.clock.now()).jobs

    def end(self, outcome, count=1, type="mail", **options):
        self.add(count, type, **options)
        now = self.clock.now()
        self.store.finish([decide(job, outcome, now, lambda: 0.0) for job in self.claim(count, type)])


@pytest.fixture
def fleet(store, another, clock):
    return Fleet([store, another], clock)


def test_depth_fires_once_and_recovers_once(fleet):
    fleet.join()
    assert fleet.look() == []
    fleet.add(101)
    assert fleet.look() == [("opened", "depth:default")]
    assert fleet.look() == []
    (incident,) = fleet.app.alerts.open()
    assert (incident.severity, incident.queue, incident.owed) == ("warning", "default", 0)
    fleet.claim(1)
    assert fleet.look() == [("recovered", "depth:default")]
    assert fleet.look() == [] == fleet.app.alerts.open()
    assert fleet.events == [("opened", "depth:default"), ("recovered", "depth:default")]
    opened, recovered = fleet.post.got
    assert opened.id == recovered.id.replace("recovered", "opened") == f"{incident.id}.opened"
    fleet.add(1)
    assert fleet.look() == [("opened", "depth:default")]
    (again,) = fleet.app.alerts.open()
    assert again.id != incident.id
    assert again.past == ((incident.opened_at, fleet.app.alerts.history()[0].past[0][1]),)


def test_oldest(fleet):
    fleet.join()
    fleet.add()
    fleet.look("30m")
    assert fleet.look("30m") == []
    assert fleet.look("1m") == [("opened", "oldest:default")]
    assert fleet.post.got[0].alert.type == "mail"
    fleet.claim()
    assert fleet.look() == [("recovered", "oldest:default")]


def test_the_rate_of_failures_needs_a_number_of_jobs(fleet):
    fleet.join()
    fleet.app.alerts.set("dead", enabled=False)
    fleet.end(DEAD, 2)
    fleet.end(COMPLETED, 17)
    assert fleet.look() == []
    fleet.end(COMPLETED)
    assert fleet.look() == []  # 10 %
    fleet.end(DEAD)
    assert fleet.look() == [("opened", "failures:")]
    assert "14%" in fleet.post.got[0].alert.title
    assert fleet.look("1h") == [("recovered", "failures:")]


def test_running_for_too_long_or_past_the_timeout(fleet):
    fleet.join()
    fleet.add(timeout=2 * MINUTE, tenant="acme")
    (job,) = fleet.claim()
    assert fleet.look("2m") == []
    assert fleet.look("1m") == [("opened", "running:mail")]
    (notice,) = fleet.post.got
    assert (notice.alert.job, notice.alert.tenant, "past its timeout" in notice.alert.text) == (job.id, "acme", True)
    fleet.store.finish([decide(job, COMPLETED, fleet.clock.now(), lambda: 0.0)])
    assert fleet.look() == [("recovered", "running:mail")]
    fleet.add(timeout=9 * HOUR)
    fleet.claim()
    assert fleet.look("5m") == []
    assert fleet.look("1m") == [("opened", "running:mail")]


def test_a_dead_job_is_an_error_and_of_a_critical_type_it_is_high(fleet):
    fleet.join()
    fleet.end(DEAD, tenant="acme")
    fleet.end(DEAD, type="audit-export")
    told = fleet.look()
    assert sorted(told) == [("opened", "critical:audit-export"), ("opened", "dead:mail")]
    found = {notice.alert.rule: notice.alert for notice in fleet.post.got}
    assert (found["dead"].severity, found["critical"].severity) == ("error", "high")
    assert (found["dead"].tenant, found["dead"].type) == ("acme", "mail")
    assert "after 1 attempt: Boom: no" in found["dead"].text
    assert fleet.app.get(found["dead"].job).state == "dead"
    assert "Boom" not in str(fleet.store.rules([TROUBLE]))  # the error stays with the job, where it may be encrypted
    fleet.end(DEAD)
    assert fleet.look() == []  # the same incident
    (record,) = [record for record in fleet.app.dead() if record.type == "mail"]
    fleet.app.dead_group(record.fingerprint).resolve()
    fleet.app.bulk("state:dead type:audit-export").delete()
    assert sorted(fleet.look()) == [("recovered", "critical:audit-export"), ("recovered", "dead:mail")]


def test_a_secret_is_not_told(fleet):
    fleet.join()
    fleet.end(DEAD._replace(error="Boom: password=hunter2 token ghp_abcdefghijklmnopqrstuvwxyz0123456789"))
    fleet.look()
    (notice,) = fleet.post.got
    assert "Boom" in notice.alert.text
    assert "hunter2" not in notice.alert.text
    assert "ghp_abc" not in notice.alert.text


def test_a_worker_that_renews_no_lease(fleet):
    fleet.join(lease=5 * MINUTE)
    assert fleet.look() == []
    assert fleet.look("20m") == [("opened", "silent:w1")]
    fleet.store.deregister("w1")
    assert fleet.look() == [("recovered", "silent:w1")]


def test_a_worker_that_died_with_jobs(fleet):
    fleet.join()
    fleet.add()
    fleet.claim()
    fleet.look()
    fleet.store.deregister("w1")  # it is gone before anybody looks
    Sweep(fleet.store, lambda: 0.0, fleet.app.events, 1000, clock=fleet.clock).step(fleet.clock.now())
    assert fleet.look("1s") == [("opened", "silent:w1")]  # at once, not when a minute is over
    assert "with 1 of its jobs" in fleet.post.got[0].alert.text
    assert fleet.look() == [("recovered", "silent:w1")]


def test_a_pause_of_all_a_disabled_type_and_an_open_breaker(fleet):
    fleet.join()
    fleet.add()
    fleet.app.pause(reason="moving", actor="ada")
    assert fleet.look() == [("opened", "disabled:")]
    assert "ada" in fleet.post.got[0].alert.text
    fleet.app.resume()
    fleet.app.disable("mail")
    assert sorted(fleet.look()) == [("opened", "disabled:mail"), ("recovered", "disabled:")]
    fleet.app.enable("mail")
    fleet.store.set_rule(Rule("breaker", "mail", {"until": fleet.clock.now() + 9 * HOUR, "rest": HOUR}))
    assert sorted(fleet.look()) == [("opened", "breaker:mail"), ("recovered", "disabled:mail")]
    fleet.app.close_breaker("mail")
    assert fleet.look() == [("recovered", "breaker:mail")]


# once, and at least once --------------------------------------------------------------------------------------------------
def test_a_channel_that_fails_is_tried_again_with_longer_and_longer_waits(fleet):
    failed = []
    for app in fleet.apps:
        app.events.on("alert_failed", lambda **fields: failed.append(fields["wait"]))
    other = Post("other")
    for app in fleet.apps:
        app.channels = {"post": fleet.post, "other": other}
    fleet.post.broken = True
    fleet.app.pause()
    assert fleet.look() == []
    assert len(other.got) == 1  # one broken channel does not stop the others
    for _ in range(3):
        fleet.look("61s")
    assert failed[:3] == [10_000, 20_000, 40_000]
    fleet.post.broken = False
    assert fleet.look("10m") == [("opened", "disabled:")]
    assert len(other.got) == 1
    assert fleet.look() == []


def test_what_a_process_that_died_has_not_told_another_tells(fleet):
    fleet.app.pause()
    fleet.chores[0]._deliver = lambda *_: None
    fleet.clock.advance("1m")
    fleet.chores[0].step(fleet.clock.now())
    fleet.chores.pop(0)
    assert fleet.look("1m") == []  # it may still be on its way
    assert fleet.look("2m") == [("opened", "disabled:")]
    assert fleet.look() == []


def test_a_notice_that_nobody_takes_for_a_day_is_given_up(fleet):
    fleet.post.broken = True
    fleet.app.pause()
    fleet.look()
    for _ in range(3):
        fleet.look("12h")
    fleet.post.broken = False
    assert fleet.look("1h") == []
    fleet.app.resume()
    assert fleet.look() == [("recovered", "disabled:")]


def test_a_channel_that_is_added_later_is_told_what_is_open_and_nothing_of_the_past(fleet):
    for app in fleet.apps:
        app.channels = {}
    for _ in range(30):
        fleet.app.pause()
        fleet.look()
        fleet.app.resume()
        fleet.look()
        fleet.look("20m")  # it comes and goes: it is over when it stays away
    (rule,) = fleet.store.rules([TROUBLE], "disabled:")
    assert len(rule.value["owed"]) == core.KEPT  # it does not grow
    fleet.add(101)
    fleet.look()
    fleet.clock.advance("2d")
    for app in fleet.apps:
        app.channels = {"post": fleet.post}
    told = fleet.look()
    assert ("opened", "depth:default") in told
    assert "disabled:" not in {name for _, name in told}
    assert fleet.store.rules([TROUBLE], "disabled:")[0].value["owed"] == []


def test_a_delivery_that_takes_too_long_leaves_the_rest_to_another(fleet, monkeypatch):
    monkeypatch.setattr("mainstay.upkeep.alerts.LEASE", 0)
    fleet.app.pause()
    fleet.add(101)
    for chore, told in zip(fleet.chores, (["depth:default"], ["depth:default", "disabled:"]), strict=True):
        fleet.clock.advance("1m")
        chore.step(fleet.clock.now())
        chore._sending.join()
        assert sorted(notice.alert.name for notice in fleet.post.got) == told
    assert fleet.look() == []


def test_an_incident_that_ends_before_it_was_told_is_told_whole(fleet):
    fleet.post.broken = True
    fleet.app.pause()
    fleet.look()
    fleet.app.resume()
    fleet.look()
    fleet.post.broken = False
    assert fleet.look("10m") == [("opened", "disabled:"), ("recovered", "disabled:")]


def test_a_clock_that_is_set_back_loses_no_notice(fleet):
    fleet.app.pause()
    fleet.look()
    fleet.post.broken = True
    fleet.app.resume()
    fleet.look()
    fleet.post.broken = False
    fleet.clock.move_to(fleet.clock.now() - 2_000)
    assert fleet.look("1s") == []
    assert fleet.look("1m") == [("recovered", "disabled:")]


def test_an_incident_that_comes_and_goes_is_told_a_few_times_and_not_each_minute(fleet):
    told = []
    for _ in range(30):
        fleet.app.pause()
        told += fleet.look()
        fleet.app.resume()
        told += fleet.look()
    assert told == [("opened", "disabled:"), ("recovered", "disabled:")] * 3 + [("opened", "disabled:")]
    assert len(fleet.app.alerts.open()) == 1
    assert fleet.look("10m") == []
    assert fleet.look("10m") == [("recovered", "disabled:")]
    fleet.look("2d")
    fleet.app.pause()
    assert fleet.look() == [("opened", "disabled:")]
    fleet.app.resume()
    assert fleet.look() == [("recovered", "disabled:")]


def test_two_that_see_the_same_incident_open_it_once(store, another, clock):
    alert = core.Alert("depth", "q", "warning", "t", "x")
    first = core.incident(alert.name, core.opened(alert, None, clock.now(), "a", False), clock.now())
    second = core.incident(alert.name, core.opened(alert, None, clock.now(), "b", False), clock.now())
    store.set_rule(first, was=(None,))
    with pytest.raises(RuleChanged):
        another.set_rule(second, was=(None,))
    assert [rule.value["id"] for rule in another.rules([TROUBLE])] == ["a"]
    assert store.actions(None, 10) == []


def test_one_process_looks_once_a_minute(fleet, monkeypatch):
    looks = []
    for chore in fleet.chores:
        real = chore._facts
        monkeypatch.setattr(chore, "_facts", lambda now, lost, real=real: looks.append(now) or real(now, lost))
    for _ in range(4):
        fleet.look("30s")
    assert len(looks) == 2
    fleet.clock.move_to(fleet.clock.now() - HOUR)  # a clock that was set back stops nothing
    fleet.look("1s")
    assert len(looks) == 3


def test_closed_incidents_are_forgotten_after_a_week(fleet):
    fleet.app.pause()
    fleet.look()
    fleet.app.resume()
    fleet.look()
    fleet.look("6d")
    assert len(fleet.app.alerts.history()) == 1
    fleet.look("2d")
    assert fleet.app.alerts.history() == []
    assert [rule.name for rule in fleet.store.rules([TROUBLE])] == [TURN]


# rules --------------------------------------------------------------------------------------------------------------------
def test_a_rule_is_changed_live_and_audited(fleet):
    fleet.join()
    fleet.add(11)
    assert fleet.look() == []
    fleet.app.alerts.set("depth", threshold=10, severity="high", actor="ada", reason="a small shop")
    assert fleet.look() == [("opened", "depth:default")]
    assert fleet.post.got[0].alert.severity == "high"
    (line,) = fleet.app.store.actions(None, 10)
    assert (line.actor, line.detail["kind"], line.detail["after"]["set"]) == (
        "ada",
        WATCH,
        {"threshold": 10, "severity": "high"},
    )
    rule = next(each for each in fleet.app.alerts.rules() if each.name == "depth")
    assert (rule.threshold, rule.set["threshold"].actor) == (10, "ada")
    fleet.app.alerts.reset("depth")
    assert fleet.look() == [("recovered", "depth:default")]
    fleet.app.alerts.set("depth", threshold=1)
    fleet.app.alerts.set("depth", enabled=False)
    assert fleet.look() == []


def test_a_threshold_is_read_with_its_unit(fleet):
    fleet.app.alerts.set("oldest", threshold=90)
    fleet.app.alerts.set("failures", threshold=0)
    about = {rule.name: rule.about for rule in fleet.app.alerts.rules()}
    assert about["oldest"].endswith("for more than 1m 30s")
    assert about["failures"].endswith("more than 0% are dead")


def test_a_silenced_rule_tells_nobody_until_the_silence_is_over(fleet):
    fleet.app.alerts.silence("disabled", "2h", actor="ada")
    fleet.app.pause()
    assert fleet.look() == []
    (incident,) = fleet.app.alerts.open()
    assert incident.silenced
    assert fleet.look("1h") == []
    assert fleet.look("1h") == [("opened", "disabled:")]
    fleet.app.alerts.silence("disabled", "2h")
    fleet.app.resume()
    assert fleet.look() == [("recovered", "disabled:")]  # who knows that it began is told that it is over
    fleet.app.pause()
    fleet.look()
    fleet.app.resume()
    assert fleet.look("3h") == []  # begun and ended in silence


@pytest.mark.engines("memory")
@pytest.mark.parametrize(
    ("rule", "values", "says"),
    [
        ("depht", {"threshold": 1}, "did you mean"), ("depth", {"treshold": 1}, "did you mean"), ("depth", {"threshold": "many"}, "whole"),
        ("depth", {"threshold": -1}, "whole"), ("depth", {"threshold": True}, "whole"), ("depth", {"severity": "loud"}, "one of"),
        ("oldest", {"threshold": "soon"}, "duration"), ("oldest", {"threshold": 0}, "above zero"), ("failures", {"threshold": 10}, "part"),
        ("failures", {"least": -1}, "whole"), ("dead", {"threshold": 1}, "has no"), ("critical", {"threshold": 5}, "types"),
        ("depth", {"enabled": "yes"}, "true or false"), ("depth", {"silenced": 1}, "has no"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused(store, clock, rule, values, says):
    app = Mainstay(store=store, clock=clock)
    with pytest.raises(UsageError, match=says):
        app.alerts.set(rule, **values)
    with pytest.raises(UsageError):
        app.alerts.silence(rule, "soon")
    assert store.rules([WATCH]) == []


def test_incidents_hold_no_job_back_and_move_with_the_installation(fleet, target, clock):
    from mainstay.stores.move import move

    fleet.join()
    fleet.add(101)
    fleet.look()
    change(fleet.app, WATCH, "depth", {"threshold": 5}, (), "", "ada", False)
    assert len(fleet.claim(101)) == 101
    fleet.store.finish([decide(job, COMPLETED, clock.now(), lambda: 0.0) for job in fleet.store.claimed_by("w1")])
    fleet.store.deregister("w1")
    move(fleet.store, target, lambda *_: None)
    assert [rule[:3] for rule in target.rules([WATCH, TROUBLE])] == [
        rule[:3] for rule in fleet.store.rules([WATCH, TROUBLE])
    ]


def test_the_link_leads_to_the_job(fleet):
    fleet.app.set_setting("dashboard_url", "https://jobs.example/")
    fleet.join()
    fleet.end(DEAD)
    fleet.app.pause()
    fleet.look()
    links = {notice.alert.rule: notice.link for notice in fleet.post.got}
    (job,) = fleet.app.list("state:dead")
    assert links == {"dead": f"https://jobs.example/jobs/{job.id}", "disabled": "https://jobs.example/"}

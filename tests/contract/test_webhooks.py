"""Webhooks on every engine: endpoints are rows, each delivery is recorded once, and failures are counted over the fleet."""

import threading

import pytest

from mainstay import Conflict, Mainstay, NotFound, UsageError
from mainstay.control.webhooks import Webhooks
from mainstay.core import webhooks as core
from mainstay.core.clock import DAY, HOUR
from mainstay.core.errors import ConfigError
from mainstay.core.export import DeliveryRecord
from mainstay.core.rules import SIGNING, WEBHOOK
from mainstay.upkeep.alerts import Alerts
from tests.contract.moving import arrive
from tests.servers.engines import ONE_OF_EACH

pytestmark = pytest.mark.engines(*ONE_OF_EACH)
URL = "https://hooks.example.com/in?a=1"
OWN = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def app(store, clock):
    return Mainstay(store=store, clock=clock)


def delivery(n, error=None, status=200, endpoint="billing", **given):
    return DeliveryRecord(endpoint, 0, f"job{n}", 1, 1, status, 12, error, "thanks")._replace(**given)


def fail(app, *numbers, status=503, store=None):
    """Record failed deliveries; return why they have disabled the endpoint, for each."""
    found = store or app.store
    return [found.record_delivery(delivery(n, "replied 503", status), app.clock.now()) for n in numbers]


def test_of_two_who_add_the_same_endpoint_the_one_who_succeeds_has_its_secret(app, monkeypatch):
    """The other one comes when the first is about to write the endpoint, and is overtaken by it."""
    write, waiting, refused = app.store.set_rule, [], []

    def interleaved(rule, remove=False, was=None):
        if rule.kind == WEBHOOK and not waiting:
            waiting.append(lambda: write(rule, remove, was))
            try:
                app.webhooks.add(URL, id="billing")
            except Conflict as error:
                refused.append(error)
            return None
        if rule.kind == WEBHOOK and len(waiting) == 1:
            waiting.append(waiting[0]())
        return write(rule, remove, was)

    monkeypatch.setattr(app.store, "set_rule", interleaved)
    made = app.webhooks.add(URL, id="billing")
    assert len(refused) == 1
    assert app.webhooks.destination("billing") == (URL, [made.secret])


def test_a_removal_leaves_the_secret_of_an_endpoint_that_is_added_meanwhile(app, monkeypatch):
    app.webhooks.add(URL, id="billing")
    write, made = app.store.set_rule, []

    def interleaved(rule, remove=False, was=None):
        if rule.kind == SIGNING and remove:
            monkeypatch.undo()
            made.append(app.webhooks.add(URL, id="billing"))
        return write(rule, remove, was)

    monkeypatch.setattr(app.store, "set_rule", interleaved)
    app.webhooks.remove("billing")
    assert app.webhooks.destination("billing") == (URL, [made[0].secret])


# endpoints ------------------------------------------------------------------------------------------------------------
def test_an_endpoint_is_added_shown_changed_and_removed(app):
    made = app.webhooks.add(URL, ["invoice.*"], id="billing", description="the shop", actor="ada", reason="asked for")
    assert made.secret.startswith("whsec_")
    assert made.change.changed
    (found,) = app.webhooks.list()
    assert found == app.webhooks.show("billing")
    assert (found.url, found.events, found.description) == (URL, ("invoice.*",), "the shop")
    assert (found.max_failures, found.enabled, found.signs_with, found.failures) == (100, True, "a stored secret", 0)
    change = app.webhooks.update("billing", events=["a.b", "c.*"], max_failures=3, actor="bob")
    assert (change.before["max_failures"], change.after["max_failures"]) == (100, 3)
    assert app.webhooks.show("billing").events == ("a.b", "c.*")
    assert app.webhooks.disable("billing", actor="bob").changed
    assert not app.webhooks.disable("billing", actor="bob").changed
    assert app.webhooks.show("billing").disabled_because == "operator"
    assert app.webhooks.enable("billing", actor="bob").changed
    assert not app.webhooks.enable("billing", actor="bob").changed
    assert app.webhooks.remove("billing", actor="ada").after == {}
    assert app.webhooks.list() == [] == app.store.rules([WEBHOOK, SIGNING])
    lines = app.store.actions(None, 50)
    assert [(line.actor, line.detail["name"]) for line in lines] == [
        (who, "billing") for who in ("ada", "bob", "bob", "bob", "ada")
    ]
    assert lines[-1].detail["reason"] == "asked for"
    assert lines[3].detail["before"]["set"]["max_failures"] == 100
    assert lines[3].detail["after"]["set"]["max_failures"] == 3


def test_no_secret_is_in_the_audit_trail_or_shown_again(app):
    made = app.webhooks.add(URL, id="billing", secret=OWN)
    assert made.secret is None
    again = app.webhooks.rotate("billing", actor="ada")
    seen = repr((app.store.actions(None, 50), app.webhooks.show("billing"), app.store.rules([WEBHOOK])))
    assert OWN not in seen
    assert again.secret not in seen
    assert app.store.actions(None, 50)[0].actor == "ada"
    ((new, _), (old, until)) = app.store.rules([SIGNING])[0].value["secrets"]
    assert (new, old, until) == (again.secret, OWN, app.clock.now() + DAY)
    assert app.webhooks.show("billing").older_until is not None
    app.clock.advance("23h")
    app.webhooks.rotate("billing", keep="1m")
    assert [until and until - app.clock.now() for _, until in app.store.rules([SIGNING])[0].value["secrets"]] == [
        None, 60_000, HOUR,
    ]  # fmt: skip
    app.clock.advance("2h")
    assert app.webhooks.show("billing").older_until is None


def test_bad_input_is_refused_and_changes_nothing(app):
    app.webhooks.add(URL, id="billing")
    before = app.store.rules([WEBHOOK, SIGNING])
    for url in ("ftp://x.example.com", "https://u:p@x.example.com", "https://x.example.com/\0", "x" * 3000, 7):
        with pytest.raises(UsageError, match="url"):
            app.webhooks.add(url, id="other")
    for given in ({"events": []}, {"events": ["a b"]}, {"events": ["*.a"]}, {"max_failures": 0}, {"max_failures": 1001},
                  {"max_failures": True}, {"events": [7]}, {"description": 7}):  # fmt: skip
        with pytest.raises(UsageError):
            app.webhooks.update("billing", **given)
    for id in ("", "a b", "x" * 65, "a\0", "../x"):
        with pytest.raises(UsageError, match="id="):
            app.webhooks.add(URL, id=id or "\n")
    for secret in ("hunter2", "$", "$a b"):
        with pytest.raises((UsageError, ConfigError)) as caught:
            app.webhooks.add(URL, id="other", secret=secret)
        assert "hunter2" not in str(caught.value)
    with pytest.raises(Conflict, match="already"):
        app.webhooks.add(URL, id="billing")
    with pytest.raises(NotFound, match='did you mean "billing"'):
        app.webhooks.show("biling")
    for dry in (app.webhooks.add(URL, id="new", dry_run=True).change, app.webhooks.remove("billing", dry_run=True),
                app.webhooks.rotate("billing", dry_run=True).change, app.webhooks.disable("billing", dry_run=True)):  # fmt: skip
        assert dry.changed
    assert app.store.rules([WEBHOOK, SIGNING]) == before


def test_a_change_of_an_endpoint_that_is_removed_at_the_same_time_leaves_nothing(app, monkeypatch):
    app.webhooks.add(URL, id="billing")
    stale = app.webhooks._rule("billing")
    app.webhooks.remove("billing")
    monkeypatch.setattr(Webhooks, "_rule", lambda *_: stale)
    for change in (lambda: app.webhooks.update("billing", max_failures=3), lambda: app.webhooks.disable("billing")):
        with pytest.raises(NotFound, match="removed meanwhile"):
            change()
    assert app.store.rules([WEBHOOK, SIGNING]) == []


# deliveries -----------------------------------------------------------------------------------------------------------
def test_a_delivery_is_recorded_once(app):
    app.webhooks.add(URL, id="billing")
    for _ in range(2):  # the reply of the store was lost
        assert app.store.record_delivery(delivery(1), app.clock.now()) is None
        app.clock.advance("1s")
    fail(app, 2, 2)
    first, second = app.webhooks.deliveries("billing")
    assert (first.job, first.status, first.error, first.answer) == ("job2", 503, "replied 503", "thanks")
    assert (second.job, second.status, second.error, second.ms) == ("job1", 200, None, 12)
    assert (first.at - second.at).total_seconds() == 2
    assert len(app.webhooks.deliveries("billing", 1)) == 1
    found = app.webhooks.show("billing")
    assert (found.succeeded, found.failed, found.failures, found.average_ms) == (1, 1, 1, 12)
    assert found.last_delivered_at == second.at


def test_the_failure_that_reaches_the_limit_disables_the_endpoint(app):
    app.webhooks.add(URL, id="billing", max_failures=3)
    app.store.record_delivery(delivery(0), app.clock.now())
    assert fail(app, 1, 1, 2) == [None, None, None]
    assert fail(app, 3) == ["max_failures_exceeded"]
    assert fail(app, 4) == [None]  # it is disabled already
    found = app.webhooks.show("billing")
    assert (found.enabled, found.disabled_because, found.failures) == (False, "max_failures_exceeded", 4)
    line = app.store.actions(None, 1)[0]
    assert (line.actor, line.detail["after"]["set"]["enabled"]) == ("mainstay", False)
    app.clock.advance("1s")
    app.webhooks.enable("billing")
    assert app.webhooks.show("billing").failures == 0
    app.clock.advance("1s")
    assert fail(app, 5, 6) == [None, None]
    assert fail(app, 7) == ["max_failures_exceeded"]


def test_failures_count_for_a_day(app):
    app.webhooks.add(URL, id="billing", max_failures=3)
    fail(app, 1, 2)
    app.clock.advance("23h")
    assert fail(app, 3, status=None) == ["max_failures_exceeded"]
    app.clock.advance("1s")
    app.webhooks.enable("billing")
    app.clock.advance("1s")
    fail(app, 4, 5)
    app.clock.advance("24h1s")
    assert fail(app, 6, 7) == [None, None]


def test_a_receiver_that_is_gone_disables_its_endpoint_at_once(app):
    app.webhooks.add(URL, id="billing")
    assert fail(app, 1, status=410) == ["gone"]
    assert app.webhooks.show("billing").disabled_because == "gone"


def test_a_delivery_to_an_endpoint_that_was_removed_is_recorded(app):
    assert fail(app, 1) == [None]
    assert len(app.webhooks.deliveries("billing")) == 1
    with pytest.raises(NotFound):
        app.webhooks.deliveries("other")


def test_one_of_many_that_fail_at_once_disables_the_endpoint(app, store, another):
    app.webhooks.add(URL, id="billing", max_failures=20)
    found, begin = [], threading.Barrier(4)

    def work(which, numbers):
        begin.wait()
        found.extend(fail(app, *numbers, store=which))

    threads = [
        threading.Thread(target=work, args=(which, range(start, start + 6)))
        for which, start in ((store, 0), (another, 6), (store, 12), (another, 18))
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (len(found), found.count("max_failures_exceeded")) == (24, 1)
    assert app.webhooks.show("billing").failures == 24


def test_a_change_by_an_operator_and_a_failure_at_once_are_both_kept(app, store, another):
    app.webhooks.add(URL, id="billing", max_failures=1)
    begin = threading.Barrier(2)

    def change():
        begin.wait()
        Mainstay(store=another, clock=app.clock).webhooks.update("billing", description="new")

    thread = threading.Thread(target=change)
    thread.start()
    begin.wait()
    assert fail(app, 1) == ["max_failures_exceeded"]
    thread.join()
    found = app.webhooks.show("billing")
    assert (found.enabled, found.description) == (False, "new")


def test_deliveries_are_bounded_in_number(app, monkeypatch):
    monkeypatch.setattr(core, "KEPT", 5)
    app.webhooks.add(URL, id="billing")
    for n in range(12):
        app.store.record_delivery(delivery(n), app.clock.now())
        app.clock.advance("1s")
    app.store.record_delivery(delivery(99, endpoint="other"), app.clock.now())
    assert [each.job for each in app.store.deliveries("billing", 50)] == [f"job{n}" for n in (11, 10, 9, 8, 7)]
    assert len(app.store.deliveries("other", 50)) == 1


def test_failures_of_the_last_day_count_though_many_came_after_them(app, monkeypatch):
    monkeypatch.setattr(core, "KEPT", 5)
    app.webhooks.add(URL, id="billing", max_failures=3)
    fail(app, 1, 2)
    for n in range(10, 30):
        app.clock.advance("1s")
        app.store.record_delivery(delivery(n), app.clock.now())
    assert fail(app, 3) == ["max_failures_exceeded"]


def test_old_deliveries_are_removed_some_at_a_time(app):
    for n in range(5):
        app.store.record_delivery(delivery(n, endpoint=f"hook{n % 2}"), app.clock.now())
    app.clock.advance("2h")
    app.store.record_delivery(delivery(9, endpoint="hook0"), app.clock.now())
    assert app.store.prune_deliveries(app.clock.now(), 3 * HOUR, 100) == 0
    assert app.store.prune_deliveries(app.clock.now(), HOUR, 3) == 3
    assert app.store.prune_deliveries(app.clock.now(), HOUR, 3) == 2
    assert app.store.prune_deliveries(app.clock.now(), HOUR, 3) == 0
    assert [each.job for each in app.store.deliveries("hook0", 9)] == ["job9"]
    assert app.store.deliveries("hook1", 9) == []


# alerts, moving -------------------------------------------------------------------------------------------------------
def test_a_disabled_endpoint_is_an_incident_until_it_is_enabled(app):
    chore, told = Alerts(app), []
    app.events.on("alert", lambda what, alert: told.append((what, alert.name, alert.severity)))

    def look():
        app.clock.advance("1m")
        chore.step(app.clock.now())

    app.webhooks.add(URL, id="billing", max_failures=1)
    app.webhooks.add(URL, id="other")
    app.webhooks.disable("other")
    look()
    assert told == []  # an operator has disabled it
    fail(app, 1)
    look()
    look()
    assert told == [("opened", "webhook:billing", "error")]
    assert "mainstay webhooks enable billing" in app.alerts.open()[0].text
    assert 'mainstay_webhooks{state="max_failures_exceeded"} 1\n' in app.metrics()
    app.webhooks.enable("billing")
    look()
    assert told[1:] == [("recovered", "webhook:billing", "error")]


def test_endpoints_and_deliveries_move(elsewhere, store):
    there = Mainstay(store=elsewhere.store, clock=elsewhere.clock)
    made = there.webhooks.add(URL, "a.*", id="billing", max_failures=3)
    fail(there, 1, 2)
    before = there.webhooks.show("billing"), there.webhooks.deliveries("billing")
    here = Mainstay(store=arrive(elsewhere, store).store, clock=elsewhere.clock)
    assert (here.webhooks.show("billing"), here.webhooks.deliveries("billing")) == before
    assert here.store.rules([SIGNING])[0].value["secrets"] == [[made.secret, None]]
    assert fail(here, 3) == ["max_failures_exceeded"]

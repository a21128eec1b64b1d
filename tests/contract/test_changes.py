"""Two operators who change one rule at once: what both have changed holds, and the audit trail tells it as it was."""

import pytest

from mainstay import Conflict, Limit, Mainstay
from mainstay.control.rules import TRIES
from mainstay.core.job import Rule, RuleChanged
from mainstay.testing.kit import InlineWorker
from tests.contract.ruled import Operator


@pytest.fixture
def app(store, clock):
    made = Mainstay(store=store, clock=clock)
    made.job(name="mail", limit=Limit(running=5))(lambda: None)
    made.job(name="other")(lambda: None)
    InlineWorker(made).drain()  # which registers the types
    return made


@pytest.fixture
def meanwhile(store, monkeypatch):
    """Let another operator act between the moment at which a change was read and that at which it is written."""

    def arrange(act, times=1):
        real, left = store.set_rule, [times]

        def set_rule(*args, **named):
            if left[0]:
                left[0] -= 1
                monkeypatch.setattr(store, "set_rule", real)
                act()
                monkeypatch.setattr(store, "set_rule", set_rule)
            return real(*args, **named)

        monkeypatch.setattr(store, "set_rule", set_rule)

    return arrange


def values(store, kind, name):
    return next(rule.value.get("set", {}) for rule in store.rules([kind]) if rule.name == name)


@pytest.mark.parametrize(
    ("kind", "name", "one", "two", "after"),
    [
        ("type", "mail", {"priority": 5}, {"timeout": "1h"}, {"priority": 5, "timeout": 3_600_000}),
        ("queue", "default", {"max_depth": 9}, {"fair": True}, {"max_depth": 9, "fair": True}),
        ("limit", "mail", {"running": 2}, {"burst": 3}, {"running": 2, "burst": 3}),
    ],
)
def test_changes_of_different_values_at_once_both_hold(app, meanwhile, kind, name, one, two, after):
    change = getattr(app, f"set_{kind}")
    meanwhile(lambda: change(name, **two, actor="bob"))
    made = change(name, **one, actor="ada")
    assert values(app.store, kind, name) == after
    assert set(made.before) == set(two), "it was made after the other one"
    by = next(rule.value["by"] for rule in app.store.rules([kind]) if rule.name == name)
    assert {who for who, _ in by.values()} == {"ada", "bob"}


def test_the_audit_trail_has_what_was_there_before_each_change(app, meanwhile):
    meanwhile(lambda: app.set_type("mail", priority=1, actor="bob"))
    app.set_type("mail", priority=2, actor="ada")
    ada, bob = app.store.actions(None, 9)
    assert (ada.actor, ada.detail["before"]["set"], ada.detail["after"]["set"]) == (
        "ada",
        {"priority": 1},
        {"priority": 2},
    )
    assert (bob.actor, bob.detail["before"], bob.detail["after"]["set"]) == ("bob", None, {"priority": 1})


def test_limits_that_two_operators_give_one_type_at_once_both_hold(app, meanwhile):
    meanwhile(lambda: app.set_limit("other", running=3, key="tenant"))
    app.set_limit("other", running=2)
    assert {spec["name"] for spec in values(app.store, "type", "other")["limits"]} == {"other", "other/tenant"}


def test_the_limit_of_a_queue_is_that_of_the_last_change(app, meanwhile):
    meanwhile(lambda: app.set_queue("default", limit=Limit(running=7)), times=2)
    app.set_queue("default", limit=Limit(running=5))
    assert values(app.store, "queue", "default") == values(app.store, "limit", "queue:default")


def test_a_rule_that_changes_all_the_time_is_given_up(app, meanwhile):
    numbers = iter(range(1_000))
    meanwhile(lambda: app.set_type("mail", priority=next(numbers)), times=TRIES)
    with pytest.raises(Conflict, match="nothing was changed"):
        app.set_type("mail", timeout="1h")
    assert values(app.store, "type", "mail") == {"priority": TRIES - 1}


def test_a_change_based_on_another_value_is_refused(desk):
    operator = Operator(desk)
    operator.set("type", "work", set={"priority": 1})
    (rule,) = desk.store.rules(["type"])
    for was in (None, rule._replace(value={"set": {"priority": 2}})):
        with pytest.raises(RuleChanged):
            desk.store.set_rule(Rule("type", "work", {"set": {}}, "me", desk.now), was=(was,))
    assert desk.store.rules(["type"]) == [rule]
    assert len(desk.store.actions(None, 9)) == 1
    desk.store.set_rule(rule._replace(value={}), remove=True, was=(rule._replace(actor="another"),))
    assert desk.store.rules(["type"]) == []

"""Types, queues, limits, pauses and breakers: as data, and as operators change them."""

import pytest

from mainstay import Breaker, Limit


@pytest.fixture
def shop(app, run):
    """An application with two types, whose declarations are in the store."""

    @app.job(queue="mail", timeout="5m", breaker=Breaker(), limit=Limit(running=5))
    def send(to: str) -> None:
        """Send a letter."""

    @app.job
    def resize(path: str) -> None: ...

    app.queue("mail", max_depth=100)
    with app.worker():  # registers the types
        send.enqueue("ann")
    run()
    return app


def test_types_with_what_they_did(client, shop):
    found = {each["name"]: each for each in client.get("/api/types").json()}
    assert {*found} == {"resize", "send"}
    send = found["send"]
    assert (send["queue"], send["declared"]["timeout"], send["drift"]) == ("mail", 300.0, [])
    assert (send["stats"]["completed"], send["breaker"]["state"], send["description"]) == (
        1,
        "closed",
        "Send a letter.",
    )
    assert found["resize"]["breaker"] is None


def test_one_type_and_its_schedules(client, shop):
    shop.create_schedule("nightly", shop.prepare("send", {"to": "ann"}), cron="@daily")
    found = client.get("/api/types/send").json()
    assert (found["schedules"], found["declarations"]) == (["nightly"], [])
    missing = client.get("/api/types/sned")
    assert (missing.status_code, "send" in missing.json()["detail"]) == (404, True)


def test_values_are_set_with_who_and_reset(client, shop):
    given = {"timeout": "2m", "attempts": 5, "priority": 3, "keep": "30d"}
    change = client.put("/api/types/send", json={"set": given, "reason": "slow"}).json()
    assert change["after"] == {"timeout": 120.0, "attempts": 5, "priority": 3, "keep": 2592000.0}
    found = client.get("/api/types/send").json()
    assert (found["effective"]["timeout"], found["set"]["timeout"]["actor"]) == (120.0, "ann")
    assert "timeout" in found["drift"]
    client.post("/api/types/send/reset", json={"names": ["timeout"]})
    assert "timeout" not in client.get("/api/types/send").json()["set"]
    client.post("/api/types/send/reset", json={})
    assert client.get("/api/types/send").json()["set"] == {}


def test_backoff_and_limits_are_objects(client, shop):
    given = {"backoff": {"base": "2s", "cap": "1h"}, "limit": {"running": 2, "rate": "10/s"}}
    after = client.put("/api/types/resize", json={"set": given}).json()["after"]
    assert after["backoff"].startswith("2000 3600000")
    assert (after["limit"][0]["running"], after["limit"][0]["rate"]) == (2, "10/s")


def test_a_dry_run_changes_nothing(client, shop):
    change = client.put("/api/types/send", json={"set": {"priority": 9}, "dry_run": True}).json()
    assert (change["before"], change["after"]) == ({}, {"priority": 9})
    client.post("/api/types/send/disable", json={"dry_run": True})
    client.post("/api/pause", json={"dry_run": True})
    found = client.get("/api/types/send").json()
    assert (found["set"], found["disabled"], found["paused"]) == ({}, None, [])
    assert client.get("/api/audit").json()["lines"] == []


@pytest.mark.parametrize(
    "values",
    [
        {}, {"timeuot": "2m"}, {"reason": "x"}, {"attempts": 0}, {"timeout": "soon"}, {"limit": 5}, {"limit": {"runnig": 1}},
        {"backoff": {"base": "x"}}, {"queue": "nowhere"}, {"backoff": [1]},
    ],
)  # fmt: skip
def test_values_that_a_type_cannot_have(client, shop, values):
    found = client.put("/api/types/send", json={"set": values})
    assert found.status_code == 422, found.json()
    assert client.get("/api/types/send").json()["set"] == {}


def test_a_type_is_disabled_and_enabled(client, shop):
    client.post("/api/types/send/disable", json={"reason": "gateway is gone"})
    assert client.get("/api/types/send").json()["disabled"]["value"] == "gateway is gone"
    client.post("/api/types/send/enable", json={})
    assert client.get("/api/types/send").json()["disabled"] is None


def test_a_breaker_is_opened_and_closed(client, shop):
    opened = client.post("/api/types/send/breaker/open", json={"rest": "10m", "reason": "429"}).json()
    assert opened["after"]["rest"] == 600.0
    assert client.get("/api/types/send").json()["breaker"]["state"] == "open"
    assert client.get("/api/overview").json()["types"][1]["breaker"] == "open"
    client.post("/api/types/send/breaker/close", json={})
    assert client.get("/api/types/send").json()["breaker"]["state"] == "closed"
    assert client.post("/api/types/resize/breaker/open", json={}).status_code == 422  # it declares none


def test_pauses(client, shop):
    client.post("/api/pause", json={"reason": "release"})
    client.post("/api/types/send/pause", json={})
    client.post("/api/queues/mail/pause", json={})
    assert {(each["of"], each["name"]) for each in client.get("/api/pauses").json()} == {
        ("all", ""), ("type", "send"), ("queue", "mail"),
    }  # fmt: skip
    for path in ("/api/resume", "/api/types/send/resume", "/api/queues/mail/resume"):
        assert client.post(path, json={}).json()["after"] is None
    assert client.get("/api/pauses").json() == []


def test_queues(client, shop):
    shop.enqueue("send", {"to": "bob"})
    found = {each["name"]: each for each in client.get("/api/queues").json()}
    assert (found["mail"]["depth"], found["mail"]["effective"]["max_depth"]) == (1, 100)
    given = {"max_depth": 7, "when_full": "shed", "below": 3, "limit": {"running": 2}}
    after = client.put("/api/queues/mail", json={"set": given}).json()["after"]
    assert after == {"max_depth": 7, "when_full": "shed", "below": 3, "running": 2}
    client.put("/api/queues/mail", json={"set": {"limit": None}})
    client.post("/api/queues/mail/reset", json={"names": ["max_depth"]})
    assert client.get("/api/queues").json()[1]["effective"]["max_depth"] == 100
    assert client.put("/api/queues/mail", json={"set": {"deep": 1}}).status_code == 422


def test_limits(client, shop):
    assert [(each["name"], each["effective"]) for each in client.get("/api/limits").json()] == [
        ("send", {"running": 5})
    ]
    change = client.put("/api/limits/send", json={"set": {"running": 2, "rate": "3/m"}}).json()
    assert change["after"] == {"running": 2, "rate": "3/m"}
    client.put("/api/limits/resize", json={"set": {"running": 1, "key": "tenant"}})
    client.put("/api/limits/queue:mail", json={"set": {"running": 9}})
    assert {"send", "resize/tenant", "queue:mail"} <= {each["name"] for each in client.get("/api/limits").json()}
    client.post("/api/limits/resize/tenant/reset", json={})
    client.post("/api/limits/send/reset", json={})
    assert client.get("/api/limits").json()[-1]["effective"] == {"running": 5}
    assert client.put("/api/limits/send", json={"set": {"runing": 2}}).status_code == 422


UNKNOWN = [
    ("PUT", "/api/types/sned", {"set": {"priority": 1}}), ("POST", "/api/types/sned/reset", {}), ("POST", "/api/types/sned/disable", {}),
    ("POST", "/api/types/sned/enable", {}), ("POST", "/api/types/sned/pause", {}), ("POST", "/api/types/sned/resume", {}),
    ("POST", "/api/types/sned/breaker/open", {}), ("POST", "/api/types/sned/breaker/close", {}),
    ("PUT", "/api/queues/mali", {"set": {"max_depth": 1}}), ("POST", "/api/queues/mali/reset", {}), ("POST", "/api/queues/mali/pause", {}),
    ("POST", "/api/queues/mali/resume", {}), ("PUT", "/api/limits/sned", {"set": {"running": 1}}), ("POST", "/api/limits/sned/reset", {}),
    ("PUT", "/api/limits/queue:mali", {"set": {"running": 1}}),
]  # fmt: skip


def test_a_name_that_nothing_has_is_not_found_and_nothing_changes(client, shop):
    for method, path, body in UNKNOWN:
        found = client.request(method, path, json=body)
        assert (found.status_code, "did you mean" in found.json()["detail"]) == (404, True), (path, found.json())
    assert client.get("/api/audit").json()["lines"] == []


def test_operators_pause_and_admins_set(site, shop):
    operator = site("operator")
    assert operator.post("/api/types/send/pause", json={}).status_code == 200
    assert operator.post("/api/types/send/breaker/open", json={}).status_code == 200
    assert operator.put("/api/types/send", json={"set": {"priority": 1}}).status_code == 403
    assert operator.post("/api/types/send/disable", json={}).status_code == 403
    assert site("viewer").post("/api/pause", json={}).status_code == 403

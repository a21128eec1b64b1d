"""Subscriptions, events and incoming webhooks over HTTP, on every engine."""

import logging

import pytest
from standardwebhooks import Webhook
from starlette.testclient import TestClient

from mainstay import Mainstay
from mainstay.control.incoming import REFUSED
from mainstay.stores import open_store
from mainstay.web.roles import Access
from tests.servers.engines import ONE_OF_EACH

pytestmark = pytest.mark.engines(*ONE_OF_EACH)


@pytest.fixture
def app(engine_url):
    with open_store(engine_url) as store:
        app = Mainstay(store=store)

        @app.job
        def book(invoice: int) -> None:
            """Book an invoice."""

        yield app


@pytest.fixture
def client(app):
    return TestClient(app.dashboard(access=lambda _: Access("admin", "ada")))


@pytest.fixture
def outside(app):
    """A client without a log-in."""
    return TestClient(app.dashboard())


def subscribe(client, name="ledger", **given):
    body = {"event": "invoice.*", "type": "book", "args": {"invoice": "$.data.id"}, **given}
    return client.put(f"/api/subscriptions/{name}", json=body)


def message(secret, body='{"data": {"id": 7}, "type": "invoice.paid"}', id="msg_1"):
    from datetime import UTC, datetime

    now = datetime.now(UTC)
    made = Webhook(secret).sign(id, now, body)
    headers = {"webhook-id": id, "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": made}
    return {"content": body, "headers": headers | {"Content-Type": "application/json"}}


def test_subscriptions_are_set_listed_and_removed(client, app):
    reply = subscribe(client, options={"queue": "money", "key": "i-{data.id}"}, reason="asked for")
    assert (reply.status_code, reply.json()["before"], reply.json()["after"]["event"]) == (200, {}, "invoice.*")
    (found,) = client.get("/api/subscriptions").json()
    assert {name: found[name] for name in ("name", "event", "type", "args", "options", "enabled")} == {
        "name": "ledger", "event": "invoice.*", "type": "book", "args": {"invoice": "$.data.id"},
        "options": {"queue": "money", "key": "i-{data.id}"}, "enabled": True,
    }  # fmt: skip
    assert subscribe(client, enabled=False).json()["after"]["enabled"] is False
    assert subscribe(client, dry_run=True).json()["after"]["enabled"] is True
    assert client.post("/api/events/invoice.paid", json={"data": {"id": 7}}).json() == {"jobs": []}
    assert client.request("DELETE", "/api/subscriptions/ledger", json={}).json()["after"] == {}
    assert client.get("/api/subscriptions").json() == []
    assert {line.actor for line in app.store.actions(None, 9)} == {"ada"}


@pytest.mark.parametrize(
    "wrong",
    [{"type": "bok"}, {"event": "a b"}, {"args": {"a": "$.x"}}, {"args": 7}, {"options": {"actor": "eve"}}, {"options": {"dry_run": True}},
     {"options": {"replace": True}}, {"options": {"priority": "high"}}, {"colour": 1}],
)  # fmt: skip
def test_a_wrong_subscription_is_refused(client, app, wrong):
    reply = subscribe(client, **wrong)
    assert (reply.status_code, bool(reply.json()["detail"])) == (422, True)
    assert app.subscriptions.list() == []


@pytest.mark.parametrize("kind", ["subscriptions", "incoming"])
def test_what_creates_jobs_is_disabled_and_enabled_as_it_is(client, app, kind):
    """Nothing else of it changes: not even what a reply hides."""
    given = {"event": "invoice.*"} if kind == "subscriptions" else {}
    client.put(f"/api/{kind}/ledger", json={"type": "book", "args": {"invoice": 7, "password": "hunter2"}, **given})
    verbs = getattr(app, kind)
    before = verbs.show("ledger")
    assert client.post(f"/api/{kind}/ledger/disable", json={"reason": "asked", "dry_run": True}).status_code == 200
    assert verbs.show("ledger") == before
    reply = client.post(f"/api/{kind}/ledger/disable", json={"reason": "asked"}).json()
    assert (reply["before"]["enabled"], reply["after"]["enabled"]) == (True, False)
    assert verbs.show("ledger") == before._replace(enabled=False, updated_at=verbs.show("ledger").updated_at)
    assert client.post(f"/api/{kind}/ledger/enable", json={}).json()["after"]["enabled"] is True
    assert verbs.show("ledger").args == before.args
    assert app.store.actions(None, 1)[0].actor == "ada"
    assert client.post(f"/api/{kind}/nothing/enable", json={}).status_code == 404


def test_an_event_is_published(client, app):
    subscribe(client)
    reply = client.post("/api/events/invoice.paid", json={"data": {"id": 7}, "key": "k"})
    (job,) = reply.json()["jobs"]
    assert (reply.status_code, job["subscription"], job["created"]) == (201, "ledger", True)
    assert app.get(job["id"]).args == {"invoice": 7}
    again = client.post("/api/events/invoice.paid", json={"data": {"id": 7}, "key": "k"}).json()["jobs"]
    assert again == [job | {"created": False}]
    missing = client.post("/api/events/invoice.paid", json={"data": {}})
    assert (missing.status_code, missing.json()["code"], "data.id" in missing.json()["detail"]) == (
        422,
        "invalid_payload",
        True,
    )
    assert client.post("/api/events/a%20b", json={}).status_code == 422


def test_a_site_that_creates_nothing_publishes_nothing(app):
    client = TestClient(app.dashboard(access=lambda _: "admin", creation="off"))
    for path in ("/api/events/a.b", "/api/hooks/shop"):
        reply = client.post(path, json={})
        assert (reply.status_code, reply.json()["code"]) == (403, "creation_off")


def test_an_open_site_lets_nobody_publish_events(app):
    assert TestClient(app.dashboard(creation="open")).post("/api/events/a.b", json={}).status_code == 401


def test_a_receiver_is_set_and_its_secret_shown_once(client, app):
    reply = client.put("/api/incoming/shop", json={"type": "book", "args": {"invoice": "$.data.data.id"}}).json()
    assert reply["secret"].startswith("whsec_")
    assert reply["url"] == "http://testserver/api/hooks/shop"
    listed = client.get("/api/incoming")
    (found,) = listed.json()
    assert (found["name"], found["type"], found["scheme"], found["url"], found["tolerance"]) == (
        "shop",
        "book",
        "standard",
        reply["url"],
        300.0,
    )
    assert reply["secret"] not in listed.text
    again = client.put("/api/incoming/shop", json={"event": "shop.{data.type}", "data": "data"}).json()
    assert (again["secret"], again["after"]["event"]) == (None, "shop.{data.type}")
    assert client.request("DELETE", "/api/incoming/shop", json={}).status_code == 200
    assert client.get("/api/incoming").json() == []
    for wrong in (
        {},
        {"event": "a.b", "type": "book"},
        {"event": "a.b", "scheme": "x"},
        {"type": "book", "options": {"name": "x"}},
        {"event": "a.b", "secret": "x"},
    ):
        assert client.put("/api/incoming/shop", json=wrong).status_code == 422


def test_a_receiver_gets_a_new_secret(client):
    first = client.put("/api/incoming/shop", json={"type": "book"}).json()["secret"]
    second = client.post("/api/incoming/shop/rotate", json={"keep": "1h"}).json()
    assert second["secret"] not in (first, None)
    assert second["url"].endswith("/api/hooks/shop")
    assert client.post("/api/incoming/nothing/rotate", json={}).status_code == 404


def test_a_message_creates_a_job_once_without_a_log_in(client, outside, app):
    secret = client.put("/api/incoming/shop", json={"type": "book", "args": {"invoice": "$.data.data.id"}}).json()[
        "secret"
    ]
    reply = outside.post("/api/hooks/shop", **message(secret))
    (job,) = reply.json()["jobs"]
    assert (reply.status_code, job["created"], app.get(job["id"]).args) == (202, True, {"invoice": 7})
    assert outside.post("/api/hooks/shop", **message(secret)).json()["jobs"] == [job | {"created": False}]


def test_a_message_publishes_an_event(client, outside, app):
    subscribe(client)
    secret = client.put("/api/incoming/shop", json={"event": "{data.type}", "data": "data"}).json()["secret"]
    (job,) = outside.post("/api/hooks/shop", **message(secret)).json()["jobs"]
    assert (job["subscription"], app.get(job["id"]).args) == ("ledger", {"invoice": 7})


def test_a_sender_does_not_learn_whether_there_is_a_receiver(client, outside, app):
    secret = client.put("/api/incoming/shop", json={"type": "book"}).json()["secret"]
    client.put("/api/incoming/off", json={"type": "book", "enabled": False})
    wrong = message(secret) | {"content": b"{}"}
    replies = [
        outside.post(f"/api/hooks/{name}", **given)
        for name, given in (("shop", wrong), ("none", wrong), ("off", message(secret)), ("a%20b", wrong))
    ]
    assert {reply.status_code for reply in replies} == {401}
    assert {reply.json()["detail"] for reply in replies} == {REFUSED}
    assert len({(tuple(reply.headers), reply.text) for reply in replies}) == 1
    assert app.list() == []


def test_a_message_is_bounded(outside, app):
    reply = outside.post("/api/hooks/shop", content=b"x" * (app.max_payload + 100_000))
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")


def test_a_verified_message_that_does_not_fit_is_told_what_is_wrong(client, outside, caplog):
    secret = client.put("/api/incoming/shop", json={"type": "book", "args": {"invoice": "$.data.number"}}).json()[
        "secret"
    ]
    for body in ("{}", "[]", "nothing"):
        reply = outside.post("/api/hooks/shop", **message(secret, body))
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid_payload")
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]

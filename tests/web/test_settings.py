"""Settings, alerts and webhooks over HTTP."""

import pytest


def test_settings_are_set_listed_and_removed(client):
    made = client.put("/api/worker/config", json={"name": "batch", "value": {"size": 5}, "description": "Rows"}).json()
    assert (made["before"], made["after"]) == (None, {"name": "batch", "value": {"size": 5}})
    (found,) = client.get("/api/worker/config").json()
    assert (found["name"], found["value"], found["description"]) == ("batch", {"size": 5}, "Rows")
    client.put("/api/worker/config", json={"name": "batch", "value": 6, "dry_run": True})
    assert client.get("/api/settings").json()["settings"][0]["value"] == {"size": 5}
    client.delete("/api/worker/config/batch?dry_run=true")
    assert len(client.get("/api/worker/config").json()) == 1
    client.delete("/api/worker/config/batch")
    assert client.get("/api/worker/config").json() == []
    assert client.delete("/api/worker/config/batch").status_code == 404


def test_the_page_of_settings(client, app):
    app.set_setting("health.oldest", "2h")
    found = client.get("/api/settings").json()
    assert found["health"]["health.oldest"] == 7_200_000
    assert found["redaction"] == {"on": True, "redact": [], "redact_patterns": ["default"]}
    assert found["retention"] == {"audit_keep": "365d", "stats_keep": "30d", "archive": None}
    assert {"engine", "schema"} <= {*found["store"]}


def test_secrets_are_never_shown(client):
    hidden = "correct horse battery"
    made = client.put("/api/worker/config", json={"name": "smtp_password", "value": hidden})
    again = client.put("/api/worker/config", json={"name": "smtp_password", "value": {"a": hidden}})
    gone = client.delete("/api/worker/config/smtp_password")
    client.put("/api/worker/config", json={"name": "smtp_password", "value": hidden})
    for reply in (
        made,
        again,
        gone,
        client.get("/api/worker/config"),
        client.get("/api/settings"),
        client.get("/api/audit"),
    ):
        assert "smtp_password" in reply.text
        assert hidden not in reply.text


@pytest.mark.engines("memory")
@pytest.mark.parametrize(
    "body",
    [{"name": "a"}, {"name": "", "value": 1}, {"name": "a", "value": None}, {"name": "health.oldset", "value": 1}],
)
def test_settings_that_cannot_be(client, body):
    assert client.put("/api/worker/config", json=body).status_code == 422


def test_alerts(client, app):
    app.alerts.send_to("ops", kind="slack", url="https://hooks.slack.com/services/x")
    found = client.get("/api/alerts").json()
    assert (found["open"], found["history"], found["channels"]) == ([], [], ["ops"])
    rule = found["rules"][0]["name"]
    change = client.put(f"/api/alerts/{rule}", json={"enabled": False, "severity": "high"}).json()
    assert change["after"] == {"enabled": False, "severity": "high"}
    client.post(f"/api/alerts/{rule}/silence", json={"for": "2h", "reason": "known"})
    now = client.get("/api/alerts").json()["rules"][0]
    assert (now["enabled"], now["severity"], now["set"]["enabled"]["actor"]) == (False, "high", "ann")
    assert now["silenced_until"] is not None
    client.post(f"/api/alerts/{rule}/reset", json={})
    assert client.get("/api/alerts").json()["rules"][0] == found["rules"][0]


def test_alerts_that_are_not_there(client):
    name = client.get("/api/alerts").json()["rules"][0]["name"]
    for method, path in (("PUT", ""), ("POST", "/silence"), ("POST", "/reset")):
        body = {"enabled": True} if method == "PUT" else {"for": "1h"} if path == "/silence" else {}
        found = client.request(method, f"/api/alerts/{name}x{path}", json=body)
        assert (found.status_code, name in found.json()["detail"]) == (404, True), found.json()
    assert client.put(f"/api/alerts/{name}", json={}).status_code == 422
    assert client.put(f"/api/alerts/{name}", json={"severity": "loud"}).status_code == 422


def test_webhooks_and_their_deliveries(client, app):
    made = app.webhooks.add("https://example.com/hook", "invoice.*")
    (found,) = client.get("/api/webhooks").json()
    assert (found["id"], found["events"]) == (made.id, ["invoice.*"])
    assert made.secret not in client.get("/api/webhooks").text
    assert client.get(f"/api/webhooks/{made.id}/deliveries").json() == []
    assert client.get("/api/webhooks/nope/deliveries").status_code == 404
    assert client.get(f"/api/webhooks/{made.id}/deliveries?limit=1000").status_code == 422


def test_a_webhook_is_added_changed_rotated_disabled_and_removed(client, app):
    reply = client.post(
        "/api/webhooks", json={"url": "https://example.com/hook", "events": ["order.*"], "id": "ledger"}
    )
    secret = reply.json()["secret"]
    assert (reply.status_code, reply.json()["name"], secret[:6]) == (201, "ledger", "whsec_")
    assert client.post("/api/webhooks", json={"url": "https://example.com/x", "id": "ledger"}).status_code == 409
    assert client.post("/api/webhooks", json={"url": "no address"}).status_code == 422
    assert client.patch("/api/webhooks/ledger", json={"events": ["*"]}).json()["after"]["events"] == ["*"]
    rotated = client.post("/api/webhooks/ledger/rotate", json={"keep": "1h"}).json()
    assert rotated["secret"].startswith("whsec_")
    assert rotated["secret"] != secret
    assert (
        client.post("/api/webhooks/ledger/disable", json={"reason": "it is away"}).json()["after"]["enabled"] is False
    )
    assert not app.webhooks.show("ledger").enabled
    assert client.post("/api/webhooks/ledger/enable", json={}).json()["after"]["enabled"] is True
    assert client.request("DELETE", "/api/webhooks/ledger", json={"dry_run": True}).status_code == 200
    assert [each.id for each in app.webhooks.list()] == ["ledger"]
    assert client.request("DELETE", "/api/webhooks/ledger", json={}).status_code == 200
    assert app.webhooks.list() == []
    assert client.post("/api/webhooks/ledger/enable", json={}).status_code == 404

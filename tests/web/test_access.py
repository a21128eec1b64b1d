"""Who may use the HTTP API: tokens, sessions, tenants, and what the host application says; on every engine."""

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from mainstay import Mainstay
from mainstay.core.clock import ManualClock
from mainstay.core.errors import ConfigError
from mainstay.stores import open_store
from mainstay.web.asgi import application
from mainstay.web.roles import Access
from mainstay.web.site import Site
from tests.servers.engines import ONE_OF_EACH

pytestmark = pytest.mark.engines(*ONE_OF_EACH)
COOKIE = "mainstay_session"
OWN, OTHER = {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "cross-site"}


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def app(engine_url, clock):
    with open_store(engine_url, clock) as store:
        yield Mainstay(store=store, clock=clock)


@pytest.fixture
def client(app):
    return TestClient(app.dashboard(name="shop", environment="production", accent="teal"))


def bearer(token):
    return {"Authorization": f"Bearer {token.text}"}


def log_in(client, token):
    return client.post("/api/session", json={"token": token.text}, headers=OWN)


# tokens ---------------------------------------------------------------------------------------------------------------
def test_nobody_is_let_in_without_a_token(client, app):
    reply = client.get("/api/types")
    assert (reply.status_code, reply.json()["code"], reply.headers["www-authenticate"]) == (
        401,
        "unauthenticated",
        "Bearer",
    )
    assert "mainstay token create" in reply.json()["detail"]
    wrong = ["Bearer", "Bearer x", "Basic YTpi", "Bearer mst_0123456789_" + "0" * 64, "Bearer " + "x" * 100_000, ""]
    assert {client.get("/api/types", headers={"Authorization": each}).status_code for each in wrong} == {401}


def test_a_token_lets_its_bearer_do_what_its_role_permits(client, app):
    viewer, admin = app.tokens.create("ada"), app.tokens.create("bob", "admin")
    assert client.get("/api/types", headers=bearer(viewer)).status_code == 200
    reply = client.get("/api/tokens", headers=bearer(viewer))
    assert (reply.status_code, reply.json()["code"]) == (403, "not_allowed")
    assert "you are viewer" in reply.json()["detail"]
    assert client.get("/api/tokens", headers={"Authorization": f"bEaReR {admin.text}"}).status_code == 200
    assert client.get("/api/tokens", headers=bearer(admin) | OTHER).status_code == 200  # a page cannot send this header


def test_a_revoked_or_expired_token_is_refused_at_once(client, app, clock):
    revoked, expired = app.tokens.create("ada"), app.tokens.create("bob", expires="1h")
    assert client.get("/api/types", headers=bearer(revoked)).status_code == 200
    app.tokens.revoke(revoked.id)
    assert client.get("/api/types", headers=bearer(revoked)).status_code == 401
    clock.advance("1h")
    assert client.get("/api/types", headers=bearer(expired)).status_code == 401


def test_tokens_are_made_listed_and_revoked(client, app):
    admin = bearer(app.tokens.create("root", "admin"))
    reply = client.post(
        "/api/tokens", json={"name": "ada", "role": "operator", "tenant": "acme", "expires": "1d"}, headers=admin
    )
    made = reply.json()
    assert (reply.status_code, made["name"], made["role"], made["tenant"], made["created_by"]) == (
        201,
        "ada",
        "operator",
        "acme",
        "root",
    )
    assert app.tokens.find(made["token"]).id == made["id"]
    listed = client.get("/api/tokens", headers=admin)
    assert [each["name"] for each in listed.json()] == ["ada", "root"]
    assert made["token"] not in listed.text
    assert "mst_" not in listed.text
    assert (
        client.request("DELETE", f"/api/tokens/{made['id']}", json={"dry_run": True}, headers=admin).status_code == 200
    )
    gone = client.request("DELETE", f"/api/tokens/{made['id']}", json={"reason": "lost"}, headers=admin)
    assert (gone.status_code, gone.json()["kind"], gone.json()["before"]["name"]) == (200, "token", "ada")
    assert client.get("/api/session", headers={"Authorization": f"Bearer {made['token']}"}).status_code == 401
    assert client.request("DELETE", f"/api/tokens/{made['id']}", headers=admin).status_code == 404
    assert [line.actor for line in app.store.actions(None, 9)] == ["root", "root", "python"]
    assert made["token"].split("_")[2] not in repr(app.store.actions(None, 9))
    assert client.post("/api/tokens", json={"name": "x", "role": "god"}, headers=admin).status_code == 422
    assert client.post("/api/tokens", json={"name": "x", "roll": "god"}, headers=admin).status_code == 422


# sessions -------------------------------------------------------------------------------------------------------------
def test_log_in_exchanges_a_token_for_a_session(client, app):
    assert client.get("/api/session").status_code == 401
    token = app.tokens.create("ada", "operator")
    reply = log_in(client, token)
    assert (reply.status_code, reply.json()["authentication"], reply.json()["actor"]) == (200, "session", "ada")
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "SameSite=lax"} <= set(cookie.split("; "))
    assert not any(part in cookie.lower() for part in ("path=", "domain=", "secure", "max-age", token.text))
    assert client.get("/api/session").json()["role"] == "operator"
    assert client.delete("/api/session", headers=OWN).status_code == 204
    assert client.get("/api/session").status_code == 401
    assert app.store.rules(["session"]) == []


def test_a_closed_session_cannot_be_used_again(client, app):
    log_in(client, app.tokens.create("ada"))
    stolen = client.cookies[COOKIE]
    client.delete("/api/session", headers=OWN)
    assert client.get("/api/types", headers={"Cookie": f"{COOKIE}={stolen}"}).status_code == 401


def test_the_cookie_is_secure_on_https(app):
    client = TestClient(app.dashboard(), base_url="https://jobs.example.com")
    assert "; Secure" in log_in(client, app.tokens.create("ada")).headers["set-cookie"]


def test_the_cookie_holds_below_a_mount_and_nowhere_else(app):
    client = TestClient(Starlette(routes=[Mount("/ops/jobs", app.dashboard())]))
    assert client.post("/ops/jobs/api/session", json={"token": app.tokens.create("ada").text}).status_code == 200
    (cookie,) = client.cookies.jar
    assert (cookie.path, cookie.path_specified) == ("/ops/jobs/api", False)
    assert client.get("/ops/jobs/api/types").status_code == 200


def test_a_session_dies_with_its_token(client, app):
    token = app.tokens.create("ada")
    log_in(client, token)
    app.tokens.revoke(token.id)
    assert client.get("/api/types").status_code == 401


def test_a_wrong_token_does_not_log_in_and_is_not_repeated(client, app):
    reply = client.post("/api/session", json={"token": "mst_0123456789_" + "5" * 64}, headers=OWN)
    assert (reply.status_code, reply.json()["code"], "555" in reply.text) == (401, "unauthenticated", False)
    assert "set-cookie" not in reply.headers
    for body in ({}, {"token": 7}, {"token": None}, []):
        assert client.post("/api/session", json=body, headers=OWN).status_code == 422


def test_a_token_wins_over_a_session(client, app):
    log_in(client, app.tokens.create("ada", "admin"))
    viewer = app.tokens.create("bob")
    assert client.get("/api/session", headers=bearer(viewer)).json()["actor"] == "bob"
    assert client.get("/api/types", headers={"Authorization": "Bearer nothing"}).status_code == 401


@pytest.mark.parametrize("text", ["", "x", "é", "x" * 5_000, "'; --", "\\0"])
def test_a_cookie_that_is_no_session_is_nobody(client, text):
    sent = {"Cookie": f"{COOKIE}={text}".encode()}
    assert client.get("/api/types", headers=sent).status_code == 401


def test_the_session_says_which_installation_this_is_and_which_pages_there_are(client, app, engine_url, clock):
    admin = client.get("/api/session", headers=bearer(app.tokens.create("root", "admin"))).json()
    facts = admin["instance"]
    assert (facts["name"], facts["environment"], facts["accent"]) == ("shop", "production", "teal")
    assert (admin["creation"], admin["tenant"], admin["role"], admin["authentication"]) == (
        "authenticated",
        None,
        "admin",
        "token",
    )
    assert facts["url"].partition(":")[0] == app.store.url.partition(":")[0]
    assert facts["engine"] == app.store.diagnostics()["engine"]
    assert facts["time"].endswith("Z")
    assert {"types", "tokens"} <= set(admin["pages"])
    viewer = client.get("/api/session", headers=bearer(app.tokens.create("ada"))).json()
    assert ("types" in viewer["pages"], "tokens" in viewer["pages"]) == (True, False)


# tenants --------------------------------------------------------------------------------------------------------------
def test_a_token_of_a_tenant_gets_nothing_of_the_whole_installation(client, app):
    token = app.tokens.create("ada", "admin", tenant="acme")
    for path in ("/api/types", "/api/tokens", "/api/subscriptions", "/api/incoming"):
        reply = client.get(path, headers=bearer(token))
        assert (reply.status_code, reply.json()["code"]) == (403, "not_allowed")
    found = client.get("/api/session", headers=bearer(token)).json()
    assert (found["tenant"], found["instance"]["url"]) == ("acme", "")
    assert not {"types", "tokens", "settings", "workers", "audit"} & set(found["pages"])
    assert client.post("/api/tokens", json={"name": "more", "role": "admin"}, headers=bearer(token)).status_code == 403
    assert len(app.tokens.list()) == 1


# the host application ---------------------------------------------------------------------------------------------------
def test_the_host_application_decides_by_one_callback(app):
    async def access(request):
        return {"ada": Access("operator", "ada", tenant="acme"), "eve": "viewer"}.get(request.headers.get("x-user"))

    token, client = app.tokens.create("root", "admin"), TestClient(app.dashboard(access=access))
    found = client.get("/api/session", headers={"X-User": "ada"}).json()
    assert (found["actor"], found["tenant"], found["authentication"]) == ("ada", "acme", "host")
    assert client.get("/api/types", headers={"X-User": "eve"}).status_code == 200
    assert client.get("/api/types", headers=bearer(token)).status_code == 401  # it alone decides
    assert client.post("/api/session", json={"token": token.text}).status_code == 409


def test_nobody_is_sent_to_the_log_in_of_the_host_application(app):
    client = TestClient(app.dashboard(access=lambda _: None))
    for path in ("/api/types", "/api/session"):
        reply = client.get(path)
        assert (reply.status_code, reply.json()["code"]) == (401, "hosted")
        assert reply.json()["detail"].endswith("log in there")  # no token would be taken


def test_a_role_that_is_none_is_an_error_of_the_host_application(app, caplog):
    reply = TestClient(app.dashboard(access=lambda _: "root")).get("/api/types")
    assert (reply.status_code, reply.json()["code"]) == (422, "config_error")
    assert "viewer, operator, admin" in caplog.text  # callers learn nothing of it


# options ----------------------------------------------------------------------------------------------------------------
def test_a_dashboard_that_only_shows_lets_people_log_in_and_changes_nothing(app):
    client = TestClient(app.dashboard(read_only=True))
    log_in(client, app.tokens.create("root", "admin"))
    assert client.get("/api/types").status_code == 200
    for path in ("/api/tokens", "/api/events/a.b"):
        reply = client.post(path, json={"name": "x"}, headers=OWN)
        assert (reply.status_code, reply.json()["code"]) == (403, "read_only")
    assert client.post("/api/hooks/x", json={}).json()["code"] == "creation_off"
    assert client.delete("/api/session", headers=OWN).status_code == 204


@pytest.mark.parametrize("wrong", [{"login_rate": "fast"}, {"creation_rate": 7}, {"creation": "on"}, {"colour": "red"}])
def test_a_wrong_option_is_refused_at_the_start(app, wrong):
    with pytest.raises(ConfigError):
        app.dashboard(**wrong)


def test_every_action_is_in_the_audit_trail_under_the_name_of_the_token(client, app):
    app.job(name="book")(lambda invoice: None)
    app.enqueue("book", {"invoice": 1})
    log_in(client, app.tokens.create("ada", "admin"))
    client.put("/api/subscriptions/a", json={"event": "a.b", "type": "book"}, headers=OWN)
    client.put("/api/incoming/b", json={"event": "a.b"}, headers=OWN)
    client.post("/api/tokens", json={"name": "c"}, headers=OWN)
    lines = app.store.actions(None, 9)
    assert [(line.actor, line.detail["kind"]) for line in lines[:3]] == [
        ("ada", "token"),
        ("ada", "webhook_incoming"),
        ("ada", "subscription"),
    ]


def test_a_site_that_is_open_lets_this_machine_in(app):
    client = TestClient(application(Site(app, open=True)), base_url="http://localhost:8000", client=("127.0.0.1", 5))
    found = client.get("/api/session").json()
    assert (found["role"], found["authentication"]) == ("admin", "open")
    assert client.get("/api/types", headers={"Authorization": "Bearer nothing"}).status_code == 401

"""What attackers try: pages of other sites, names that lead to this machine, proxies, guessing, and flooding."""

import ipaddress

import pytest
from hypothesis import given, strategies as st
from starlette.requests import Request
from starlette.testclient import TestClient

from mainstay import Mainstay
from mainstay.core.clock import ManualClock
from mainstay.stores import open_store
from mainstay.web import rate_limits
from mainstay.web.asgi import application
from mainstay.web.origin import is_local
from mainstay.web.rate_limits import RateLimits, client_of
from mainstay.web.site import Site

HOME = "http://127.0.0.1:8000"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def app(clock):
    with open_store("sqlite:///:memory:", clock) as store:
        yield Mainstay(store=store, clock=clock)


@pytest.fixture
def client(app):
    """A client of a site that is open to this machine, from this machine."""
    return local(app)


def local(app, base_url=HOME, address="127.0.0.1"):
    return TestClient(application(Site(app, open=True)), base_url=base_url, client=(address, 50_000))


# a site that is open to this machine --------------------------------------------------------------------------------------
@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:8000", "[::1]:8000", "127.9.9.9"])
def test_this_machine_is_let_in_by_its_own_names(client, host):
    assert client.get("/api/types", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1:8000", "0.0.0.0:8000", "", "[", "[::1", "127.0.0.1@evil.example",
     "evil.example#127.0.0.1", "localhost.", "2130706433", "0x7f.1", "[::ffff:10.0.0.1]", "a" * 5_000],
)  # fmt: skip
def test_a_name_that_was_bound_to_this_machine_is_refused(client, host):
    """DNS rebinding: the page of evil.example resolves its own name to 127.0.0.1, and the browser calls that the same site."""
    reply = client.get("/api/types", headers={"Host": host, "Sec-Fetch-Site": "same-origin"})
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize("address", ["10.0.0.5", "203.0.113.9", "::ffff:203.0.113.9", "fe80::1", "testclient", ""])
def test_another_machine_is_refused(app, address):
    assert local(app, address=address).get("/api/types").status_code == 401


@pytest.mark.parametrize(
    "name", ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via", "CF-Connecting-IP", "True-Client-IP"]
)  # fmt: skip
def test_what_came_through_a_proxy_is_not_of_this_machine(client, name):
    assert client.get("/api/types", headers={name: "127.0.0.1"}).status_code == 401


def test_a_proxy_that_adds_no_header_is_known_by_its_protocol_and_by_the_page():
    def request(version="1.1", **headers):
        given = [(name.encode(), text.encode()) for name, text in {"host": "127.0.0.1:8000", **headers}.items()]
        return Request({"type": "http", "http_version": version, "client": ("127.0.0.1", 5), "headers": given})

    assert is_local(request())
    assert is_local(request(referer=f"{HOME}/"))
    assert not is_local(request("1.0"))  # nginx, as it is installed
    assert not is_local(request(referer="https://jobs.example.com/"))
    assert not is_local(request(origin="https://jobs.example.com"))


def test_a_token_works_where_the_open_door_does_not(app):
    token = app.tokens.create("ada")
    far = local(app, base_url="https://jobs.example.com", address="203.0.113.9")
    assert far.get("/api/types", headers={"Authorization": f"Bearer {token.text}"}).status_code == 200


def test_the_open_door_closes_behind_the_first_token(app, client, clock):
    """Not at once: whoever has made it in the dashboard has to copy it."""
    token = client.post("/api/tokens", json={"name": "ada", "role": "admin"}).json()["token"]
    clock.advance("4m")
    assert client.get("/api/types").status_code == 200
    clock.advance("1m")
    assert client.get("/api/types").status_code == 401
    assert client.get("/healthz").status_code == 200
    assert client.get("/api/types", headers={"Authorization": f"Bearer {token}"}).status_code == 200


# pages of other sites ---------------------------------------------------------------------------------------------------
CROSS = [
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "cross-site", "Origin": HOME}, {"Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "Same-Origin"}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": ""}, {"Origin": "http://127.0.0.1:8001"},
    {"Origin": "http://127.0.0.1"}, {"Origin": "file://"}, {"Origin": "http://["}, {"Origin": "http://127.0.0.1:8000.evil.example"},
]  # fmt: skip


@pytest.mark.parametrize("sent", CROSS, ids=str)
def test_a_page_of_another_site_changes_nothing(app, sent):
    token = app.tokens.create("ada", "admin")
    by_session, open_door = TestClient(app.dashboard(), base_url=HOME), local(app)
    by_session.post("/api/session", json={"token": token.text})
    for client in (by_session, open_door):
        reply = client.post("/api/tokens", json={"name": "eve", "role": "admin"}, headers=sent)
        assert reply.status_code in (401, 403)
        assert reply.json()["code"] in ("cross_site", "unauthenticated")
    assert [each.name for each in app.tokens.list()] == ["ada"]


@pytest.mark.parametrize("sent", CROSS, ids=str)
def test_a_page_of_another_site_logs_nobody_in(app, sent):
    """Log-in forgery: the victim would work under the name of the attacker."""
    token, client = app.tokens.create("eve"), TestClient(app.dashboard(), base_url=HOME)
    reply = client.post("/api/session", json={"token": token.text}, headers=sent)
    assert (reply.status_code, reply.json()["code"]) == (403, "cross_site")
    assert "set-cookie" not in reply.headers


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""]
)
def test_a_form_is_no_json(app, kind):
    """What a form can send without asking first, from a browser that says nothing about its origin."""
    reply = local(app).post("/api/tokens", content=b'{"name": "eve", "role": "admin"}', headers={"Content-Type": kind})
    assert reply.status_code == 415
    assert app.tokens.list() == []


def test_the_own_page_changes_things(app):
    client = local(app)
    for n, sent in enumerate(({"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": HOME}, {})):
        assert client.post("/api/tokens", json={"name": f"t{n}"}, headers=sent).status_code == 201


def test_no_other_site_may_read(client):
    """Without these headers, a browser lets no page of another origin read a reply."""
    reply = client.get("/api/types", headers={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
    assert not [name for name in reply.headers if name.startswith("access-control-")]
    asked = client.options(
        "/api/types", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}
    )
    assert not [name for name in asked.headers if name.startswith("access-control-")]


# guessing and flooding ----------------------------------------------------------------------------------------------------
def guess(client):
    return client.post("/api/session", json={"token": "mst_x"})


def test_guessing_is_slow(app, clock):
    site = app.dashboard()
    one, other = (TestClient(site, client=(f"10.0.0.{n}", 5)) for n in (1, 2))
    assert [guess(one).status_code for _ in range(11)] == [401] * 10 + [429]
    reply = guess(one)
    assert (reply.json()["code"], reply.headers["retry-after"]) == ("rate_limited", "6")
    assert guess(other).status_code == 401
    clock.advance("6s")
    assert [guess(one).status_code for _ in range(2)] == [401, 429]


def test_a_forwarded_header_makes_no_new_client(app):
    client = TestClient(app.dashboard(), client=("10.0.0.1", 5))
    codes = {
        client.post("/api/session", json={"token": "x"}, headers={"X-Forwarded-For": f"10.1.0.{n}"}).status_code
        for n in range(12)
    }
    assert codes == {401, 429}


def test_many_clients_together_are_bounded(app):
    site = application(Site(app))
    codes = [guess(TestClient(site, client=(f"10.0.{n}.1", 5))).status_code for n in range(102)]
    assert codes == [401] * 100 + [429] * 2


def test_who_is_logged_in_goes_on_while_others_guess(app):
    token, site = app.tokens.create("ada"), application(Site(app, options={"login_rate": "1/h"}))
    client = TestClient(site)
    assert client.post("/api/session", json={"token": token.text}).status_code == 200
    assert guess(client).status_code == 429
    assert client.get("/api/types").status_code == 200
    assert client.get("/api/types", headers={"Authorization": f"Bearer {token.text}"}).status_code == 200


def test_each_caller_has_a_rate_of_creation(app):
    ada, bob = (app.tokens.create(name, "operator") for name in ("ada", "bob"))
    client = TestClient(app.dashboard(creation_rate="3/h"))

    def publish(token):
        return client.post("/api/events/a.b", json={}, headers={"Authorization": f"Bearer {token.text}"}).status_code

    assert [publish(ada) for _ in range(4)] == [201, 201, 201, 429]
    assert publish(bob) == 201


def test_messages_from_outside_are_bounded(app):
    client = TestClient(app.dashboard(hook_rate="2/h"))
    assert [client.post("/api/hooks/x", json={}).status_code for _ in range(3)] == [401, 401, 429]


def test_one_client_has_all_addresses_of_its_network():
    def client(host):
        return client_of(Request({"type": "http", "client": (host, 5), "headers": []}))

    assert client("2001:db8::1") == client("2001:db8::ffff:2") == "2001:db8::/64"
    assert client("2001:db8:0:1::1") != client("2001:db8::1")
    assert client("fe80::1%eth0") == "fe80::/64"
    assert client("10.0.0.1") == "10.0.0.1"
    assert client_of(Request({"type": "http", "client": None, "headers": []})) == ""


def test_the_memory_of_the_rates_is_bounded(clock, monkeypatch):
    monkeypatch.setattr(rate_limits, "MOST", 50)
    limits = RateLimits({}, clock)
    for n in range(500):
        limits._charge(("login", f"client 10.0.{n // 250}.{n % 250}"), limits._rates["login_rate"])
        assert len(limits._meters) <= 51
    limits._meters.clear()
    for _ in range(10):
        limits._charge(("login", "client attacker"), limits._rates["login_rate"])
    for n in range(200):
        limits._charge(("login", f"client 10.0.0.{n}"), limits._rates["login_rate"])
    assert ("login", "client attacker") in limits._meters  # whoever has called most is remembered


@given(st.ip_addresses().map(str) | st.text(max_size=20))
def test_any_address_is_some_client(host):
    found = client_of(Request({"type": "http", "client": (host, 5), "headers": []}))
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        assert found == host
    else:
        assert found == host if address.version == 4 else found.endswith("/64")

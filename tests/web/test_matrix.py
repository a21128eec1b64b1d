"""Every operation of the API, called by everybody, from its own page and from that of another site: let in exactly as it declares.

The table of operations is what the server runs, so an operation that is added later is tested here without a word.
"""

import json
import re

import pytest
from starlette.responses import Response
from starlette.testclient import TestClient

from mainstay import Mainstay
from mainstay.stores import open_store
from mainstay.web import asgi
from mainstay.web.operations import operation
from mainstay.web.roles import ADMIN, ANYBODY, CREATOR, OPERATOR, ROLES, VIEWER
from mainstay.web.site import Site

EVERY = {f"{each.method} {each.path}": each for each in asgi.operations()}
RANK = {None: 0, ANYBODY: 0, VIEWER: 1, OPERATOR: 2, CREATOR: 2, ADMIN: 3}
CALLERS = {
    "nobody": (None, None),
    "viewer": (VIEWER, None),
    "operator": (OPERATOR, None),
    "admin": (ADMIN, None),
    "tenant": (OPERATOR, "acme"),
}
BY_TOKEN, BY_SESSION = 0, 1
OWN, OTHER = {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "cross-site"}
OLD = {"Origin": "https://evil.example"}  # of a browser that says nothing more
# Without a role. They show no job and no setting, and say themselves why they refuse: a log-in, a signature.
PUBLIC = {
    "GET /api/session", "POST /api/session", "DELETE /api/session", "GET /api/openapi.json", "POST /api/hooks/{name}", "GET /healthz",
}  # fmt: skip
REFUSALS = {"unauthenticated", "not_allowed", "cross_site"}
RATES = dict.fromkeys(("login_rate", "creation_rate", "anonymous_rate", "hook_rate"), "1000000/s")


@pytest.fixture(scope="module")
def callers():
    """A client for each caller, with a token and with a session."""
    with open_store("sqlite:///:memory:") as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(asgi, "operations", lambda: [*map(_harmless, EVERY.values())])
        app = Mainstay(store=store)
        site = asgi.application(Site(app, options=RATES))
        yield {name: _clients(app, site, *who) for name, who in CALLERS.items()}


def _clients(app, site, role, tenant):
    by_token, by_session = TestClient(site), TestClient(site)
    if role is not None:
        text = app.tokens.create(f"{role} {tenant}", role, tenant=tenant).text
        by_token.headers["Authorization"] = f"Bearer {text}"
        assert by_session.post("/api/session", json={"token": text}).status_code == 200
    return by_token, by_session


def _harmless(each):
    """Streams end at once, nothing is drained, and nobody's session is ended: what is asked here is who comes that far."""
    ended = "event-stream" in each.media or each.path.endswith("/trigger") or each.name == "log_out"
    return each._replace(run=_nothing) if ended else each


def _nothing(call, **_):
    return Response()


def refusal(client, each, headers):
    """Call an operation with what does no harm; return the code with which it was refused, None if it was let in."""
    path = re.sub(r"{\w+(:\w+)?}", "nothing", each.path)
    reply = client.request(each.method, path, headers=headers, json={} if each.body is not None else None)
    code = json.loads(reply.content)["code"] if reply.status_code in (401, 403) else None
    return code if code in REFUSALS else None


def expected(each, caller, place=BY_TOKEN):
    """The code with which a caller is refused whatever its page; None if it is let in. Browsers send a session to the API alone."""
    role, tenant = CALLERS[caller] if place == BY_TOKEN or each.path.startswith("/api/") else CALLERS["nobody"]
    if RANK[role] < RANK[each.role]:
        return "not_allowed" if role else "unauthenticated"
    if tenant is not None and not each.tenants:
        return "not_allowed"
    return (
        "unauthenticated" if each.name == "read_session" and role is None else None
    )  # it says who is logged in: nobody


@pytest.fixture(params=EVERY)
def each(request):
    return EVERY[request.param]


def test_each_caller_is_let_in_exactly_as_the_operation_declares(callers, each):
    for headers in (OWN, {}):
        for place in (BY_TOKEN, BY_SESSION):
            found = {name: refusal(clients[place], each, headers) for name, clients in callers.items()}
            assert found == {name: expected(each, name, place) for name in CALLERS}


def test_a_page_of_another_site_changes_nothing_with_a_session(callers, each):
    for headers in (OTHER, OLD):
        found = {name: refusal(clients[BY_SESSION], each, headers) for name, clients in callers.items()}
        last = "cross_site" if each.changes else None
        assert found == {name: expected(each, name, BY_SESSION) or last for name in CALLERS}


def test_a_token_is_no_matter_of_pages(callers, each):
    known = [name for name in CALLERS if name != "nobody"]
    found = {name: refusal(callers[name][BY_TOKEN], each, OTHER) for name in known}
    assert found == {name: expected(each, name) for name in known}


def test_every_operation_declares_its_role_and_few_have_none():
    assert {each.role for each in EVERY.values()} <= {ANYBODY, CREATOR, *ROLES}
    assert {name for name, each in EVERY.items() if each.role == ANYBODY} <= PUBLIC


def test_an_operation_that_says_nothing_is_for_viewers_to_read_and_operators_to_change(monkeypatch):
    monkeypatch.setattr("mainstay.web.operations.OPERATIONS", made := {})

    def nothing(call) -> None:
        """Do nothing."""

    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        operation(method, "/api/nothing")(nothing)
    found = {method: (each.role, each.tenants) for (method, _), each in made.items()}
    assert found == {"GET": (VIEWER, False)} | dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), (OPERATOR, False))


@pytest.mark.parametrize("wrong", [{"role": "root"}, {"bucket": "everything"}])
def test_an_operation_with_an_unknown_role_or_rate_cannot_exist(monkeypatch, wrong):
    monkeypatch.setattr("mainstay.web.operations.OPERATIONS", made := {})

    def nothing(call) -> None:
        """Do nothing."""

    with pytest.raises(ValueError, match="there is no"):
        operation("GET", "/api/nothing", **wrong)(nothing)
    assert made == {}


def test_a_path_that_is_none_and_a_method_that_is_none_tell_nothing():
    with open_store("sqlite:///:memory:") as store:
        client = TestClient(Mainstay(store=store).dashboard())
        assert client.get("/api/nothing").status_code == 404
        assert client.delete("/api/types").status_code == 405

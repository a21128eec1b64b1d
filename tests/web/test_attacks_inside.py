"""What callers try who are let in: to learn of other tenants, to go on after a revocation, to change what others see, to break the server."""

import contextlib
import json

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from mainstay import Mainstay, UsageError
from mainstay.core.bulk import PLACE, Bulk as Line
from mainstay.core.limits import Limit
from mainstay.web.api import logs
from mainstay.web.live import Live, _answer
from mainstay.web.roles import Access
from mainstay.web.site import Site
from tests.servers.asgi import serving
from tests.waiting import eventually
from tests.web.test_logs import Stream

pytestmark = pytest.mark.engines("memory")
ACME = Access("operator", actor="acme", tenant="acme")


# other tenants ------------------------------------------------------------------------------------------------------------
def test_why_a_job_waits_tells_a_tenant_nothing_of_others(app, site, client):
    @app.job(limit=Limit(running=1))
    def bill() -> None: ...

    parent = app.enqueue("bill", tenant="other").id
    held = app.enqueue("bill", tenant="acme").id
    child = app.enqueue("bill", tenant="acme", after=[parent]).id
    app.pause(reason="the incident of other", actor="bob")
    for job in (held, child):
        told = [json.dumps(site(ACME).get(f"/api/jobs/{job}{path}").json()) for path in ("", "/why")]
        for text in told:
            assert parent not in text
            assert "incident" not in text
            assert '"paused"' in text
    assert "the incident of other" in client.get(f"/api/jobs/{held}/why").text
    assert parent in client.get(f"/api/jobs/{child}/why").text


@pytest.mark.parametrize("who", [ACME, None])
def test_no_suggestion_names_types_and_queues_of_others(app, site, client, desk, who):
    @app.job(queue="mergers")
    def merge_with_rival(price: int) -> None: ...

    app.store.register_types([app.registry["merge_with_rival"].info(0, "merge_with_rival")])
    job = desk.add(tenant="acme")
    calls = [("/api/jobs", {"type": "merge_with_rivals"})]
    if who is ACME:
        requeue = {"action": "requeue", "ids": [job], "arguments": {"queue": "merger"}, "dry_run": True}
        calls += [(f"/api/jobs/{job}/requeue", {"queue": "merger"}), ("/api/bulk", requeue)]
    for path, body in calls:
        told, hidden = (each.post(path, json=body) for each in (client, site(who, creation="open")))
        assert (told.status_code, hidden.status_code) == (422, 422)
        assert "did you mean" in told.json()["detail"]
        assert "did you mean" not in hidden.json()["detail"]
    wrong = {"type": "merge_with_rival", "args": {"prize": 1}}  # who may enqueue it learns what it takes
    assert "price" in site(who, creation="open").post("/api/jobs", json=wrong).json()["detail"]


def test_an_operation_that_reaches_other_tenants_too_is_not_a_tenants(app, site, desk):
    """The search begins as that of the tenant does, and finds more."""
    for search in ('tenant:"acme","acme/*",other state:dead', 'tenant:"acme","acme/*"other'):
        line = Line(
            "b" * len(search), "cancel", {"bulk": "b" * len(search), "search": search, "matched": 9, PLACE: "0"}, None
        )
        app.store.cancel([], desk.clock.now(), "root", (), line)
    assert len(site().get("/api/bulk").json()) == 2
    acme = site(ACME)
    assert acme.get("/api/bulk").json() == []
    assert acme.post(f"/api/bulk/{'b' * len(search)}/resume").status_code == 404


def test_a_tenant_whose_name_is_a_pattern_sees_no_others(app, site, desk):
    """`acme/*` in a search stands for all tenants below acme."""
    job = desk.add(tenant="acme/eu")
    for tenant in ("acme/*", "/*"):
        star = site(Access("operator", tenant=tenant))
        for reply in (
            star.get("/api/jobs"),
            star.get("/api/jobs/facets"),
            star.post("/api/bulk", json={"action": "delete", "q": "state:queued"}),
        ):
            assert (reply.status_code, job in reply.text) == (422, False)
    with pytest.raises(UsageError, match="token for acme"):
        app.tokens.create("eve", tenant="acme/*")


# after a revocation ---------------------------------------------------------------------------------------------------
def test_the_stream_of_a_log_ends_with_the_token(app, desk, monkeypatch):
    monkeypatch.setattr(logs, "ASKED", 0.0)
    token, job = app.tokens.create("ada"), desk.run()
    with serving(app.dashboard()) as base:
        stream = Stream(f"{base}/api/jobs/{job.id}/logs/stream", Authorization=f"Bearer {token.text}")
        eventually(lambda: stream.opened, "the stream is open")
        app.tokens.revoke(token.id)
        stream.join(10)
        assert not stream.is_alive()
        assert stream.events == []  # not even the end of the job


# what others see ----------------------------------------------------------------------------------------------------------
def test_the_name_by_which_one_caller_came_is_in_no_answer_to_another(app):
    """Who listens first under the name evil.example would give all others the address of a receiver there."""
    live, who = Live(Site(app)), Access("viewer")

    def asked(host):
        scope = {"type": "http", "scheme": "http", "path": "/", "query_string": b"", "headers": [(b"host", host)]}
        return live._asked("/api/incoming", Request(scope), who)[0]

    assert asked(b"jobs.example.com") == asked(b"jobs.example.com") != asked(b"evil.example")


def test_a_listener_learns_that_the_installation_is_unhealthy(app, monkeypatch):
    site, who = Site(app), Access("viewer")
    scope = {"type": "http", "scheme": "http", "path": "/", "query_string": b"", "headers": [(b"host", b"a")]}
    question, asked = site.live._asked("/api/health", Request(scope), who)
    healthy = app.health("5s")
    monkeypatch.setattr(app, "health", lambda _: healthy._replace(status="unhealthy"))
    told = json.loads(_answer(question.path, asked))
    assert (told["status"], told["body"]["status"]) == (503, "unhealthy")


# bodies and paths -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "body",
    [b'{"type":"a","args":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}", b'{"type":"a","args":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
     b'{"type":"\xff"}', b'{"type":"\xed\xa0\x80"}', b'{"type":"\\ud800"}', b'{"type":"a","priority":' + b"9" * 9_000 + b"}", b"\x00", b"\xef\xbb\xbf{}"],
    ids=lambda body: repr(body[:40]),
)  # fmt: skip
def test_a_body_that_is_no_readable_json_is_refused(client, body):
    reply = client.post("/api/jobs", content=body, headers={"Content-Type": "application/json"})
    assert (reply.status_code, reply.json()["code"]) == (422, "not_valid")


@pytest.mark.parametrize("path", ["//[", "http://[/api/types", "//[::1/api/types"])
def test_a_path_that_is_no_address_cannot_be_listened_to(client, path):
    reply = client.get("/api/live", params={"path": path})
    assert (reply.status_code, reply.json()["code"]) == (422, "not_valid")


def test_a_schedule_behind_the_last_year_never_fires(client):
    for times in ({"cron": "* * * * *"}, {"every": "1m"}):
        reply = client.get("/api/schedules/next", params={**times, "start": "9999-12-31T23:59:59-14:00"})
        assert (reply.status_code, reply.json()["fires"]) == (200, [])


# the installation -----------------------------------------------------------------------------------------------------------
def test_only_who_sees_the_installation_learns_where_its_store_is(tmp_path, caplog):
    where = tmp_path / "place.db"
    with contextlib.closing(Mainstay(f"sqlite:///{where}")) as app:
        token = app.tokens.create("ada").text
        where.unlink()
        where.mkdir()  # so that no call makes a new file

        def read(access=None, **headers):
            site = app.dashboard(access=access and (lambda _: access))
            return TestClient(site, headers=headers).get("/api/jobs")

        for reply in (read(Authorization=f"Bearer {token}"), read(ACME)):
            assert (reply.status_code in (422, 503), "place.db" in reply.text) == (True, False)
        assert "place.db" in caplog.text
        assert "place.db" in read(Access("viewer")).text


def test_who_is_not_logged_in_learns_no_ids(app, site):
    """Where creation is open: a beginning that fits several jobs would list them."""

    @app.job
    def mail() -> None: ...

    first = mail.enqueue().id
    mail.enqueue()
    for start in (first[:2], first[:-1]):
        reply = site(None, creation="open").post("/api/jobs", json={"type": "mail", "after": [start]})
        assert (reply.status_code, first in reply.text) == (404, False)

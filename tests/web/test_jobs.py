"""Lists and searches of jobs over HTTP: pages, filters, facets and suggestions, and what a tenant sees of them."""

import json

import pytest

from mainstay import Permanent, Review
from mainstay.web.roles import Access
from tests.contract.building import draft
from tests.waiting import eventually

ODD = 'a "b", c\\'  # a tag with all that a search reads


@pytest.fixture
def jobs(desk, app):
    """Five jobs of two types and two tenants, the oldest first."""

    @app.job(description="Sends a letter.")
    def mail(to: str, size: int = 1) -> None: ...

    app.store.register_types([app.registry["mail"].info(0, "mail")])
    made = [
        draft("mail", json.dumps({"to": "ann", "more": {"deep": 1}}), tenant="acme", tags=("eu", ODD)),
        draft("mail", json.dumps({"to": "bob", "password": "hunter2"}), tenant="acme/north"),
        draft("work", tenant="café", ref="invoice/1"),
        draft("work", queue="slow", tenant="acme2"),
        draft("mail", "{}", run_at=desk.now + 60_000),
    ]
    return [desk.send(each) for each in made]


def ids(response):
    assert response.status_code == 200, response.text
    return [job["id"] for job in response.json()["jobs"]]


def test_jobs_come_newest_first_page_by_page(client, jobs):
    first = client.get("/api/jobs", params={"limit": 2}).json()
    assert [job["id"] for job in first["jobs"]] == jobs[:2:-1]
    second = client.get("/api/jobs", params={"limit": 2, "after": first["after"]})
    assert ids(second) == [jobs[2], jobs[1]]
    last = client.get("/api/jobs", params={"limit": 2, "after": second.json()["after"]}).json()
    assert ([job["id"] for job in last["jobs"]], last["after"]) == ([jobs[0]], None)


def test_a_row_has_what_ls_prints_and_no_secret(client, jobs):
    (row,) = client.get("/api/jobs", params={"q": "args.to:bob"}).json()["jobs"]
    assert (row["id"], row["state"], row["label"], row["tenant"]) == (jobs[1], "queued", "queued", "acme/north")
    assert row["args"] == {"to": "bob", "password": "[redacted:password]"}
    assert (row["about"], row["finished_at"]) == ('to="bob" password="[redacted:password]"', None)
    assert row["created_at"].endswith("Z")


def test_filters_are_terms_whatever_their_values_are(client, jobs):
    def found(**given):
        return ids(client.get("/api/jobs", params=given))

    assert found(tag=ODD) == [jobs[0]]
    assert found(tenant="café") == [jobs[2]]
    assert found(ref="invoice/1", state="") == [jobs[2]]
    assert found(type="work", queue="slow") == [jobs[3]]
    assert found(state=["queued", "scheduled"], type="mail") == [jobs[4], jobs[1], jobs[0]]
    assert found(q="args.to:ann,bob", tenant="acme") == [jobs[0]]


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ({"q": "state:ded"}, 'did you mean "dead"?'),
        ({"q": "typ:mail"}, 'did you mean "type:"?'),
        ({"q": 'error:"open', "type": "mail"}, "is not closed"),
        ({"state": "ded"}, 'did you mean "dead"?'),
        ({"after": "nonsense"}, "give the whole id"),
        ({"limit": 0}, "Expected `int` >= 1"),
        ({"limit": 201}, "Expected `int` <= 200"),
        ({"size": 2}, "unknown field `size`"),
    ],
)
@pytest.mark.engines("memory")
def test_a_mistake_in_a_search_is_explained(client, app, query, hint):
    answer = client.get("/api/jobs", params=query)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert hint in answer.json()["detail"]


def test_a_tenant_sees_its_jobs_and_those_of_tenants_below_it(site, jobs):
    acme, cafe = (site(Access("operator", tenant=name)) for name in ("acme", "café"))
    assert ids(acme.get("/api/jobs")) == [jobs[1], jobs[0]]
    assert ids(acme.get("/api/jobs", params={"tenant": "café"})) == []
    assert ids(acme.get("/api/jobs", params={"q": "-type:mail"})) == []
    assert ids(cafe.get("/api/jobs")) == [jobs[2]]
    assert acme.get(f"/api/jobs/{jobs[1]}").status_code == 200
    assert acme.get(f"/api/jobs/{jobs[3]}").status_code == 404
    assert acme.get(f"/api/jobs/{jobs[0][:20]}").status_code == 404  # a beginning could tell that others exist


def facet(found, name):
    return {each["name"]: each["jobs"] for each in found[name]}


def test_facets_count_all_jobs_or_those_that_match(client, site, jobs):
    found = client.get("/api/jobs/facets").json()
    assert facet(found, "states") == {"queued": 4, "scheduled": 1}
    assert facet(found, "types") == {"mail": 3, "work": 2}
    assert facet(found, "tags") == {"eu": 1, ODD: 1}
    assert (len(found["tenants"]), found["looked"]) == (4, 5)
    some = client.get("/api/jobs/facets", params={"q": "queue:slow"}).json()
    assert (facet(some, "types"), facet(some, "tenants"), some["looked"]) == ({"work": 1}, {"acme2": 1}, 1)
    mine = site(Access("viewer", tenant="acme")).get("/api/jobs/facets").json()
    assert (facet(mine, "states"), facet(mine, "tenants")) == ({"queued": 2}, {"acme": 1, "acme/north": 1})


def test_suggestions_go_on_with_the_last_word(client, site, jobs):
    def texts(q, client=client):
        return [each["text"] for each in client.get("/api/jobs/suggest", params={"q": q}).json()["suggestions"]]

    assert texts("type:mail st") == ["state:"]
    assert texts("-state:de") == ["-state:dead"]
    assert texts("state:dead,re") == ["state:dead,review", "state:dead,retrying"]
    assert texts("type:") == ["type:mail"]
    assert texts("queue:s") == ["queue:slow"]
    assert texts("tag:") == [f"tag:{json.dumps(ODD)}", "tag:eu"]
    assert texts("args.m") == ["args.more:", "args.more.deep:"]
    assert texts("nothing:") == []
    assert "state:" in texts("")
    assert "args:" in texts("type:mail ")
    assert texts("queue:", site(Access("viewer", tenant="acme"))) == ["queue:default"]
    about = client.get("/api/jobs/suggest", params={"q": "type:ma"}).json()["suggestions"]
    assert about == [{"text": "type:mail", "about": "Sends a letter."}]


def test_a_suggested_value_finds_its_jobs(client, jobs):
    (quoted, _) = client.get("/api/jobs/suggest", params={"q": "tag:"}).json()["suggestions"]
    assert ids(client.get("/api/jobs", params={"q": quoted["text"]})) == [jobs[0]]


def test_history_stuck_and_duplicates(client, desk, clock):
    done = desk.bring("completed")
    clock.advance(1)
    dead = desk.bring("dead")
    first = client.get("/api/history", params={"limit": 1})
    assert ids(first) == [dead]
    assert ids(client.get("/api/history", params={"limit": 1, "after": first.json()["after"]})) == [done]
    clock.advance(7_200)
    assert ids(client.get("/api/history")) == []
    assert ids(client.get("/api/history", params={"since": "3h"})) == [dead, done]
    running = [desk.add(payload='{"n":1}') for _ in range(2)]
    desk.join("w-second")
    desk.take(1, "w-second")
    clock.advance(400)
    stuck = client.get("/api/stuck").json()
    assert [each["id"] for each in stuck] == [running[0]]
    assert client.get("/api/stuck", params={"after": "soon"}).status_code == 422
    found = client.get("/api/duplicates", params={"within": "1h"}).json()["found"]
    assert [(each["type"], each["jobs"]) for each in found] == [("work", 2)]


def test_these_are_about_the_whole_installation(site, app):
    tenant = site(Access("admin", tenant="acme"))
    for path in ("history", "stuck", "duplicates", "dead"):
        assert tenant.get(f"/api/{path}").status_code == 403


@pytest.mark.engines("memory")
@pytest.mark.parametrize(
    "q", ["args.password:>a", "-args.password:<h", "args.password:hunter2", "args.credentials.user:ann"]
)
def test_no_search_tells_what_is_redacted(client, app, q):
    """Comparisons would: ten of them find a letter of a password."""
    app.enqueue("mail", {"password": "hunter2", "credentials": {"user": "ann"}})
    for path in ("/api/jobs", "/api/jobs/facets"):
        answer = client.get(path, params={"q": q})
        assert (answer.status_code, "redacted" in answer.json()["detail"]) == (422, True)
    answer = client.post("/api/bulk", json={"action": "retry", "q": q, "dry_run": True})
    assert answer.status_code == 422


@pytest.mark.engines("memory")
@pytest.mark.parametrize(
    "q", ["args.note:>AKIA", "-args.note:<=AKIB", "args.card:>4111111111111110", "args.card:<-1e9"]
)
def test_no_order_tells_what_a_pattern_hides(client, app, q):
    """Each comparison halves what a key or a number may be."""
    app.enqueue("mail", {"note": "AKIAIOSFODNN7EXAMPLE", "card": 4111111111111111, "cents": 500})
    (row,) = client.get("/api/jobs", params={"q": "args.cents:>400 args.cents:<=9999999999999"}).json()["jobs"]
    assert "AKIA" not in str(row["args"])
    assert "4111" not in str(row["args"])
    answer = client.get("/api/jobs", params={"q": q})
    assert (answer.status_code, "redacted" in answer.json()["detail"]) == (422, True)


@pytest.mark.engines("memory")
@pytest.mark.parametrize("field", ["error:", ""])
def test_errors_and_reasons_are_searched_as_they_are_shown(client, app, run, field):
    """They are stored without their secrets, whether a handler or a person has written them."""

    @app.job
    def charge():
        raise Permanent("password=hunter2 is wrong")

    @app.job
    def publish():
        raise Review("is it well?")

    charge.enqueue()
    ids = [publish.enqueue().id for _ in range(2)]
    run()
    note = "password=hunter2"
    assert client.post(f"/api/jobs/{ids[0]}/reject", json={"note": note}).status_code == 200
    many = {"action": "approve", "ids": ids[1:], "arguments": {"note": note}}
    started = client.post("/api/bulk", json=many).json()["id"]
    eventually(lambda: client.get(f"/api/bulk/{started}").json()["state"] == "finished", "the end of the operation")
    for word in ("hunter2", "hunt"):
        assert client.get("/api/jobs", params={"q": f"{field}{word}"}).json()["jobs"] == []
    assert len(client.get("/api/jobs", params={"q": f"{field}wrong"}).json()["jobs"]) == 1

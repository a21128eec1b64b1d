"""Reviews over HTTP: the oldest first, with what they propose, for those who see them."""

import pytest

from mainstay import Review
from mainstay.web.api import reviews
from mainstay.web.roles import Access


@pytest.fixture
def asked(app, run):
    """Make jobs that ask for a review."""

    @app.job
    def pay(amount: int) -> dict[str, int | str]:
        raise Review("so much?", {"pay": amount, "before": 5, "api_key": "hunter2"}, deciders=["ann"], expires="2d")

    def asked(*tenants):
        jobs = [pay.options(tenant=tenant).enqueue(n).id for n, tenant in enumerate(tenants, 1)]
        run()
        return jobs

    return asked


def listed(client, **query):
    answer = client.get("/api/reviews", params=query)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    return [each["id"] for each in found["reviews"]], found["after"]


def test_a_review_has_what_is_needed_to_decide(client, site, asked):
    (job,) = asked("acme")
    (review,) = client.get("/api/reviews").json()["reviews"]
    assert (review["id"], review["type"], review["question"], review["tenant"]) == (job, "pay", "so much?", "acme")
    assert review["output"] == {"pay": 1, "before": 5, "api_key": "[redacted:apikey]"}
    assert (review["before"], review["args"], review["deciders"]) == (5, {"amount": 1}, ["ann"])
    assert (review["may_decide"], review["at_deadline"]) == (True, "reject")
    assert review["expires_at"] > review["asked_at"]
    for access in ("viewer", Access("admin", actor="bob")):
        assert site(access).get("/api/reviews").json()["reviews"][0]["may_decide"] is False


def test_pages_go_from_the_oldest_to_the_newest(client, asked):
    jobs = asked(*["acme"] * 5)
    first, after = listed(client, limit=2)
    second, later = listed(client, limit=2, after=after)
    third, end = listed(client, limit=2, after=later)
    assert (first + second + third, end) == (jobs, None)


def test_a_tenant_finds_its_own_among_many(site, asked):
    jobs = asked("other", "acme", "other", "other", "acme/north", "other", "acme", "other")
    mine = [jobs[1], jobs[4], jobs[6]]
    acme = site(Access("operator", tenant="acme"))
    assert listed(acme) == (mine, None)
    found, after = listed(acme, limit=2)
    assert found == mine[:2]
    while after is not None:
        more, after = listed(acme, limit=2, after=after)
        found += more
    assert found == mine


@pytest.mark.engines("memory")
def test_no_place_tells_a_tenant_the_jobs_of_others(site, asked, monkeypatch):
    jobs = asked("other", "other", "acme", "other", "acme", "other", "other", "other")
    monkeypatch.setattr(reviews, "READ", 1)
    monkeypatch.setattr(reviews, "LOOKED", 1)
    acme = site(Access("operator", tenant="acme"))
    assert listed(acme, limit=1) == ([jobs[2]], jobs[2])
    assert listed(acme, limit=1, after=jobs[2]) == ([jobs[4]], jobs[4])
    assert listed(acme, limit=1, after=jobs[4]) == ([], None)
    answer, unknown = (acme.get("/api/reviews", params={"after": id}) for id in (jobs[0], "01JQ93ZK5M0000000000000000"))
    assert (answer.status_code, unknown.status_code) == (404, 404)
    assert answer.json()["detail"].replace(jobs[0], "") == unknown.json()["detail"].replace(
        "01JQ93ZK5M0000000000000000", ""
    )


@pytest.mark.engines("memory")
def test_a_place_that_is_gone_is_explained(client, app):
    answer = client.get("/api/reviews", params={"after": "01JQ93ZK5M0000000000000000"})
    assert (answer.status_code, "without after" in answer.json()["detail"]) == (404, True)

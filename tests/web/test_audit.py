"""The audit trail over HTTP."""

import csv

import pytest

from mainstay.web.api import audit


@pytest.fixture
def acted(app):
    """Seven settings, by two people."""
    for n in range(7):
        app.set_setting(f"s{n}", n, actor=("ann", "bob")[n % 2])
    return app


def names(page):
    return [line["detail"]["name"] for line in page["lines"]]


def test_lines_newest_first_page_by_page(client, acted):
    first = client.get("/api/audit?limit=4").json()
    assert names(first) == ["s6", "s5", "s4", "s3"]
    assert first["lines"][0]["number"] > first["before"] == first["lines"][-1]["number"]
    second = client.get("/api/audit", params={"limit": 4, "before": first["before"]}).json()
    assert (names(second), second["before"]) == (["s2", "s1", "s0"], None)


def test_filters(client, acted, desk):
    job = desk.bring("dead")
    acted.retry(job, actor="ann")
    assert names(client.get("/api/audit?actor=bob").json()) == ["s5", "s3", "s1"]
    assert len(client.get("/api/audit?action=setting&actor=ann").json()["lines"]) == 4
    (line,) = client.get("/api/audit", params={"job": job}).json()["lines"]
    assert (line["action"], line["job"]) == ("retry", job)


def test_pauses_are_found_by_what_operators_call_them(client, app):
    app.pause(reason="outage", actor="ann")
    app.resume(actor="bob")
    app.set_setting("s", 1, actor="eve")
    assert [line["actor"] for line in client.get("/api/audit?action=pause").json()["lines"]] == ["ann"]
    assert [line["actor"] for line in client.get("/api/audit?action=resume").json()["lines"]] == ["bob"]
    assert [line["actor"] for line in client.get("/api/audit?action=rule").json()["lines"]] == ["bob", "ann"]


def test_a_filter_looks_at_so_many_lines_and_says_so(client, acted, monkeypatch):
    monkeypatch.setattr(audit, "PAGE", 2)
    monkeypatch.setattr(audit, "LOOKED", 4)
    first = client.get("/api/audit?actor=nobody").json()
    assert (first["lines"], first["looked"]) == ([], 4)
    second = client.get("/api/audit", params={"actor": "nobody", "before": first["before"]}).json()
    assert (second["looked"], second["before"]) == (3, None)


def test_a_table_with_no_formulas(client, app, monkeypatch):
    monkeypatch.setattr(audit, "PAGE", 2)
    actors = ["=1+1", "+2", "-3", "@x", "ann", "\tq"]
    for actor in actors:
        app.set_setting("limit", actor, actor=actor)
    found = client.get("/api/audit.csv")
    assert found.headers["content-type"] == "text/csv; charset=utf-8"
    header, *lines = csv.reader(found.text.splitlines())
    assert header == ["number", "at", "actor", "action", "job", "detail"]
    assert [line[2] for line in reversed(lines)] == ["'=1+1", "'+2", "'-3", "'@x", "ann", "'\tq"]
    (only,) = list(csv.reader(client.get("/api/audit.csv?actor=ann").text.splitlines()))[1:]
    assert only[2:4] == ["ann", "setting"]


def test_secrets_are_in_neither(client, app):
    app.set_setting("stripe_api_key", "sk_live_51HqLyjWDarjtT1zdp7dc", actor="ann")
    for path in ("/api/audit", "/api/audit.csv"):
        text = client.get(path).text
        assert "stripe_api_key" in text
        assert "51HqLyj" not in text


@pytest.mark.engines("memory")
@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "before=x", "since=1h"])
def test_what_is_refused(client, query):
    assert client.get(f"/api/audit?{query}").status_code == 422

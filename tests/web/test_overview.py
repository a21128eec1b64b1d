"""The overview, health, metrics and statistics."""

import pytest

from mainstay.web.roles import Access
from tests.contract.building import FAILED, FINAL


def test_an_empty_installation_has_no_worker(client):
    found = client.get("/api/overview").json()
    assert found["verdict"] == "Unhealthy: no worker is running"
    assert found["numbers"] == {
        "waiting": 0, "running": 0, "review": 0, "dead": 0, "done_per_minute": 0, "failed_per_minute": 0, "oldest_wait": None,
        "capped": False,
    }  # fmt: skip
    assert (found["types"], found["findings"], found["incidents"]) == ([], [], [])


def test_the_numbers_and_the_types(client, desk, clock):
    desk.bring("completed")
    desk.end(desk.run(), FAILED)
    desk.bring("review", type="work")
    desk.add()
    clock.advance(3)
    desk.join()
    found = client.get("/api/overview").json()
    assert found["verdict"] == "Healthy, but 1 job of work waits for a decision"
    assert {name: found["numbers"][name] for name in ("waiting", "running", "review", "dead")} == {
        "waiting": 2, "running": 0, "review": 1, "dead": 0,
    }  # fmt: skip
    assert found["numbers"]["oldest_wait"] == 3.0
    (row,) = found["types"]
    assert {name: row[name] for name in ("type", "queue", "queued", "retrying", "review", "dead", "failure", "workers")} == {
        "type": "work", "queue": "default", "queued": 1, "retrying": 1, "review": 1, "dead": 0, "failure": 0.5, "workers": 1,
    }  # fmt: skip
    assert sum(row["trend"]) == 2
    assert [row["paused"], row["disabled"], row["breaker"]] == [None, False, None]


def test_the_counts_of_what_waits_for_people_are_those_of_the_overview(client, desk, app, monkeypatch):
    assert client.get("/api/counts").json() == {"dead": 0, "review": 0, "capped": False}
    desk.end(desk.run(), FINAL)
    for _ in range(3):
        desk.bring("review")
    monkeypatch.setattr("mainstay.web.recent.LONGEST", 0)
    numbers = client.get("/api/overview").json()["numbers"]
    found = client.get("/api/counts").json()
    assert found == {"dead": 1, "review": 3, "capped": False}
    assert (found["dead"], found["review"]) == (numbers["dead"], numbers["review"])
    monkeypatch.setattr("mainstay.web.api.overview.SEARCHED", 2)
    (group,) = app.dead()
    app.dead_group(group.fingerprint).ignore()
    assert client.get("/api/counts").json() == {"dead": 0, "review": 2, "capped": True}


def test_the_last_hour_by_minute(client, desk, clock):
    desk.bring("completed")
    clock.advance(61)
    series = client.get("/api/overview").json()["series"]
    assert len(series) == 60
    assert series[-1]["at"] > series[0]["at"]
    ended = [minute for minute in series if minute["completed"]]
    assert [(minute["completed"], minute["failed"]) for minute in ended] == [(1, 0)]
    assert None not in (ended[0]["wait_p50"], ended[0]["run_p99"])


def test_what_is_wrong_has_a_fix(client, desk):
    desk.end(desk.run(), FINAL)
    desk.add(type="mail")
    found = client.get("/api/overview").json()
    assert found["verdict"] == "Degraded: no worker serves mail; 1 dead"
    texts = {finding["text"]: finding["fix"] for finding in found["findings"]}
    assert "1 job of work died of ValueError" in texts
    assert texts["1 job of mail waits, but no live worker serves that type"] == "mainstay worker --app …"


def test_a_pause_shows_at_once(client, desk):
    desk.add()
    assert client.get("/api/overview").json()["types"][0]["paused"] is None
    client.post("/api/types/work/pause", json={"reason": "maintenance"})
    paused = client.get("/api/overview").json()["types"][0]["paused"]
    assert (paused["of"], paused["actor"], paused["reason"]) == ("type", "ann", "maintenance")


def test_health_is_503_if_it_is_unhealthy(client, desk, store):
    found = client.get("/api/health")
    assert (found.status_code, found.json()["status"]) == (200, "healthy")
    store.deregister("w-first")
    found = client.get("/api/health")
    assert (found.status_code, found.json()["status"]) == (503, "unhealthy")


def test_liveness_needs_no_login_and_says_nothing(site):
    found = site(access=None).get("/healthz")
    assert (found.status_code, found.text) == (200, "ok\n")


@pytest.mark.parametrize("path", ["/metrics", "/api/metrics"])
def test_metrics_are_text_for_viewers(site, desk, path):
    desk.add()
    found = site("viewer").get(path)
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'mainstay_queue_depth{type="work",state="queued"} 1' in found.text
    assert site(access=None).get(path).status_code == 401


def test_statistics_by_type_and_as_a_series(client, desk):
    desk.bring("completed")
    desk.end(desk.run(), FAILED)
    (row,) = client.get("/api/stats").json()["rows"]
    assert (row["type"], row["completed"], row["failed"], row["success"]) == ("work", 1, 1, 0.5)
    minutes = client.get("/api/stats?by=minute").json()["rows"]
    assert sum(row["completed"] for row in minutes) == 1
    assert client.get("/api/stats?type=other&type=none").json()["rows"] == []


@pytest.mark.parametrize(
    "query", ["since=never", "by=week", "since=3h&by=minute", "since=1000000d&by=hour", "until=1h", "since=1s"]
)
def test_statistics_that_cannot_be(client, query):
    found = client.get(f"/api/stats?{query}")
    assert found.status_code == 422, found.json()


def test_stuck_duplicates_and_history(client, desk, clock):
    done, running = (desk.bring(state, payload='{"n":1}') for state in ("completed", "running"))
    clock.advance(9)
    desk.store.renew("w-first", desk.now, 3_600_000)
    clock.advance(600)
    assert [each["id"] for each in client.get("/api/stuck").json()] == [running]
    twins = client.get("/api/duplicates").json()["found"]
    assert [(each["type"], each["jobs"]) for each in twins] == [("work", 2)]
    ended = client.get("/api/history?since=1h").json()
    assert ([job["id"] for job in ended["jobs"]], ended["after"]) == ([done], None)


@pytest.mark.parametrize("limit", [0, 201, "many"])
def test_pages_are_bounded(client, limit):
    assert client.get(f"/api/history?limit={limit}").status_code == 422


def test_callers_of_a_tenant_see_nothing_of_the_installation(site):
    tenant = site(Access("admin", tenant="acme"))
    for path in (
        "/api/overview",
        "/api/counts",
        "/api/health",
        "/metrics",
        "/api/stats",
        "/api/history",
        "/api/settings",
        "/api/audit.csv",
    ):
        assert tenant.get(path).status_code == 403, path

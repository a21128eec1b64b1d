"""Schedules over HTTP."""

import pytest


@pytest.fixture
def shop(app):
    @app.job
    def report(day: int = 0) -> None: ...

    with app.worker():
        return app


NEW = {"name": "nightly", "type": "report", "args": {"day": 3}, "cron": "0 4 * * *", "tz": "Europe/Berlin"}


def test_a_schedule_is_made_listed_changed_and_removed(client, shop):
    made = client.post("/api/schedules", json=NEW)
    assert (made.status_code, made.json()["after"]["cron"]) == (201, "0 4 * * *")
    (found,) = client.get("/api/schedules").json()
    assert (found["name"], found["words"], found["args"]) == ("nightly", "At 04:00 every day", {"day": 3})
    assert (len(found["next_fires"]), found["history"]) == (3, [])
    change = client.patch("/api/schedules/nightly", json={"set": {"cron": "30 5 * * *", "args": {"day": 4}}}).json()
    assert (change["after"]["cron"], change["after"]["args"]) == ("30 5 * * *", {"day": 4})
    assert client.delete("/api/schedules/nightly?dry_run=true").json()["after"] is None
    assert len(client.get("/api/schedules").json()) == 1
    assert client.delete("/api/schedules/nightly?reason=old").json()["after"] is None
    assert client.get("/api/schedules").json() == []


def test_a_run_shows_in_the_history(client, shop, run):
    client.post("/api/schedules", json=NEW)
    job = client.post("/api/schedules/nightly/run").json()["id"]
    run()
    found = client.get("/api/schedules/nightly").json()
    assert [(each["id"], each["state"]) for each in found["history"]] == [(job, "completed")]
    assert len(found["next_fires"]) == 10
    assert client.get("/api/schedules").json()[0]["history"] == found["history"]


def test_a_paused_schedule_fires_no_more(client, shop):
    client.post("/api/schedules", json=NEW)
    client.post("/api/schedules/nightly/pause", json={"reason": "holiday"})
    found = client.get("/api/schedules/nightly").json()
    assert (found["paused"]["value"], found["paused"]["actor"], found["next_fires"]) == ("holiday", "ann", [])
    assert client.get("/api/schedules").json()[0]["next_fires"] == []
    client.post("/api/schedules/nightly/resume", json={})
    assert len(client.get("/api/schedules/nightly").json()["next_fires"]) == 10


def test_what_code_declares_holds_again_after_a_reset(client, shop):
    shop.schedule("hourly", "report", {}, every="1h")
    shop.sync_schedules()
    client.patch("/api/schedules/hourly", json={"set": {"every": "2h"}})
    assert client.get("/api/schedules/hourly").json()["drift"] == ["every"]
    client.post("/api/schedules/hourly/reset", json={"names": ["every"]})
    assert client.get("/api/schedules/hourly").json()["every"] == 3600.0
    assert client.delete("/api/schedules/hourly").status_code == 409  # code would bring it back


def test_a_preview_knows_daylight_saving(client, clock):
    query = {"cron": "30 2 * * *", "tz": "Europe/Berlin", "start": "2026-03-28T00:00:00Z", "count": 3}
    found = client.get("/api/schedules/next", params=query).json()
    assert found["words"] == "At 02:30 every day"
    assert found["fires"] == ["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]
    assert client.get("/api/schedules/next?every=90m&count=2").json()["words"] == "Every 1h 30m"


@pytest.mark.engines("memory")
@pytest.mark.parametrize(
    "query",
    [
        {}, {"cron": "1--100000000 * * * *"}, {"cron": "0-99999999999999 * * * *"}, {"cron": "* * * * *", "count": 51}, {"cron": "0 0 31 2 *"},
        {"cron": "* * * * *", "every": "1h"}, {"cron": "* " * 2_000}, {"every": "0s"}, {"cron": "* * * * *", "tz": "Mars"}, {"cron": "*", "count": 0},
    ],
)  # fmt: skip
def test_a_preview_that_cannot_be(client, query):
    found = client.get("/api/schedules/next", params=query)
    assert found.status_code == 422, found.json()


def test_names_that_are_not_there(client, shop):
    client.post("/api/schedules", json=NEW)
    calls = [
        ("GET", ""),
        ("PATCH", ""),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/run"),
        ("POST", "/reset"),
        ("DELETE", ""),
    ]
    for method, path in calls:
        body = (
            None
            if method in ("GET", "DELETE") or path == "/run"
            else {"set": {"limit": 1}}
            if method == "PATCH"
            else {}
        )
        found = client.request(method, f"/api/schedules/nigthly{path}", json=body)
        assert (found.status_code, "nightly" in found.json()["detail"]) == (404, True), (method, path, found.json())
    assert len(client.get("/api/audit").json()["lines"]) == 1


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"type": "reprot"}, 422), ({"args": {"day": "x"}}, 422), ({"every": "1h"}, 422), ({"name": "a b"}, 422), ({"overlap": "maybe"}, 422),
        ({"colour": 1}, 422), ({"dry_run": True}, 201),
    ],
)  # fmt: skip
def test_a_schedule_that_is_not_made(client, shop, more, status):
    found = client.post("/api/schedules", json=NEW | more)
    assert found.status_code == status, found.json()
    assert client.get("/api/schedules").json() == []


def test_a_name_that_is_taken(client, shop):
    client.post("/api/schedules", json=NEW)
    assert client.post("/api/schedules", json=NEW).status_code == 409
    assert client.patch("/api/schedules/nightly", json={"set": {"job": {}}}).status_code == 422

"""Workers over HTTP."""


def test_workers_and_the_jobs_that_they_hold(client, desk):
    job = desk.bring("running")
    desk.join("w-second")
    first, second = sorted(client.get("/api/workers").json(), key=lambda each: each["id"])
    assert (first["id"], first["state"], first["running"]) == ("w-first", "live", 1)
    assert [(each["id"], each["label"], each["about"]) for each in first["jobs"]] == [(job, "running", "")]
    assert second["jobs"] == []


def test_a_worker_lists_fifty_jobs(client, desk):
    for _ in range(60):
        desk.add()
    assert len(desk.take(60)) == 60
    (worker,) = client.get("/api/workers").json()
    assert (worker["running"], len(worker["jobs"])) == (60, 50)


def test_a_worker_is_asked_to_stop(site, desk, clock):
    client = site("operator")
    assert client.post("/api/workers/w-fir/stop", json={"drain": True}).json() == {"id": "w-first"}
    assert desk.store.renew("w-first", desk.now, 10_000).wanted == "drain"
    (line,) = client.get("/api/audit").json()["lines"]
    assert line["actor"] == "ann"
    missing = client.post("/api/workers/w-frist/stop", json={})
    assert (missing.status_code, "w-first" in missing.json()["detail"]) == (404, True)
    assert site("viewer").post("/api/workers/w-first/stop", json={}).status_code == 403

"""Prune and reconcile over HTTP."""

import pytest

from mainstay.web.api import maintenance

DAY = 24 * 3_600  # seconds


def test_prune_removes_what_retention_no_longer_keeps(client, app, desk, clock):
    gone, kept = desk.bring("completed", keep=1_000 * DAY), desk.bring("completed", keep=30_000 * DAY)
    clock.advance(8 * DAY)
    assert client.post("/api/prune", json={"dry_run": True}).json() == {"matched": 1, "removed": 0, "more": False}
    assert app.store.get(gone) is not None
    assert client.post("/api/prune", json={}).json() == {"matched": 1, "removed": 1, "more": False}
    assert app.store.get(gone) is None
    assert app.store.get(kept) is not None
    (line,) = client.get("/api/audit").json()["lines"]
    assert (line["action"], line["actor"], line["detail"]["jobs"]) == ("prune", "ann", 1)


def test_prune_ends_when_its_time_is_over(client, desk, clock, monkeypatch):
    monkeypatch.setattr(maintenance, "SECONDS", 0)
    for _ in range(150):
        desk.add(keep=1_000 * DAY)
    for job in desk.take(150):
        desk.end(job)
    clock.advance(2 * DAY)
    found = client.post("/api/prune", json={}).json()
    assert found["more"]
    assert found["removed"] == 100 < found["matched"]


@pytest.mark.engines("sqlite")
def test_prune_archives_what_it_removes(client, desk, clock, tmp_path, monkeypatch):
    monkeypatch.setenv("MAINSTAY_ARCHIVE", str(tmp_path / "old"))
    job = desk.bring("completed", keep=1_000 * DAY)
    clock.advance(2 * DAY)
    assert client.post("/api/prune", json={}).json()["removed"] == 1
    assert list((tmp_path / "old").rglob("*")), job


def test_reconcile_runs_the_code_of_the_application(client, app, run):
    @app.job(verify=lambda job: job.args["n"] != 2)
    def make(n: int) -> None: ...

    for n in range(3):
        make.enqueue(n)
    run()
    found = client.post("/api/reconcile", json={"types": ["make"], "since": "1h"}).json()
    assert (found["checked"], found["wrong"], found["complete"]) == (3, 1, True)
    assert client.post("/api/reconcile", json={"types": ["mkae"]}).status_code == 422
    assert client.post("/api/reconcile", json={"limit": 0}).status_code == 422


@pytest.mark.engines("memory")
@pytest.mark.parametrize("path", ["/api/prune", "/api/reconcile"])
def test_only_admins(site, path):
    assert site("operator").post(path, json={}).status_code == 403

"""Groups of dead jobs over HTTP: how they died, and what is done about all of them."""

import json

import pytest

from mainstay import Permanent
from mainstay.web.roles import Access
from tests.waiting import eventually


@pytest.fixture
def dead(app, run):
    """Three jobs that died of the same, the oldest first."""

    @app.job(retry=1)
    def bill(customer: str) -> None:
        raise Permanent("no such customer")

    jobs = [bill.enqueue(name).id for name in ("ann", "bob", "eve")]
    run()
    return jobs


@pytest.fixture
def fingerprint(client, dead):
    (group,) = client.get("/api/dead").json()
    return group["fingerprint"]


def post(client, fingerprint, verb, status=202, **body):
    answer = client.post(f"/api/dead/{fingerprint}/{verb}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def ended(client, operation):
    def look():
        found = client.get(f"/api/bulk/{operation['id']}").json()
        return found if found["state"] != "running" else None

    return eventually(look, "the operation ends")


def states(app, jobs):
    return [job and job.state for job in map(app.store.get, jobs)]


def test_a_group_shows_its_jobs_and_how_they_died(client, dead, fingerprint):
    found = client.get(f"/api/dead/{fingerprint[:6]}").json()
    assert (found["group"]["jobs"], found["group"]["type"], found["group"]["status"]) == (3, "bill", "open")
    assert [job["id"] for job in found["jobs"]] == dead[::-1]
    frame = found["attempt"]["frames"][-1]
    assert (frame["function"], frame["code"]) == ("bill", 'raise Permanent("no such customer")')
    assert client.get("/api/dead/0000").json()["code"] == "not_found"


def test_one_is_retried_then_all(client, app, dead, fingerprint):
    found = ended(client, post(client, fingerprint, "retry", one=True, note="better now?"))
    assert (found["matched"], found["changed"], found["state"]) == (1, 1, "finished")
    assert states(app, dead) == ["dead", "dead", "queued"]
    found = ended(client, post(client, fingerprint, "retry", stagger="10m"))
    assert (found["matched"], found["changed"]) == (2, 2)
    assert set(states(app, dead)) <= {"queued", "scheduled"}
    assert app.store.actions(dead[2], 1)[0].actor == "ann"


def test_arguments_are_amended_and_jobs_purged(client, app, dead, fingerprint):
    assert ended(client, post(client, fingerprint, "amend", set={"customer": "amy"}))["changed"] == 3
    assert {json.loads(app.store.get(job).payload)["customer"] for job in dead} == {"amy"}
    assert ended(client, post(client, fingerprint, "purge"))["changed"] == 3
    assert states(app, dead) == [None] * 3


def test_what_is_decided_about_a_group(client, dead, fingerprint):
    change = post(client, fingerprint, "ignore", 200, note="known")
    assert (change["before"], change["after"]) == ({"status": "open"}, {"status": "ignored"})
    assert client.get("/api/dead").json() == []
    (group,) = client.get("/api/dead", params={"everything": True}).json()
    assert (group["status"], group["actor"], group["note"]) == ("ignored", "ann", "known")
    assert post(client, fingerprint, "resolve", 200)["after"] == {"status": "resolved"}
    assert post(client, fingerprint, "reopen", 200)["after"] == {"status": "open"}


@pytest.mark.engines("memory")
def test_mistakes_and_those_who_may_not(client, site, app, dead, fingerprint):
    assert "takes no stagger" in post(client, fingerprint, "retry", 422, one=True, stagger="1m")["detail"]
    assert "give set or remove" in post(client, fingerprint, "amend", 422)["detail"]
    for access in ("viewer", Access("admin", tenant="acme")):
        for verb in ("retry", "purge", "amend", "ignore", "resolve", "reopen"):
            post(site(access), fingerprint, verb, 403)
    assert states(app, dead) == ["dead"] * 3

"""Operations on many jobs over HTTP: previewed, run in the background, stopped, resumed; and a tenant reaches its own jobs only."""

import threading

import pytest
from starlette.testclient import TestClient

from mainstay import Review, StoreError
from mainstay.control import bulk_run
from mainstay.web import bulk_runs
from mainstay.web.roles import Access
from tests.contract.building import FINAL, draft, transition
from tests.waiting import eventually

ENDED = ("finished", "stopped", "failed")


@pytest.fixture
def small(monkeypatch):
    """Chunks of two jobs."""
    for name, verb in bulk_run.VERBS.items():
        monkeypatch.setitem(bulk_run.VERBS, name, verb._replace(chunk=min(verb.chunk, 2)))


@pytest.fixture
def gate(monkeypatch):
    """Lets chunks pass only while it is open; it is closed at first. At the end it is open."""
    gate, held = threading.Event(), threading.Event()
    progress = bulk_runs.BulkRun.progress

    def waiting(run, step):
        held.set()
        assert gate.wait(30)
        progress(run, step)

    monkeypatch.setattr(bulk_runs.BulkRun, "progress", waiting)
    gate.held = held
    yield gate
    gate.set()


def fill(desk, count, state="dead", **given):
    jobs = [job for job, _ in desk.store.enqueue([draft(**given) for _ in range(count)], desk.now)]
    if state == "dead":
        desk.store.finish([transition(job, FINAL, desk.now) for job in desk.take(count)])
    return jobs


def post(client, status, **body):
    answer = client.post("/api/bulk", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def ended(client, id):
    """The operation when it has ended."""

    def look():
        found = client.get(f"/api/bulk/{id}").json()
        return found if found["state"] in ENDED else None

    return eventually(look, f"the operation {id} ends")


def states(desk, jobs):
    return [desk.state(job) for job in jobs]


def test_a_preview_counts_by_type_and_changes_nothing(client, desk):
    jobs = fill(desk, 3)
    found = post(client, 200, action="retry", q="state:dead", dry_run=True)
    assert (found["matched"], found["types"], found["state"]) == (3, {"work": 3}, "previewed")
    assert (found["changed"], found["search"], found["actor"]) == (0, "state:dead", "ann")
    assert states(desk, jobs) == ["dead"] * 3
    assert client.get("/api/bulk").json() == []


def test_an_operation_runs_in_the_background_and_is_in_the_audit_trail(client, desk, app, small):
    jobs = fill(desk, 5)
    begun = post(client, 202, action="retry", q="state:dead", arguments={"note": "fixed"}, expected=5)
    found = ended(client, begun["id"])
    assert (found["state"], found["matched"], found["changed"], found["done"]) == ("finished", 5, 5, 5)
    assert (found["refused"], found["left"], found["resumable"], found["error"]) == ({}, None, False, None)
    assert found["rate"] > 0
    assert states(desk, jobs) == ["queued"] * 5
    (line,) = app.bulk_operations(finished=True)
    assert (line.id, line.actor, line.search) == (begun["id"], "ann", "state:dead")
    assert [each["id"] for each in client.get("/api/bulk").json()] == [begun["id"]]


def test_another_server_finds_it_in_the_audit_trail(client, site, desk, small):
    fill(desk, 3)
    mine = ended(client, post(client, 202, action="delete", q="state:dead")["id"])
    other = site().get(f"/api/bulk/{mine['id']}").json()
    same = ("id", "action", "actor", "search", "matched", "changed", "refused", "done", "state", "resumable")
    assert [other[name] for name in same] == [mine[name] for name in same]
    assert site().get("/api/bulk/NOTTHERE").status_code == 404


def test_it_is_stopped_between_two_chunks_and_resumed(client, site, desk, small, gate):
    jobs = fill(desk, 6)
    begun = post(client, 202, action="retry", q="state:dead")
    assert gate.held.wait(10)
    assert client.post(f"/api/bulk/{begun['id']}/resume").status_code == 409
    assert client.post(f"/api/bulk/{begun['id']}/stop").json()["state"] == "running"
    gate.set()
    found = ended(client, begun["id"])
    assert (found["state"], found["changed"], found["resumable"]) == ("stopped", 2, True)
    assert states(desk, jobs).count("queued") == 2
    elsewhere = site(Access("operator", actor="eve"))  # another server goes on
    resumed = elsewhere.post(f"/api/bulk/{begun['id']}/resume")
    assert (resumed.status_code, resumed.json()["state"]) == (202, "running")
    assert ended(elsewhere, begun["id"])["changed"] == 6
    assert states(desk, jobs) == ["queued"] * 6
    assert elsewhere.post(f"/api/bulk/{begun['id']}/resume").status_code == 409
    assert elsewhere.post(f"/api/bulk/{begun['id']}/stop").status_code == 409


@pytest.mark.engines("memory")
def test_a_stop_behind_the_last_chunk_finds_it_finished(client, desk, gate):
    fill(desk, 2)
    begun = post(client, 202, action="retry", q="state:dead")
    assert gate.held.wait(10)
    client.post(f"/api/bulk/{begun['id']}/stop")
    gate.set()
    found = ended(client, begun["id"])
    assert (found["state"], found["changed"], found["resumable"]) == ("finished", 2, False)


@pytest.mark.engines("memory")
def test_a_copy_is_shown_while_this_server_remembers_it(client, site, desk, small):
    fill(desk, 3)
    begun = post(client, 202, action="copy", q="state:dead")
    found = ended(client, begun["id"])
    assert (found["state"], found["changed"], found["resumable"]) == ("finished", 3, False)
    assert site().get("/api/bulk").json() == []


def test_jobs_by_id(client, desk, small):
    jobs = fill(desk, 3)
    running = desk.run().id
    begun = post(client, 202, action="delete", ids=[*jobs, running])
    found = ended(client, begun["id"])
    assert (found["matched"], found["changed"], found["refused"]) == (4, 3, {"running": 1})
    assert (found["search"], found["state"]) == ("4 by id", "finished")
    assert states(desk, jobs) == [None] * 3


@pytest.mark.parametrize(
    ("action", "arguments", "after"),
    [
        ("cancel", {}, lambda job: job.state == "cancelled"),
        ("reprioritise", {"priority": 7}, lambda job: job.priority == 7),
        ("requeue", {"queue": "slow", "force": True}, lambda job: job.queue == "slow"),
        ("reschedule", {"delay": "1h"}, lambda job: job.state == "scheduled"),
        ("amend", {"set": {"a.b": 1}, "note": "moved"}, lambda job: job.payload == '{"a":{"b":1}}'),
    ],
)
@pytest.mark.engines("memory", "postgres18", "valkey")
def test_actions_on_waiting_jobs(client, desk, action, arguments, after):
    jobs = fill(desk, 2, "queued")
    begun = post(client, 202, action=action, q="state:queued", arguments=arguments)
    assert ended(client, begun["id"])["changed"] == 2
    assert all(after(desk.job(job)) for job in jobs)


@pytest.mark.engines("memory")
def test_reviews_are_decided_by_those_who_may(site, client, desk, app, run):
    @app.job
    def pay(amount: int) -> int:
        raise Review("so much?", amount, deciders=["role:boss"])

    jobs = [pay.enqueue(n) for n in (1, 2)]
    run()
    denied = ended(client, post(client, 202, action="approve", q="state:review")["id"])
    assert (denied["changed"], denied["refused"]) == (0, {"denied": 2})
    boss = site(Access("operator", roles=("boss",)))
    ended(boss, post(boss, 202, action="approve", q="state:review", arguments={"output": 5})["id"])
    assert [job.job().result for job in jobs] == [5, 5]


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ({"action": "retry"}, "which jobs?"),
        ({"action": "retry", "q": "state:dead", "ids": []}, "which jobs?"),
        ({"action": "retry", "q": "state:ded"}, 'did you mean "dead"?'),
        ({"action": "burn", "q": "state:dead"}, "action"),
        (
            {"action": "cancel", "q": "state:dead", "arguments": {"priority": 1}},
            "cancel takes no arguments, not priority",
        ),
        ({"action": "retry", "q": "state:dead", "arguments": {"stagger": "soon"}}, "stagger"),
        ({"action": "retry", "q": "state:dead", "arguments": {"staggr": "1m"}}, "staggr"),
        ({"action": "requeue", "q": "state:dead"}, "requeue needs"),
        ({"action": "reschedule", "q": "state:dead"}, "give delay= or at="),
        ({"action": "amend", "q": "state:dead"}, "amend needs"),
        ({"action": "reprioritise", "q": "state:dead", "arguments": {"priority": 9999}}, "-1000 to 1000"),
    ],
)
@pytest.mark.engines("memory")
def test_a_mistake_is_refused_before_anything_changes(client, desk, body, hint):
    jobs = fill(desk, 1)
    problem = post(client, 422, **body)
    assert hint in problem["detail"]
    assert states(desk, jobs) == ["dead"]


@pytest.mark.engines("memory")
def test_it_is_refused_if_much_has_changed_since_the_preview(client, desk):
    fill(desk, 30)
    problem = post(client, 409, action="delete", q="state:dead", expected=10)
    assert problem["detail"].startswith("30 jobs match now, 10 did when you looked")
    assert ended(client, post(client, 202, action="delete", q="state:dead", expected=19)["id"])["changed"] == 30


@pytest.mark.engines("memory")
def test_only_a_few_operations_are_at_work_at_once(client, desk, gate):
    fill(desk, 1)
    begun = [post(client, 202, action="retry", q="state:dead", dry_run=False)["id"]]
    assert gate.held.wait(10)
    fill(desk, 1, "queued", priority=1)
    begun += [
        post(client, 202, action="reprioritise", q="state:queued", arguments={"priority": n})["id"]
        for n in range(2, bulk_runs.MOST + 1)
    ]
    refused = client.post("/api/bulk", json={"action": "cancel", "q": "state:queued"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_operations")
    assert "retry-after" in refused.headers
    gate.set()
    assert {ended(client, id)["state"] for id in begun} == {"finished"}


@pytest.mark.engines("memory")
@pytest.mark.parametrize(("chunks", "resumable"), [(0, False), (1, True)])
def test_what_fails_says_so_and_can_be_resumed_from_its_place(client, desk, app, small, monkeypatch, chunks, resumable):
    jobs, retry, calls = fill(desk, 6), app.store.retry, []

    def failing(*given, **more):
        calls.append(given)
        if len(calls) > chunks:
            raise StoreError("the disk is full")
        return retry(*given, **more)

    monkeypatch.setattr(app.store, "retry", failing)
    found = ended(client, post(client, 202, action="retry", q="state:dead")["id"])
    assert (found["state"], found["error"]) == ("failed", "the disk is full")
    assert (found["changed"], found["resumable"]) == (2 * chunks, resumable)
    monkeypatch.undo()
    again = client.post(f"/api/bulk/{found['id']}/resume")
    assert again.status_code == (202 if resumable else 409)
    if resumable:
        assert ended(client, found["id"])["changed"] == 6
        assert states(desk, jobs) == ["queued"] * 6


@pytest.mark.engines("memory")
def test_an_error_of_ours_is_logged_and_not_told(client, desk, app, monkeypatch, caplog):
    fill(desk, 1)
    monkeypatch.setattr(app.store, "retry", lambda *_, **__: 1 / 0)
    found = ended(client, post(client, 202, action="retry", q="state:dead")["id"])
    assert (found["state"], found["error"]) == ("failed", "the server's log has the traceback")
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.engines("memory")
def test_a_call_that_is_repeated_under_its_key_begins_nothing_new(client, desk, app):
    fill(desk, 3)
    body = {"action": "copy", "q": "state:dead", "key": "after the fix", "expected": 3}
    assert post(client, 200, **body, dry_run=True)["state"] == "previewed"
    first = post(client, 202, **body)
    ended(client, first["id"])
    again = post(client, 202, **body)
    assert (again["id"], again["state"]) == (first["id"], "finished")
    assert len(app.search("state:queued", 10).ids) == 3
    other = post(client, 202, **body | {"key": "once more"})
    assert ended(client, other["id"])["changed"] == 3
    assert len(app.search("state:queued", 10).ids) == 6
    post(client, 422, **body | {"key": ""})


# tokens ---------------------------------------------------------------------------------------------------------------
@pytest.fixture
def bearer(app):
    """Return a client of one site that calls with a new token, and the token: `bearer("ada", tenant="acme")`."""
    shared = app.dashboard()

    def bearer(name, **given):
        token = app.tokens.create(name, "operator", **given)
        return TestClient(shared, headers={"Authorization": f"Bearer {token.text}"}), token

    return bearer


@pytest.mark.engines("memory")
@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_an_operation_stops_with_the_token_that_began_it(bearer, desk, app, clock, small, gate, end):
    jobs = fill(desk, 6)
    ada, token = bearer("ada", expires="1h")
    bob, _ = bearer("bob", expires="2h")
    begun = post(ada, 202, action="retry", q="state:dead")
    assert gate.held.wait(10)
    if end == "revoked":
        app.tokens.revoke(token.id)
    else:
        clock.advance("1h")
    gate.set()
    found = ended(bob, begun["id"])
    assert (found["state"], found["changed"], found["resumable"]) == ("stopped", 2, True)
    assert "was revoked or has expired" in found["error"]
    assert bob.post(f"/api/bulk/{begun['id']}/resume").status_code == 202
    assert ended(bob, begun["id"])["changed"] == len(jobs)


@pytest.mark.engines("memory")
def test_no_tenant_takes_the_operations_of_another(bearer, desk, gate, monkeypatch):
    monkeypatch.setattr(bulk_runs, "MOST", 1)
    monkeypatch.setattr(bulk_runs, "OF_ALL", 2)
    for tenant in ("acme", "other", "third"):
        fill(desk, 1, tenant=tenant)
    acme, other, third = (bearer(name, tenant=name)[0] for name in ("acme", "other", "third"))
    begun = post(acme, 202, action="retry", q="state:dead")["id"]
    assert gate.held.wait(10)
    assert "1 operations" in post(acme, 429, action="retry", q="state:dead")["detail"]
    theirs = post(other, 202, action="retry", q="state:dead")["id"]
    assert "2 operations" in post(third, 429, action="retry", q="state:dead")["detail"]
    gate.set()
    assert (ended(acme, begun)["changed"], ended(other, theirs)["changed"]) == (1, 1)


@pytest.mark.engines("memory")
def test_a_tenant_does_not_learn_what_is_wrong_with_the_store(bearer, desk, app, monkeypatch):
    def failing(*_, **__):
        raise StoreError("no space left in /srv/jobs.db")

    fill(desk, 1, tenant="acme")
    acme, _ = bearer("acme", tenant="acme")
    monkeypatch.setattr(app.store, "retry", failing)
    found = ended(acme, post(acme, 202, action="retry", q="state:dead")["id"])
    assert (found["state"], "jobs.db" in found["error"]) == ("failed", False)


# tenants ----------------------------------------------------------------------------------------------------------------
def test_a_tenant_reaches_its_own_jobs_only(client, site, desk, small):
    mine = fill(desk, 2, tenant="acme") + fill(desk, 1, tenant="acme/north")
    theirs = fill(desk, 2, tenant="other")
    acme, other = (site(Access("operator", actor=name, tenant=name)) for name in ("acme", "other"))
    assert post(acme, 200, action="delete", q="state:dead", dry_run=True)["matched"] == 3
    for ids in (theirs, [mine[0], theirs[0]], ["nothing"]):
        assert post(acme, 404, action="delete", ids=ids)["code"] == "not_found"
    assert post(acme, 200, action="delete", q="tenant:other", dry_run=True)["matched"] == 0
    begun = post(acme, 202, action="retry", q="state:dead")
    found = ended(acme, begun["id"])
    assert (found["changed"], found["search"]) == (3, "state:dead")
    assert (states(desk, mine), states(desk, theirs)) == (["queued"] * 3, ["dead"] * 2)
    assert [each["id"] for each in acme.get("/api/bulk").json()] == [begun["id"]]
    fresh = site(Access("viewer", tenant="acme")).get("/api/bulk").json()  # a server that knows the audit trail only
    assert [(each["id"], each["search"]) for each in fresh] == [(begun["id"], "state:dead")]
    assert other.get("/api/bulk").json() == []
    for verb in ("stop", "resume"):
        assert other.post(f"/api/bulk/{begun['id']}/{verb}").status_code == 404
    assert [each["id"] for each in client.get("/api/bulk").json()] == [begun["id"]]


@pytest.mark.engines("memory")
def test_operations_of_the_installation_are_not_a_tenants(client, site, desk):
    fill(desk, 2, tenant="acme")
    begun = post(client, 202, action="retry", q="tenant:acme")
    ended(client, begun["id"])
    acme = site(Access("admin", tenant="acme"))
    assert acme.get("/api/bulk").json() == []
    assert acme.get(f"/api/bulk/{begun['id']}").status_code == 404


@pytest.mark.engines("memory")
def test_viewers_begin_nothing(site, desk):
    jobs = fill(desk, 1)
    post(site("viewer"), 403, action="delete", ids=jobs)
    assert states(desk, jobs) == ["dead"]

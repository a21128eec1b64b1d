"""What operators do to one job over HTTP: it is done, it is in the audit trail, and it is refused to others."""

import json

import pytest

from mainstay import Review
from mainstay.web.roles import Access

SECRET = "hunter2"


def post(client, job, verb, status=200, **body):
    answer = client.post(f"/api/jobs/{job}/{verb}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def audit(app, job):
    return [(line.actor, line.action) for line in app.store.actions(job, 10)]


def test_retry_cancel_copy_and_delete(client, desk, app):
    dead = desk.bring("dead")
    assert post(client, dead, "retry", note="once more") == {"id": dead, "result": "queued"}
    assert app.store.actions(dead, 1)[0].detail["note"] == "once more"
    assert post(client, dead, "cancel") == {"id": dead, "result": "cancelled"}
    copy = post(client, dead, "copy")
    assert (copy["result"], desk.job(copy["id"]).parent) == ("copied", dead)
    assert audit(app, dead) == [("ann", "cancel"), ("ann", "retry")]
    gone = client.delete(f"/api/jobs/{dead}")
    assert gone.json() == {"id": dead, "result": "deleted"}
    assert client.get(f"/api/jobs/{dead}").json()["code"] == "not_found"


def test_a_refusal_says_what_to_do(client, desk):
    done, running = desk.bring("completed"), desk.bring("running")
    assert "enqueues a copy" in post(client, done, "retry", 409)["detail"]
    assert "nothing to decide" in post(client, done, "approve", 409)["detail"]
    assert client.delete(f"/api/jobs/{running}").json()["detail"] == "the job is running: cancel it first"
    assert "is running" in post(client, running, "amend", 409, set={"a": 1})["detail"]
    assert "has not ended" in post(client, running, "copy", 409)["detail"]


def test_queue_priority_and_time(client, desk, clock):
    job = desk.add()
    assert post(client, job, "reprioritise", priority=9)["result"] == "changed"
    assert post(client, job, "requeue", queue="slow", force=True)["result"] == "changed"
    assert post(client, job, "reschedule", delay="1h")["result"] == "changed"
    found = desk.job(job)
    assert (found.priority, found.queue, found.state) == (9, "slow", "scheduled")
    assert found.run_at == clock.now() + 3_600_000
    assert "is so already" in post(client, job, "reprioritise", 409, priority=9)["detail"]
    assert "give delay= or at=" in post(client, job, "reschedule", 422)["detail"]
    assert post(client, job, "reprioritise", 422)["code"] == "not_valid"


@pytest.mark.engines("memory")
def test_a_queue_that_nobody_uses_needs_force(client, desk, app):
    @app.job(queue="mails")
    def mail() -> None: ...

    app.store.register_types([app.registry["mail"].info(0, "mail")])
    assert 'did you mean "mails"?' in post(client, desk.add(), "requeue", 422, queue="mail")["detail"]


# arguments --------------------------------------------------------------------------------------------------------------
@pytest.fixture
def letter(app, desk):
    """A dead job with a secret among its arguments."""

    @app.job(name="work")
    def work(to: str = "", size: int = 1, password: str = "", login: dict[str, str] | None = None) -> None: ...

    args = {"to": "ann", "size": 1, "password": SECRET, "login": {"credentials": SECRET, "user": "u"}}
    return desk.bring("dead", payload=json.dumps(args))


def args_of(desk, job):
    return json.loads(desk.job(job).payload)


def test_fields_are_set_and_removed_and_secrets_stay(client, desk, app, letter):
    assert (
        post(client, letter, "amend", set={"to": "bob", "login.user": "v"}, remove=["size"], note="moved")["result"]
        == "changed"
    )
    assert args_of(desk, letter) == {
        "to": "bob", "password": SECRET, "login": {"credentials": SECRET, "user": "v"},
    }  # fmt: skip
    (line,) = app.store.actions(letter, 5)
    assert (line.actor, line.action, line.detail["note"]) == ("ann", "amend", "moved")
    assert "ann" in json.dumps(line.detail)  # what it was
    assert SECRET not in json.dumps(line.detail)


def test_a_whole_payload_as_the_api_gave_it_restores_its_secrets(client, desk, letter):
    shown = client.get(f"/api/jobs/{letter}").json()["job"]["args"]
    assert SECRET not in json.dumps(shown)
    post(client, letter, "amend", args=shown | {"to": "bob"})
    assert args_of(desk, letter)["password"] == SECRET
    assert args_of(desk, letter)["to"] == "bob"
    post(client, letter, "amend", args=shown | {"to": "bob", "password": "new", "login": {"credentials": "other"}})
    assert args_of(desk, letter) == {"to": "bob", "size": 1, "password": "new", "login": {"credentials": "other"}}
    wrong = post(client, letter, "amend", 422, set={"to": "[redacted:password]"})
    assert "stood for nothing" in wrong["detail"]


@pytest.mark.parametrize(
    ("body", "code", "hint"),
    [
        ({"set": {"size": "large"}}, "invalid_payload", "size"),
        ({"set": {"colour": 1}}, "invalid_payload", 'no argument "colour"'),
        ({"set": {"to.name": 1}}, "invalid_payload", "to is no object"),
        ({"set": {"to..x": 1}}, "usage_error", "is named by a path"),
        ({}, "usage_error", "what is to change?"),
        ({"args": {"to": "bob"}, "remove": ["size"]}, "usage_error", "not both"),
    ],
)
@pytest.mark.engines("memory")
def test_what_the_type_does_not_take_is_refused(client, desk, letter, body, code, hint):
    before = args_of(desk, letter)
    problem = post(client, letter, "amend", 422, **body)
    assert (problem["code"], hint in problem["detail"]) == (code, True), problem
    assert (args_of(desk, letter), desk.state(letter)) == (before, "dead")


def test_amend_and_retry_happen_in_this_order(client, desk, letter):
    assert post(client, letter, "amend", set={"size": 2}, retry=True) == {"id": letter, "result": "queued"}
    assert (args_of(desk, letter)["size"], desk.state(letter)) == (2, "queued")
    assert post(client, letter, "amend", set={"size": 2}, retry=True)["result"] == "queued"  # so already, and it runs
    blocked = desk.bring("blocked")
    assert "leave retry out" in post(client, blocked, "amend", 409, set={"size": 3}, retry=True)["detail"]
    assert args_of(desk, blocked) == {}


def test_arguments_that_do_not_fit_are_not_run(client, desk, letter):
    assert post(client, letter, "amend", 422, set={"size": "large"}, retry=True)["code"] == "invalid_payload"
    assert desk.state(letter) == "dead"


@pytest.mark.engines("memory")
def test_a_retry_that_fails_says_that_the_arguments_are_changed(client, desk, app, letter, monkeypatch):
    """Another process may cancel or claim the job in between: the real store refuses the retry then."""
    change = app.store.change

    def changed(*given, **more):
        found = change(*given, **more)
        app.store.retry([letter], desk.now, "other")
        desk.take_this(letter)
        return found

    monkeypatch.setattr(app.store, "change", changed)
    problem = post(client, letter, "amend", 409, set={"size": 2}, retry=True)
    assert problem["detail"].startswith("the arguments are changed, but the job was not run again: the job is running")
    assert args_of(desk, letter)["size"] == 2


# reviews ----------------------------------------------------------------------------------------------------------------
@pytest.fixture
def asked(app, run):
    @app.job
    def pay(amount: int) -> dict[str, int | str]:
        raise Review("so much?", {"pay": amount, "api_key": SECRET}, deciders=["bob", "role:boss"])

    def asked():
        handle = pay.enqueue(100)
        run()
        return handle

    return asked


def test_those_who_may_decide_a_review(site, client, asked, app):
    bob, boss = site(Access("operator", actor="bob")), site(Access("operator", actor="eve", roles=("boss",)))
    job = asked()
    assert post(client, job.id, "approve", 403)["code"] == "not_allowed"
    assert post(bob, job.id, "approve", note="fine")["result"] == "approved"
    assert job.job().result == {"pay": 100, "api_key": SECRET}
    second = asked().id
    assert post(boss, second, "reject", note="too much")["result"] == "rejected"
    assert audit(app, second) == [("eve", "reject")]
    assert post(client, asked().id, "retry", 403)["code"] == "not_allowed"
    assert post(boss, asked().id, "retry")["result"] == "queued"


def test_another_output_keeps_the_secrets_behind_their_marks(site, asked):
    bob, job = site(Access("operator", actor="bob")), asked()
    shown = bob.get(f"/api/jobs/{job.id}").json()["review"]["output"]
    assert shown["api_key"].startswith("[redacted:")
    assert post(bob, job.id, "approve", output=shown | {"pay": 50})["result"] == "approved"
    assert job.job().result == {"pay": 50, "api_key": SECRET}
    other = asked()
    assert post(bob, other.id, "approve", 422, output={"pay": [1]})["code"] == "invalid_payload"
    assert other.state == "review"


# who ----------------------------------------------------------------------------------------------------------------------
VERBS = {
    "retry": {}, "cancel": {}, "approve": {}, "reject": {}, "copy": {}, "amend": {"set": {"a": 1}}, "reprioritise": {"priority": 1},
    "requeue": {"queue": "x", "force": True}, "reschedule": {"delay": 1},
}  # fmt: skip


def test_viewers_and_other_tenants_change_nothing(site, desk, app):
    job = desk.bring("dead", tenant="acme")
    for access, status in (
        ("viewer", 403),
        (Access("admin", tenant="other"), 404),
        (Access("viewer", tenant="acme"), 403),
    ):
        client = site(access)
        for verb, body in VERBS.items():
            post(client, job, verb, status, **body)
        assert client.delete(f"/api/jobs/{job}").status_code == status
    assert audit(app, job) == []
    own = site(Access("operator", actor="amy", tenant="acme"))
    post(own, job, "retry")
    assert audit(app, job) == [("amy", "retry")]

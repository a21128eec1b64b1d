"""The page of one job over HTTP: attempts with their frames, log, timeline, stages, relatives, and the commands that do it again."""

import json
import shlex
import subprocess
import sys

import pytest

from mainstay import Permanent, Review, ctx
from mainstay.web.api import job_page
from mainstay.web.roles import Access


@pytest.fixture
def failing(app, run):
    @app.job(retry=1, timeout="90s")
    def bill(customer: str, password: str = "", amount: int = 1) -> None:
        with ctx.stage("read"):
            ctx.log("reading", rows=3)
        ctx.log("slow today", level="warning")
        raise Permanent("no such customer")

    handle = bill.enqueue("ann", password="hunter2", amount=7)
    run()
    return handle.id


def page(client, job):
    answer = client.get(f"/api/jobs/{job}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_job_that_failed_tells_how(client, failing):
    found = page(client, failing[:20])  # the beginning of an id is enough
    job = found["job"]
    assert (job["id"], job["state"], job["timeout"], job["keep_dead"]) == (failing, "dead", 90.0, None)
    assert job["args"] == {"customer": "ann", "password": "[redacted:password]", "amount": 7}
    assert job["updated_at"] == job["finished_at"]
    (attempt,) = found["attempts"]
    assert (attempt["number"], attempt["outcome"], attempt["error"]) == (1, "failed", "Permanent: no such customer")
    frame = attempt["frames"][-1]
    assert (frame["function"], frame["user"]) == ("bill", True)
    assert frame["code"] == 'raise Permanent("no such customer")'
    assert "token" not in attempt
    assert [(line["number"], line["attempt"], line["message"]) for line in found["logs"]] == [
        (1, 1, "reading"), (2, 1, "read done"), (3, 1, "slow today"),
    ]  # fmt: skip
    assert found["logs_total"] == 3
    assert found["why"] is None


def test_the_timeline_and_the_stages(client, failing, app, clock):
    clock.advance(60)
    app.retry(failing, "try again", actor="ann")
    found = page(client, failing)
    told = [(each["kind"], each["what"], each["text"]) for each in found["timeline"]]
    assert told[0] == ("created", "created", "")
    assert told[2:] == [
        ("stage", "stage read done", "in 0ms"),
        ("log", "warning", "slow today"),
        ("ended", "attempt 1 failed", "Permanent: no such customer"),
        ("retried", "run again by ann", "try again"),
    ]
    assert (found["timeline"][-2]["took"], found["timeline"][-1]["took"]) == (60.0, None)
    assert [(each["name"], each["attempt"], each["took"], each["failed"]) for each in found["stages"]] == [
        ("read", 1, 0.0, False)
    ]
    (action,) = found["actions"]
    assert (action["actor"], action["action"], action["detail"]["note"]) == ("ann", "retry", "try again")


def test_the_end_of_a_long_log(client, failing, monkeypatch):
    monkeypatch.setattr(job_page, "READ", 2)
    monkeypatch.setattr(job_page, "SHOWN", 1)
    found = page(client, failing)
    assert ([line["number"] for line in found["logs"]], found["logs_total"]) == ([3], 3)


def test_relatives_are_shown_to_those_who_see_them(client, site, desk, app):
    parent = desk.add(tenant="acme")
    child = desk.add(parent=parent, tenant="acme")
    hidden = desk.add(parent=parent, tenant="other")
    assert {each["id"] for each in page(client, parent)["children"]} == {child, hidden}
    mine = page(site(Access("viewer", tenant="acme")), parent)
    assert [each["id"] for each in mine["children"]] == [child]


def test_a_waiting_job_tells_why_it_waits(client, desk, app):
    app.pause(reason="maintenance")
    job = desk.add()
    why = page(client, job)["why"]
    assert (why["reasons"][0]["kind"], why["state"]) == ("paused", "queued")
    assert client.get(f"/api/jobs/{job}/why").json() == why


def test_results_and_reviews(client, site, app, run):
    @app.job
    def pay(amount: int) -> dict[str, int]:
        if amount > 10:
            raise Review("so much?", {"pay": amount}, deciders=["bob"])
        return {"paid": amount}

    paid, asked = pay.enqueue(1).id, pay.enqueue(100).id
    run()
    assert (page(client, paid)["result"], page(client, paid)["review"]) == ({"paid": 1}, None)
    found = page(client, asked)
    assert (found["review"]["question"], found["review"]["output"]) == ("so much?", {"pay": 100})
    assert found["review"]["may_decide"] is False  # the client is ann
    assert found["actions_possible"] == ["cancel", "delete"]
    bob = site(Access("operator", actor="bob"))
    assert page(bob, asked)["actions_possible"] == ["approve", "reject", "retry", "cancel", "delete"]


def test_what_is_possible_is_what_the_store_does(site, desk, app):
    """Each action that a page offers succeeds on a job in that state, and each other one is refused."""
    client = site()
    bodies = {
        "amend": {"set": {"n": 1}}, "reprioritise": {"priority": 7}, "requeue": {"queue": "slow", "force": True}, "reschedule": {"delay": 60},
    }  # fmt: skip
    verbs = ("retry", "cancel", "copy", "approve", "reject", *bodies)
    for state in ("queued", "scheduled", "blocked", "running", "review", "completed", "dead", "cancelled"):
        for verb in verbs:
            if (state, verb) == ("queued", "retry"):  # it is accepted and changes nothing, so no page offers it
                continue
            job = desk.bring(state)
            offered = verb in page(client, job)["actions_possible"]
            done = client.post(f"/api/jobs/{job}/{verb}", json=bodies.get(verb, {}))
            assert (done.status_code == 200) == offered, (state, verb, done.text)
            desk.store.delete([job], desk.now, "test")
            while desk.take():
                pass


def test_a_viewer_can_do_nothing(site, desk):
    job = desk.bring("dead")
    assert page(site("viewer"), job)["actions_possible"] == []
    assert page(site(read_only=True), job)["actions_possible"] == []


@pytest.mark.engines("sqlite")
def test_the_commands_do_the_job_again(client, app, engine_url, tmp_path):
    args = {"text": 'it\'s "7" $HOME `x`\n', "n": 7, "flag": None, "many": [1, {"a": "ü"}], "number": "7"}
    plain = {"to": "ann smith", "n": 7, "many": [1, 2]}
    for given in (args, plain):
        job = app.enqueue("any", given, queue="slow", priority=3, tags=["a b"], tenant="acme", ref="x/1")
        copy = page(client, job.id)["copy"]
        found = [_shell(copy["cli"], engine_url), _python(copy["python"], app)]
        for again in app.store.get_many(found):
            labels = again.queue, again.priority, again.tags, again.tenant, again.ref
            assert (json.loads(again.payload), labels) == (given, ("slow", 3, ("a b",), "acme", "x/1"))
        words = shlex.split(copy["curl"])
        assert words[:2] == ["curl", "http://testserver/api/jobs"]
        sent = client.post("/api/jobs", json=json.loads(words[-1]) | {"force": True})
        assert json.loads(app.store.get(sent.json()["id"]).payload) == given


def _shell(text, url):
    line = text.replace("mainstay enqueue", f"{sys.executable} -m mainstay enqueue", 1) + f" --url={shlex.quote(url)}"
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def _python(text, app):
    return eval(text, {"app": app}).id


def test_secrets_are_in_no_command(client, failing):
    copy = page(client, failing)["copy"]
    assert not any("hunter2" in text for text in copy.values())
    assert '"$MAINSTAY_TOKEN"' in copy["curl"]

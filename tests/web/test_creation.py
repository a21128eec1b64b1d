"""Jobs that are enqueued over HTTP: what is checked, for whom, and what the answer says."""

import json

import pytest

from mainstay import Mainstay
from mainstay.web.roles import Access


@pytest.fixture
def types(app):
    """A type whose code is here, and one that a worker elsewhere has registered."""
    other = Mainstay(store=app.store, clock=app.clock)

    @other.job
    def resize(path: str, width: int = 800) -> None: ...

    app.store.register_types([other.registry["resize"].info(app.clock.now(), "resize")])

    @app.job
    def mail(to: str) -> None: ...


def post(client, **body):
    return client.post("/api/jobs", json=body)


def test_a_job_is_enqueued_with_its_options(client, app, types, clock):
    parent = post(client, type="mail", args={"to": "ann"}).json()["id"]
    made = post(
        client, type="resize", args={"path": "a.png"}, queue="slow", priority=5, delay="5m", key="k", unique="start",
        tenant="acme", ref="file/1", tags=["eu"], start_by="1h", timeout=None, attempts=7, after=[parent], if_parent_fails="run",
    )  # fmt: skip
    assert made.status_code == 201, made.text
    assert made.json()["created"] is True
    job = app.store.get(made.json()["id"])
    assert (json.loads(job.payload), job.queue, job.priority) == ({"path": "a.png"}, "slow", 5)
    assert (job.run_at, job.start_by) == (clock.now() + 300_000, clock.now() + 3_600_000)
    assert (job.key, job.tenant, job.ref, job.tags) == ("k", "acme", "file/1", ("eu",))
    assert (job.timeout, job.max_attempts) == (None, 7)
    page = client.get(f"/api/jobs/{job.id}").json()
    assert [each["id"] for each in page["after"]] == [parent]


def test_a_job_with_a_key_that_is_taken_is_the_one_that_has_it(client, types):
    first = post(client, type="mail", args={"to": "ann"}, key="k")
    again = post(client, type="mail", args={"to": "bob"}, key="k")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {"id": first.json()["id"], "created": False}


def test_a_start_by_may_be_an_instant(client, app, types):
    made = post(client, type="mail", args={"to": "ann"}, start_by="2100-01-01T00:00:00Z")
    assert app.store.get(made.json()["id"]).start_by == 4_102_444_800_000


@pytest.mark.parametrize(
    ("body", "code", "hint"),
    [
        ({"type": "mial"}, "unknown_type", 'did you mean "mail"?'),
        ({"type": "mail", "args": {"ot": "ann"}}, "invalid_payload", 'mail has no argument "ot"'),
        ({"type": "resize", "args": {"path": 7}}, "invalid_payload", "payload.path is 7, not of type string"),
        ({"type": "resize", "args": {"path": "a", "widht": 1}}, "invalid_payload", 'did you mean "width"?'),
        ({"type": "mail", "args": {"to": "a"}, "priority": 5_000}, "usage_error", "from -1000 to 1000"),
        ({"type": "mail", "args": {"to": "a"}, "delay": "soon"}, "usage_error", "is not a duration"),
        ({"type": "mail", "args": {"to": "a"}, "at": "2030-01-31"}, "usage_error", "time zone"),
        ({"type": "mail", "args": {"to": "a"}, "start_by": "2030-99-01"}, "usage_error", "is not an instant"),
        ({"type": "mail", "args": {"to": "a"}, "unique": "start"}, "usage_error", "needs key="),
        ({"type": "mail", "args": {"to": "a"}, "delay": 1, "at": "2030-01-31T00:00Z"}, "usage_error", "not both"),
        ({"type": "mail", "args": []}, "not_valid", "$.args"),
        ({"type": "mail", "arguments": {}}, "not_valid", "arguments"),
        ({"args": {}}, "not_valid", "missing required field `type`"),
    ],
)
@pytest.mark.engines("memory")
def test_a_mistake_is_explained_and_nothing_is_enqueued(client, app, types, body, code, hint):
    answer = post(client, **body)
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
    assert hint in answer.json()["detail"]
    assert not app.search("").ids


@pytest.mark.engines("memory")
def test_a_parent_that_does_not_exist_is_not_found(client, types):
    answer = post(client, type="mail", args={"to": "a"}, after=["01JQ93ZK5M0000000000000000"])
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.engines("memory")
def test_force_enqueues_a_type_that_nobody_knows(site, client, app, types):
    assert post(client, type="later", args={"n": 1}, force=True).status_code == 201
    anybody = site(None, creation="open")
    assert post(anybody, type="mail", args={"to": "ann"}).status_code == 201
    assert post(anybody, type="later", force=True).json()["code"] == "unknown_type"


@pytest.mark.engines("memory")
def test_who_may_enqueue(site, app, types):
    body = {"type": "mail", "args": {"to": "ann"}}
    for client, status in (
        (site("viewer"), 403), (site("operator"), 201), (site(None), 401), (site(creation="off"), 403),
        (site(read_only=True), 403), (site("viewer", creation="open"), 201),
    ):  # fmt: skip
        assert post(client, **body).status_code == status


def test_a_tenant_enqueues_for_itself_only(site, app, types):
    acme = site(Access("operator", tenant="acme"))
    body = {"type": "mail", "args": {"to": "ann"}}
    mine, below = (post(acme, **body, **more).json()["id"] for more in ({}, {"tenant": "acme/north"}))
    assert [app.store.get(job).tenant for job in (mine, below)] == ["acme", "acme/north"]
    refused = post(acme, **body, tenant="other")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    theirs = app.enqueue("mail", {"to": "bob"}, tenant="other", key="k").id
    taken = post(acme, **body, key="k")
    assert (taken.status_code, taken.json()["code"]) == (409, "duplicate_key")
    assert theirs not in taken.text
    assert post(acme, **body, after=[theirs]).status_code == 404


@pytest.mark.engines("memory")
def test_a_disabled_type_and_a_full_queue_refuse(client, app, types):
    app.set_queue("default", max_depth=1)
    assert post(client, type="mail", args={"to": "ann"}).status_code == 201
    full = post(client, type="mail", args={"to": "bob"})
    assert (full.status_code, full.json()["code"]) == (429, "queue_full")
    app.disable("mail", reason="not today")
    disabled = post(client, type="mail", args={"to": "bob"})
    assert (disabled.status_code, disabled.json()["code"]) == (409, "type_disabled")


@pytest.mark.engines("memory")
def test_a_body_larger_than_a_job_may_be_is_refused(client, app, types):
    answer = post(client, type="mail", args={"to": "x" * (app.max_payload + 1)})
    assert answer.status_code == 422
    assert post(client, type="mail", args={"to": "x" * (app.max_payload + 100_000)}).status_code == 413

"""The document desk over HTTP: the API of its jobs by the paths of seed 002, who may use it, and the dashboard."""

import httpx2
import pytest

from examples.document_desk import pdfs
from examples.document_desk.world import Desk, world

MAIL = {"to": "ada@example.org", "template": "news", "data": {"name": "Ada", "month": "May"}}
SYNC = {"source": "candidates", "destination": "crm"}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """The web application as a process; no worker runs but the trigger."""
    folder = tmp_path_factory.mktemp("desk")
    with world(folder, f"sqlite:///{folder / 'desk.db'}") as around, pytest.MonkeyPatch.context() as patch:
        for name, value in around.environment.items():
            patch.setenv(name, value)
        with Desk() as web:
            yield web


@pytest.fixture
def client(desk):
    """A caller of the API in a role: `client("operator")`; without a role, one who is not known."""
    opened = []

    def made(role=None):
        headers = {"Authorization": f"Bearer {role}-token"} if role else {}
        opened.append(httpx2.Client(base_url=f"{desk.url}/jobs/api", headers=headers, timeout=40))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


def created(client, type, args):
    reply = client.post("/jobs", json={"type": type, "args": args})
    assert reply.status_code == 201, reply.text
    return reply.json()["id"]


def state(client, job):
    return client.get(f"/jobs/{job}").json()["job"]["state"]


def test_a_job_is_created_found_run_by_the_trigger_and_shown(client):
    """S2-02 to S2-05 and S2-52 to S2-54."""
    operator, admin = client("operator"), client("admin")
    job = created(operator, "email_notification", MAIL)
    found = operator.get("/jobs", params={"q": "type:email_notification state:queued"}).json()["jobs"]
    assert job in [each["id"] for each in found]
    done = admin.post("/jobs/trigger", json={"max_seconds": 25}).json()
    assert done["completed"] >= 1
    shown = operator.get(f"/jobs/{job}").json()
    assert (shown["job"]["state"], shown["job"]["args"]) == ("completed", MAIL)
    assert shown["result"]["message_id"] == f"<{job}@example.org>"
    assert len(shown["attempts"]) == 1
    assert {"logs", "actions", "timeline"} <= shown.keys()


def test_a_cv_is_uploaded_run_by_the_trigger_and_its_log_is_shown(desk, client):
    """S2-43 and S2-53."""
    cv = httpx2.post(f"{desk.url}/cvs", files={"file": ("cv.pdf", pdfs.scan())}).json()
    client("admin").post("/jobs/trigger", json={"max_seconds": 25})
    shown = client("viewer").get(f"/jobs/{cv['job']}").json()
    assert (shown["job"]["state"], shown["job"]["ref"]) == ("review", f"profile/{cv['profileId']}")
    assert "Extracted 0 characters" in [line["message"] for line in shown["logs"]]


def test_a_job_is_cancelled_retried_and_deleted(client):
    """S2-55."""
    operator = client("operator")
    job = created(operator, "data_sync", SYNC)
    assert operator.post(f"/jobs/{job}/cancel", json={}).status_code == 200
    assert state(operator, job) == "cancelled"
    assert operator.post(f"/jobs/{job}/retry", json={"note": "after all"}).status_code == 200
    assert state(operator, job) == "queued"
    operator.post(f"/jobs/{job}/cancel", json={})
    assert operator.delete(f"/jobs/{job}").status_code == 200
    assert operator.get(f"/jobs/{job}").status_code == 404


def test_the_configuration_of_workers_is_read_by_all_and_changed_by_an_admin(client):
    """S2-56 and S2-66."""
    change = {"name": "llm", "value": {"model": "small"}, "description": "What the extractor uses."}
    assert client("operator").put("/worker/config", json=change).status_code == 403
    assert client("admin").put("/worker/config", json=change).status_code == 200
    (found,) = [each for each in client("viewer").get("/worker/config").json() if each["name"] == "llm"]
    assert (found["value"], found["description"]) == (change["value"], change["description"])


@pytest.mark.parametrize(
    ("role", "method", "path", "status"),
    [
        (None, "GET", "/jobs", 401), ("viewer", "GET", "/jobs", 200), ("viewer", "POST", "/jobs", 403),
        ("operator", "POST", "/jobs/trigger", 403),
    ],
)  # fmt: skip
def test_each_role_may_do_what_is_its_own(client, role, method, path, status):
    """S2-66."""
    body = {"type": "data_sync", "args": SYNC} if method == "POST" else None
    assert client(role).request(method, path, json=body).status_code == status


@pytest.mark.parametrize("args", [{}, {"to": 7, "template": "news"}, {**MAIL, "more": 1}])
def test_arguments_that_do_not_fit_are_refused_with_what_is_wrong(client, args):
    """S2-69."""
    reply = client("operator").post("/jobs", json={"type": "email_notification", "args": args})
    assert (400 <= reply.status_code < 500, reply.json()["code"]) == (True, "invalid_payload")
    assert "email_notification" in reply.json()["detail"]


def test_the_dashboard_is_mounted(desk):
    reply = httpx2.get(f"{desk.url}/jobs/", headers={"Authorization": "Bearer viewer-token"})
    assert (reply.status_code, reply.headers["content-type"].partition(";")[0]) == (200, "text/html")

"""Due jobs run in the process of the server when an administrator asks for it."""

import threading

import pytest

from mainstay import Mainstay
from mainstay.web.roles import Access

pytestmark = pytest.mark.engines("sqlite", "postgres18", "valkey")


@pytest.fixture
def app(engine_url):
    """An application with the clock of the system: a drain is a worker."""
    app = Mainstay(engine_url)
    yield app
    app.close()


def test_what_is_due_runs(client, app):
    @app.job(retry=1)
    def work(n: int) -> int:
        return 1 // n

    jobs = [work.enqueue(n) for n in (1, 0, 1)]
    answer = client.post("/api/jobs/trigger", json={"max_seconds": 20})
    assert answer.status_code == 200, answer.text
    names = ("completed", "dead", "left", "running", "processed", "errors")
    assert [answer.json()[name] for name in names] == [2, 1, 0, 0, 3, 1]
    assert [job.state for job in jobs] == ["completed", "dead", "completed"]


def test_so_many_jobs_at_most(client, app):
    @app.job
    def work() -> None: ...

    for _ in range(3):
        work.enqueue()
    found = client.post("/api/jobs/trigger", json={"max_jobs": 2}).json()
    assert (found["completed"], found["left"]) == (2, 1)


def test_one_at_a_time_and_for_administrators(client, site, app):
    begun, go_on = threading.Event(), threading.Event()

    @app.job
    def work() -> None:
        begun.set()
        assert go_on.wait(20)

    work.enqueue()
    answers = []
    thread = threading.Thread(target=lambda: answers.append(client.post("/api/jobs/trigger", json={})))
    thread.start()
    assert begun.wait(20)
    second = site().post("/api/jobs/trigger", json={})
    go_on.set()
    thread.join()
    assert (second.status_code, second.json()["code"]) == (409, "conflict")
    assert answers[0].json()["completed"] == 1
    for access in ("operator", Access("admin", tenant="acme")):
        assert site(access).post("/api/jobs/trigger", json={}).status_code == 403


def test_it_needs_code_and_a_time(client, app):
    assert "no job types" in client.post("/api/jobs/trigger", json={}).json()["detail"]
    for wrong in ({"max_seconds": 301}, {"max_seconds": 0}, {"max_jobs": 0}):
        assert client.post("/api/jobs/trigger", json=wrong).status_code == 422

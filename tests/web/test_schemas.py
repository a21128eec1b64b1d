"""The OpenAPI description says what these resources return: each answer fits its schema, whole."""

import jsonschema
import pytest

from mainstay import Permanent, Review, ctx
from tests.waiting import eventually

pytestmark = pytest.mark.engines("memory")


@pytest.fixture
def jobs(app, run):
    """A completed, a dead and a reviewed job, and one that waits for them."""

    @app.job(retry=1)
    def work(n: int) -> dict[str, int]:
        with ctx.stage("count"):
            ctx.log("counting", n=n)
        if n == 1:
            raise Permanent("not one")
        if n == 2:
            raise Review("two?", {"n": 2}, expires="1h", remind="10m")
        return {"n": n}

    made = [work.options(tenant="acme", tags=["eu"]).enqueue(n).id for n in range(3)]
    run()
    return [*made, work.options(after=[made[2]], start_by="1h").enqueue(4).id]


@pytest.fixture
def fits(client):
    """Check an answer by the schema of its path."""
    described = client.get("/api/openapi.json").json()

    def fits(method, path, answer):
        responses = described["paths"][path][method]["responses"]
        found = responses.get(str(answer.status_code)) or responses["default"]
        schema = found["content"][answer.headers["content-type"].partition(";")[0]]["schema"]
        closed = {"components": _closed(described["components"])}
        jsonschema.Draft202012Validator(schema | closed).validate(answer.json())

    return fits


def _closed(components):
    """The schemas, with no room for fields that they do not name."""
    for schema in components["schemas"].values():
        if schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
    return components


def test_reads_return_what_is_described(client, fits, jobs):
    (group,) = client.get("/api/dead").json()
    for path in (
        "/api/jobs", "/api/jobs/facets", "/api/jobs/suggest", "/api/history", "/api/stuck", "/api/duplicates", "/api/reviews", "/api/dead",
        "/api/bulk",
    ):  # fmt: skip
        fits("get", path, client.get(path))
    for job in jobs:
        for path in ("/api/jobs/{id}", "/api/jobs/{id}/why", "/api/jobs/{id}/logs"):
            fits("get", path, client.get(path.format(id=job)))
    fits("get", "/api/dead/{fingerprint}", client.get(f"/api/dead/{group['fingerprint']}"))
    fits("get", "/api/jobs/{id}", client.get("/api/jobs/0000"))  # a problem


def test_changes_return_what_is_described(client, fits, jobs):
    (group,) = client.get("/api/dead").json()
    _, dead, asked, waiting = jobs
    fits("post", "/api/dead/{fingerprint}/ignore", client.post(f"/api/dead/{group['fingerprint']}/ignore", json={}))
    fits("post", "/api/jobs", client.post("/api/jobs", json={"type": "work", "args": {"n": 9}}))
    fits("post", "/api/jobs/{id}/approve", client.post(f"/api/jobs/{asked}/approve", json={"output": {"n": 7}}))
    fits("post", "/api/jobs/{id}/amend", client.post(f"/api/jobs/{waiting}/amend", json={"set": {"n": 8}}))
    begun = client.post("/api/bulk", json={"action": "retry", "ids": [dead]})
    fits("post", "/api/bulk", begun)
    path = f"/api/bulk/{begun.json()['id']}"
    eventually(lambda: client.get(path).json()["state"] == "finished", "the operation ends")
    fits("get", "/api/bulk/{id}", client.get(path))
    fits("post", "/api/bulk", client.post("/api/bulk", json={"action": "burn", "ids": [dead]}))
    fits("delete", "/api/jobs/{id}", client.delete(f"/api/jobs/{waiting}"))

"""The health of the installation, and metrics for Prometheus."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response

from ...control.health import UNHEALTHY
from ...control.metrics import CONTENT_TYPE
from ...control.records import Health
from ..call import Call
from ..encode import encoded
from ..operations import operation
from ..roles import ANYBODY

TIMEOUT = "5s"  # for which the store may take to reply


@operation("GET", "/api/health")
def read_health(call: Call) -> Health:
    """Return whether the installation is healthy, degraded or unhealthy, and why. The status is 503 if it is unhealthy."""
    found = call.app.health(TIMEOUT)
    if found.status == UNHEALTHY:
        return Response(encoded(found), 503, media_type="application/json")  # type: ignore[return-value]  # the same, with a status
    return found


@operation("GET", "/healthz", role=ANYBODY, tenants=True, media="text/plain")
async def check_life(call: Call) -> PlainTextResponse:
    """Return `ok`: this process serves requests. It says nothing about the installation; api/health does."""
    return PlainTextResponse("ok\n")


@operation("GET", "/metrics", media="text/plain")
def read_metrics(call: Call) -> Response:
    """Return the metrics of the whole installation in Prometheus' text format."""
    return Response(call.app.metrics(), media_type=CONTENT_TYPE)


@operation("GET", "/api/metrics", media="text/plain")
def read_api_metrics(call: Call) -> Response:
    """Return the same as /metrics, for hosts that let only paths below /api through."""
    return read_metrics(call)

"""What the description of the API permits, and much that it does not, sent to a real server: no 5xx, and every response as described.

The same requests each time. Parts of paths are half of the time those of what is there, so that handlers get past "not found".
"""

import contextlib

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings, strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mainstay.web.roles import Access
from mainstay.web.table import operations
from tests.browser.office import filled
from tests.servers.asgi import serving
from tests.servers.engines import ENGINES

pytestmark = pytest.mark.slow
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_headers_conformance, response_schema_conformance,
]  # fmt: skip
# An event stream does not end by itself: test_live and test_logs read those.
ASKED = [each for each in operations() if each.media != "text/event-stream"]
EXAMPLES = {"sqlite": 4, "postgres18": 1, "valkey": 1}  # of each mode, for each operation: a minute in all


@pytest.fixture(scope="module", params=[name for name in EXAMPLES if name in ENGINES])
def place(request, tmp_path_factory):
    """An office on an engine: its server, the description, the names of what is there, and how many requests to send."""
    with (
        ENGINES[request.param](tmp_path_factory.mktemp("office")) as url,
        contextlib.closing(filled(url, minutes=4)) as office,
    ):
        dashboard = office.app.dashboard(access=lambda _: Access("admin", actor="ann"))
        with serving(dashboard) as address, requests.Session() as session:
            described = schemathesis.openapi.from_url(f"{address}/api/openapi.json")
            yield described, session, address, known(office), EXAMPLES[request.param]


def known(office):
    """Names that paths may have, by the name of the part."""
    jobs = st.sampled_from(sorted(office.ids.values()))
    groups = st.sampled_from([each.fingerprint for each in office.app.dead()])
    named = {"type": "charge_card", "queue": "documents", "schedule": "catalogue", "worker": "web-1:4121"}
    return {"id": jobs, "fingerprint": groups, "name": st.sampled_from(sorted(named.values()))}


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "not valid"])
@pytest.mark.parametrize("operation", ASKED, ids=lambda each: each.name)
def test_responses_are_as_described(place, operation, mode):
    described, session, address, names, examples = place
    if mode is GenerationMode.NEGATIVE and not takes_something(operation):
        return  # every request without arguments is valid
    asked = described[operation.path.replace(":path}", "}")][operation.method]

    @settings(
        max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=asked.as_strategy(generation_mode=mode), data=st.data())
    def send(case, data):
        for name in operation.names:
            if name in names and data.draw(st.booleans()):
                case.path_parameters[name] = data.draw(names[name])
        case.call_and_validate(base_url=address, session=session, checks=CHECKS, timeout=30)

    send()


def takes_something(operation):
    if operation.name == "receive_message":
        return False  # every name and every body is one that a sender may send
    return bool(operation.names) or operation.query is not None or operation.body is not None

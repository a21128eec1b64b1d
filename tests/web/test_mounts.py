"""The site inside other applications, below a prefix and behind proxies: its paths, its streams and its redirects hold."""

import json
from contextlib import ExitStack, contextmanager

import httpx2
import pytest
from django.conf import settings
from django.core.asgi import get_asgi_application
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from mainstay.web.roles import Access
from tests.servers.asgi import serving
from tests.servers.reverse_proxy import proxied

pytestmark = pytest.mark.engines("sqlite")
PREFIX = "/a/b"


def at_the_top(dashboard):
    return serving(dashboard), ""


def in_starlette(dashboard):
    return serving(Starlette(routes=[Mount(PREFIX, dashboard)])), PREFIX


def in_two_mounts(dashboard):
    return serving(Starlette(routes=[Mount("/a", Starlette(routes=[Mount("/b", dashboard)]))])), PREFIX


def in_fastapi(dashboard):
    host = FastAPI()
    host.mount(PREFIX, dashboard)
    return serving(host), PREFIX


def in_django(dashboard):
    if not settings.configured:
        settings.configure(DATABASES={}, USE_TZ=True, ROOT_URLCONF="tests.web.django_urls", ALLOWED_HOSTS=["127.0.0.1"])
    django = get_asgi_application()

    async def project(scope, receive, send):
        if f"{scope['path']}/".startswith(f"{PREFIX}/"):
            await dashboard(scope | {"root_path": PREFIX}, receive, send)
        else:
            await django(scope, receive, send)

    return serving(project), PREFIX


def behind_a_proxy_that_strips(dashboard):
    return proxy(dashboard, strip=True), ""


def behind_a_proxy_that_does_not(dashboard):
    return proxy(Starlette(routes=[Mount(PREFIX, dashboard)]), strip=False), ""


@contextmanager
def proxy(application, strip):
    with serving(application) as url, proxied(int(url.rpartition(":")[2]), PREFIX, strip=strip) as outside:
        yield outside


PLACES = [
    at_the_top, in_starlette, in_two_mounts, in_fastapi, in_django, behind_a_proxy_that_strips, behind_a_proxy_that_does_not,
]  # fmt: skip


@pytest.fixture(params=PLACES)
def mounted(request):
    """Put a site into each place: `mounted(dashboard)` returns its URL, without a slash at its end."""
    with ExitStack() as stack:

        def mounted(dashboard):
            server, prefix = request.param(dashboard)
            return stack.enter_context(server) + prefix

        yield mounted


@pytest.fixture
def base(app, mounted):
    """The URL of the site of an administrator."""
    return mounted(app.dashboard(access=lambda _: Access("admin", actor="ann")))


def test_its_page_and_its_api_are_found(base):
    with httpx2.Client(follow_redirects=True) as client:
        page = client.get(base)
        assert (
            page.status_code,
            str(page.url).rstrip("/") + page.url.path[-1],
            "html" in page.headers["content-type"],
        ) == (200, f"{base}/", True)
        assert client.get(f"{base}/api/types").json() == []
        described = client.get(f"{base}/api/openapi.json")
        assert str(described.url.join(described.json()["servers"][0]["url"])).rstrip("/") == base
        lost = client.get(f"{base}/api/nothing")
        assert (lost.status_code, lost.json()["code"]) == (404, "not_found")
        assert "default-src 'self'" in lost.headers["content-security-policy"]


def test_its_stream_flows(app, run, base):
    with httpx2.Client() as client, client.stream("GET", f"{base}/api/live", params={"path": "/api/types"}) as opened:
        events = (each for each in httpx2.EventSource(opened) if each.event == "answer")
        assert json.loads(next(events).data)["body"] == []
        app.job(late).enqueue()
        run()
        assert [each["name"] for each in json.loads(next(events).data)["body"]] == ["late"]


def test_a_session_holds(app, mounted):
    base, made = mounted(app.dashboard()), app.tokens.create("ann", "operator")
    with httpx2.Client() as client:
        assert client.get(f"{base}/api/session").status_code == 401
        assert client.post(f"{base}/api/session", json={"token": made.text}).status_code == 200
        known = client.get(f"{base}/api/session").json()
        assert (known["actor"], known["role"], known["authentication"]) == ("ann", "operator", "session")
        assert client.get(f"{base}/api/types").status_code == 200
        assert client.delete(f"{base}/api/session").status_code == 204
        assert client.get(f"{base}/api/types").status_code == 401


def late():
    """A job type that appears while a page is open."""

"""The live stream: answers come at once, again when they have changed, and are computed once for all who listen."""

import asyncio
import contextlib
import json
import threading
import time

import httpx2
import pytest
from starlette.requests import Request

from mainstay.core.errors import MainstayError
from mainstay.core.job import TypeInfo
from mainstay.web import live
from mainstay.web.problems import Refused
from mainstay.web.roles import Access
from mainstay.web.server import bound, link, serving
from mainstay.web.site import Site
from tests.waiting import eventually

VIEWER = Access("viewer", actor="ann")


@contextlib.contextmanager
def listening(base, *paths, **headers):
    """Yield an iterator over the answers that a stream sends."""
    query = [("path", path) for path in paths]
    with httpx2.stream("GET", f"{base}/api/live", params=query, headers=headers, timeout=30) as response:
        assert response.status_code == 200, response.read()
        yield _events(response.iter_lines())


def _events(lines):
    kind = ""
    for line in lines:
        if line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            yield kind, json.loads(line[6:])


def pauses(answer):
    return [pause["name"] for record in answer["body"] for pause in record["paused"]]


def declare(desk):
    desk.store.register_types([TypeInfo("mail", "default", "", {}, desk.clock.now())])


def test_an_answer_comes_at_once_and_again_when_it_has_changed(app, served, desk):
    declare(desk)
    with listening(served("viewer"), "/api/types") as events:
        kind, first = next(events)
        assert (kind, first["path"], first["status"], pauses(first)) == ("answer", "/api/types", 200, [])
        app.pause(type="mail")
        assert pauses(next(events)[1]) == ["mail"]


def test_a_change_is_told_within_half_a_second(app, served, desk):
    declare(desk)
    with listening(served("viewer"), "/api/types") as events:
        next(events)
        begun = time.monotonic()
        app.pause(type="mail")
        assert pauses(next(events)[1]) == ["mail"]
        assert time.monotonic() - begun < 0.5


def test_nothing_is_sent_again_while_the_answer_stays(app, served, desk):
    declare(desk)
    with listening(served("viewer"), "/api/types", "/api/openapi.json") as events:
        assert {next(events)[1]["path"] for _ in range(2)} == {"/api/types", "/api/openapi.json"}
        desk.add()  # changes the store, but neither answer
        app.pause(type="mail")
        assert next(events)[1]["path"] == "/api/types"


@pytest.mark.parametrize(
    "path", ["/api/nothing", "/api/live?path=/api/types", "http://elsewhere/api/types", "/api/types?wrong=1", ""]
)
@pytest.mark.engines("memory")
def test_a_path_that_cannot_be_listened_to_is_refused(client, path):
    answer = client.get("/api/live", params={"path": path})
    assert (answer.status_code, answer.json()["code"]) == (422, "not_valid")


@pytest.mark.engines("memory")
def test_too_many_paths_are_refused(client):
    assert client.get("/api/live", params={"path": ["/api/types"] * 11}).status_code == 422
    assert client.get("/api/live").status_code == 422


@pytest.mark.engines("memory")
def test_what_the_caller_may_not_read_cannot_be_listened_to(site):
    tenant = site(Access("admin", tenant="acme"))
    answer = tenant.get("/api/live", params={"path": "/api/types"})
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


@pytest.mark.engines("memory")
def test_equal_questions_are_computed_once(app, monkeypatch):
    computed, real = [], live._answer
    monkeypatch.setattr(live, "_answer", lambda path, asked: computed.append(path) or real(path, asked))
    site = Site(app, access=lambda _: VIEWER)
    with contextlib.closing(bound("127.0.0.1", 0)) as port, serving(site, port), contextlib.ExitStack() as stack:
        streams = [
            stack.enter_context(listening(link("127.0.0.1", port, "")[:-1], "/api/openapi.json")) for _ in range(20)
        ]
        assert [next(stream)[1]["status"] for stream in streams] == [200] * 20
    assert len(computed) <= 3  # one, and another for those who came after it


def test_a_failing_store_is_told_and_recovers(app, served, desk, monkeypatch):
    declare(desk)
    with listening(served("viewer"), "/api/types") as events:
        next(events)
        with monkeypatch.context() as patched:
            patched.setattr(app, "types", lambda: (_ for _ in ()).throw(MainstayError("away")))
            app.pause(type="mail")
            assert next(events)[1]["status"] == 422
        app.resume(type="mail")
        assert next(events)[1]["status"] == 200


@pytest.mark.engines("memory")
def test_a_server_that_stops_ends_its_streams_and_says_so(app):
    site = Site(app, access=lambda _: VIEWER)
    with (
        contextlib.closing(bound("127.0.0.1", 0)) as port,
        serving(site, port) as server,
        listening(link("127.0.0.1", port, "")[:-1], "/api/openapi.json") as events,
    ):
        next(events)
        server.should_exit = True
        assert next(events)[0] == "bye"


@pytest.mark.engines("memory")
def test_a_caller_who_loses_access_loses_the_stream(app, monkeypatch):
    monkeypatch.setattr("mainstay.web.api.live.BEAT", 0.05)
    roles = ["viewer"]
    site = Site(app, access=lambda _: roles[0])
    with (
        contextlib.closing(bound("127.0.0.1", 0)) as port,
        serving(site, port),
        listening(link("127.0.0.1", port, "")[:-1], "/api/openapi.json") as events,
    ):
        next(events)
        roles[0] = None
        assert list(events) == []


@pytest.mark.engines("memory")
def test_the_thread_ends_when_nobody_listens(app):
    site = Site(app, access=lambda _: VIEWER)
    with contextlib.closing(bound("127.0.0.1", 0)) as port, serving(site, port):
        with listening(link("127.0.0.1", port, "")[:-1], "/api/openapi.json") as events:
            next(events)
            assert "mainstay-live" in {thread.name for thread in threading.enumerate()}
        eventually(
            lambda: "mainstay-live" not in {thread.name for thread in threading.enumerate()}, "the thread has ended"
        )


@pytest.mark.engines("memory")
def test_more_pages_than_a_site_serves_are_refused(app, monkeypatch):
    monkeypatch.setattr(live, "LISTENERS", 0)
    site, request = Site(app, access=lambda _: VIEWER), Request({"type": "http", "headers": [], "method": "GET"})

    async def listen():
        return site.live.listen(request, VIEWER, ["/api/openapi.json"])

    with pytest.raises(Refused, match="open already"):
        asyncio.run(listen())


@pytest.mark.engines("sqlite")
def test_an_answer_that_depends_on_the_caller_is_computed_for_each(app, desk):
    job = desk.bring("dead")
    site = Site(app, access=lambda request: request.headers["x-role"])
    with contextlib.closing(bound("127.0.0.1", 0)) as port, serving(site, port):
        base, path = link("127.0.0.1", port, "")[:-1], f"/api/jobs/{job}"
        with (
            listening(base, path, **{"x-role": "operator"}) as operator,
            listening(base, path, **{"x-role": "viewer"}) as viewer,
        ):
            possible = [next(events)[1]["body"]["actions_possible"] for events in (operator, viewer)]
    assert "retry" in possible[0]
    assert possible[1] == []


@pytest.mark.engines("memory")
def test_an_error_of_ours_is_logged_with_its_traceback(app, monkeypatch, caplog):
    monkeypatch.setattr(app, "types", lambda: 1 // 0)
    request = Request({"type": "http", "headers": [], "method": "GET"})
    _, asked = Site(app, access=lambda _: VIEWER).live._asked("/api/types", request, VIEWER)
    answer = json.loads(live._answer("/api/types", asked))
    assert (answer["status"], answer["body"]["code"]) == (500, "internal_error")
    assert "ZeroDivisionError" in caplog.text


# pages that come and go while the thread works ---------------------------------------------------------------------------
def ended_page():
    """A listener that asks nothing, and whose event loop has ended."""

    async def make():
        return live.Listener({})

    return asyncio.run(make())


@pytest.mark.engines("memory")
def test_a_page_that_comes_while_the_thread_looks_who_is_there_does_not_wait_for_the_next_look(app):
    site = Site(app, access=lambda _: VIEWER)
    found = site.live
    found._listeners.add(ended_page())
    woken = []

    def rest(begun, listeners):
        woken.append(found._wake.is_set())
        found.stopping = True

    class Lock:
        """Another page comes as soon as the listeners have been read."""

        def __enter__(self):
            pass

        def __exit__(self, *_):
            found._wake.set()

    found._lock, found._rest = Lock(), rest
    found._run()
    assert woken == [True]


@pytest.mark.engines("memory")
def test_pages_get_answers_again_after_an_error_that_nobody_expected(app, monkeypatch):
    errors, look = [ZeroDivisionError()], app.store.change_mark
    monkeypatch.setattr(app.store, "change_mark", lambda: look() if not errors else (_ for _ in ()).throw(errors.pop()))
    site = Site(app, access=lambda _: VIEWER)
    with (
        contextlib.closing(bound("127.0.0.1", 0)) as port,
        serving(site, port),
        listening(link("127.0.0.1", port, "")[:-1], "/api/openapi.json") as events,
    ):
        assert next(events)[1]["status"] == 200


@pytest.mark.engines("memory")
def test_a_stop_reaches_all_streams_though_the_loop_of_one_has_ended(app):
    site, ended = Site(app, access=lambda _: VIEWER), ended_page()

    async def listen():
        request = Request({"type": "http", "headers": [], "method": "GET", "server": ("x", 80), "path": "/"})
        listener = site.live.listen(request, VIEWER, ["/api/openapi.json"])
        site.live._listeners = {ended: 1, listener: 1}.keys()  # the one that has ended comes first
        site.stop()
        await asyncio.wait_for(listener.news.wait(), 10)

    asyncio.run(listen())


@pytest.mark.engines("memory")
def test_a_page_is_refused_while_no_thread_can_be_started(app, monkeypatch):
    site = Site(app, access=lambda _: VIEWER)
    request = Request({"type": "http", "headers": [], "method": "GET", "server": ("x", 80), "path": "/"})

    async def listen():
        return site.live.listen(request, VIEWER, ["/api/openapi.json"])

    def refuse(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            asyncio.run(listen())
    assert not site.live._listeners
    listener = asyncio.run(listen())
    assert site.live._thread is not None
    site.live.leave(listener)

"""The log of a job over HTTP: pages, a text, and a stream that goes on until the job has ended."""

import contextlib
import json
import threading

import anyio
import httpx2
import pytest

from mainstay.web import streams
from mainstay.web.api import logs
from mainstay.web.roles import Access
from mainstay.web.site import Site
from tests.contract.building import log
from tests.waiting import eventually


@pytest.fixture
def running(desk):
    """A job that runs and has logged three lines."""
    job = desk.run(tenant="acme")
    write(desk, job, 1, "info", "one")
    write(desk, job, 2, "debug", "two")
    write(desk, job, 3, "error", "three password=hunter2")
    return job


def write(desk, job, n, level, message):
    desk.claim(0, updates=[log(job, n, message, level=level, at=desk.now)])


def test_lines_come_page_by_page_with_their_numbers(client, running):
    def page(**given):
        answer = client.get(f"/api/jobs/{running.id}/logs", params=given).json()
        return [(line["number"], line["message"]) for line in answer["lines"]], answer["next"]

    assert page(limit=2) == ([(1, "one"), (2, "two")], 2)
    assert page(after=2) == ([(3, "three password=[redacted:password]")], 3)
    assert page(after=3) == ([], 3)
    assert page(level="warning") == ([(3, "three password=[redacted:password]")], 3)


@pytest.mark.engines("memory")
def test_a_wrong_level_is_explained(client, running):
    answer = client.get(f"/api/jobs/{running.id}/logs", params={"level": "warn"})
    assert (answer.status_code, 'did you mean "warning"?' in answer.json()["detail"]) == (422, True)


def test_the_whole_log_as_a_text(client, running, monkeypatch):
    monkeypatch.setattr(logs, "PAGE", 2)
    answer = client.get(f"/api/jobs/{running.id}/logs.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert "content-length" not in answer.headers  # its pages are sent as they are read
    assert answer.headers["content-disposition"] == f'attachment; filename="{running.id}.txt"'
    assert [line.split()[1:3] for line in answer.text.splitlines()] == [
        ["info", "one"], ["debug", "two"], ["error", "three"],
    ]  # fmt: skip
    assert "hunter2" not in answer.text


def test_logs_of_others_are_not_there(site, running):
    other = site(Access("admin", tenant="other"))
    for path in ("logs", "logs.txt", "logs/stream"):
        assert other.get(f"/api/jobs/{running.id}/{path}").status_code == 404


# streams ----------------------------------------------------------------------------------------------------------------
class Stream(threading.Thread):
    """Reads a stream of events until it ends."""

    def __init__(self, url, **headers):
        super().__init__(daemon=True)
        self.url, self.headers = url, headers
        self.events = []  # name, id, data
        self.opened = False
        self.start()

    def run(self):
        with httpx2.stream("GET", self.url, headers=self.headers, timeout=30) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            self.opened, event = True, {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                event[name] = value
                if not line and "event" in event:
                    self.events.append((event["event"], event.get("id"), json.loads(event["data"])))
                event = event if line else {}

    @property
    def seen(self):
        return [(name, id) for name, id, _ in self.events]


def test_a_stream_goes_on_until_the_job_has_ended(served, desk, running):
    stream = Stream(f"{served()}/api/jobs/{running.id}/logs/stream?after=1")
    eventually(lambda: len(stream.events) == 2, "the lines that are there")
    assert [data["message"] for *_, data in stream.events] == ["two", "three password=[redacted:password]"]
    write(desk, running, 4, "info", "four")
    eventually(lambda: len(stream.events) == 3, "a new line")
    assert stream.is_alive()
    desk.end(running)
    stream.join(10)
    assert stream.seen == [("line", "2"), ("line", "3"), ("line", "4"), ("end", None)]


def test_a_stream_begins_behind_the_last_line_that_the_client_has(served, desk, running):
    desk.end(running)
    url = f"{served()}/api/jobs/{running.id}/logs/stream"
    for headers, first in (({"Last-Event-ID": "2"}, "3"), ({"Last-Event-ID": "x"}, "1")):
        stream = Stream(url, **headers)
        stream.join(10)
        assert stream.seen[0] == ("line", first)
        assert stream.seen[-1] == ("end", None)


@pytest.mark.engines("sqlite")
def test_a_long_log_comes_in_several_reads(served, desk, running, monkeypatch):
    monkeypatch.setattr(logs, "PAGE", 2)
    desk.end(running)
    stream = Stream(f"{served()}/api/jobs/{running.id}/logs/stream")
    stream.join(10)
    assert stream.seen == [("line", "1"), ("line", "2"), ("line", "3"), ("end", None)]


def ending(events, over):
    """The events, and a signal when they are not read any more."""

    async def ending(*given):
        try:
            async for each in events(*given):
                yield each
        finally:
            over.set()

    return ending


@pytest.mark.engines("sqlite")
def test_a_stream_ends_with_its_job_its_time_and_its_client(served, app, desk, running, monkeypatch):
    monkeypatch.setattr(logs, "QUIET", 0.01)
    monkeypatch.setattr(logs, "POLL", 0.01)
    url = f"{served()}/api/jobs/{running.id}/logs/stream"
    over = threading.Event()
    monkeypatch.setattr(logs, "_events", ending(logs._events, over))
    with httpx2.stream("GET", url, timeout=10) as answer:
        assert ": still here" in (line for line in answer.iter_lines())
    assert over.wait(10)  # nobody reads for a client that is gone
    monkeypatch.setattr(logs, "LONGEST", 0.05)
    stream = Stream(url)
    stream.join(10)
    assert stream.seen == [("line", "1"), ("line", "2"), ("line", "3")]
    monkeypatch.setattr(logs, "LONGEST", 600)
    stream = Stream(url)
    eventually(lambda: len(stream.events) == 3, "the lines that are there")
    app.delete(desk.end(running) and running.id)
    stream.join(10)
    assert stream.seen[-1] == ("end", None)


@pytest.mark.engines("sqlite")
def test_a_stream_ends_with_the_server(served, running, monkeypatch):
    sites = []
    made = Site.__init__
    monkeypatch.setattr(
        Site, "__init__", lambda site, *given, **more: (sites.append(site), made(site, *given, **more))[1]
    )
    stream = Stream(f"{served()}/api/jobs/{running.id}/logs/stream")
    eventually(lambda: len(stream.events) == 3, "the lines that are there")
    sites[0].stopping.set()
    stream.join(10)
    assert stream.seen == [("line", "1"), ("line", "2"), ("line", "3")]


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize(("bound", "told"), [("OF_ONE", "you have 2 logs open"), ("MOST", "2 logs are open already")])
def test_no_more_streams_are_open_than_a_site_and_a_caller_may_have(served, running, monkeypatch, bound, told):
    monkeypatch.setattr(streams, bound, 2)
    url = f"{served()}/api/jobs/{running.id}/logs/stream"
    with httpx2.stream("GET", url, timeout=10), httpx2.stream("GET", url, timeout=10):
        answer = httpx2.get(url, timeout=10)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")
        assert told in answer.json()["detail"]
    eventually(lambda: status_of(url) == 200, "the end of the streams that were closed")


def status_of(url):
    with httpx2.stream("GET", url, timeout=10) as answer:
        return answer.status_code


@pytest.mark.engines("memory")
def test_a_stream_whose_client_is_gone_at_once_does_not_count():
    """The events have not begun then, so that they cannot notice their end."""
    left = []

    async def gone(_):
        raise OSError("the client is gone")

    with contextlib.suppress(Exception):
        anyio.run(
            streams.EventStream(iter_nothing(), lambda: left.append(1)),
            {"type": "http", "asgi": {"spec_version": "2.4"}},
            None,
            gone,
        )
    assert left == [1]


async def iter_nothing():
    yield b""

"""`http_sync` between two real HTTP servers: every item arrives, also after trouble in the middle, and nothing else is reached."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from urllib.parse import parse_qs, urlsplit

import pytest

from mainstay import ConfigError, Mainstay
from mainstay.core.outcome import Stopping
from mainstay.handlers import http_sync
from mainstay.handlers.http_sync import Destination, Source
from mainstay.testing import Trial
from tests.senders.receiving import receiver
from tests.waiting import eventually

ROWS = [{"id": f"r{n}", "name": f"N{n}"} for n in range(25)]
SIZE = 10


def send(handler, status, body=None, **headers):
    text = json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"Content_Length": len(text), **headers}.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()
    handler.wfile.write(text)


class Service:
    """A server that plans its replies: faults by how many requests came before, then what it usually says."""

    def __init__(self, hook, usual):
        self.hook, self.usual, self.faults = hook, usual, {}
        hook.reply = self.reply

    @property
    def url(self):
        return self.hook.url.partition("/hook")[0]

    def reply(self, handler):
        fault = self.faults.pop(len(self.hook.got) - 1, None)
        send(handler, *fault[:1], *fault[1:2], **(fault[2] if len(fault) > 2 else {})) if fault else self.usual(handler)


def pages(handler):
    """The rows in three shapes of paging, by the path."""
    parts = urlsplit(handler.path)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    start = int(query.get("after", 0)) if parts.path != "/numbered" else (int(query.get("page", 1)) - 1) * SIZE
    rows, after = ROWS[start : start + SIZE], start + SIZE
    more = after < len(ROWS)
    match parts.path:
        case "/linked":
            send(handler, 200, {"data": {"rows": rows}, "links": {"next": f"/linked?after={after}" if more else None}})
        case "/cursor":
            send(handler, 200, {"rows": rows, "cursor": str(after) if more else ""})
        case _:
            send(handler, 200, rows)


@pytest.fixture
def source():
    with receiver() as hook:
        yield Service(hook, pages)


@pytest.fixture
def target():
    with receiver() as hook:
        yield Service(hook, lambda handler: send(handler, 201))


@pytest.fixture
def made(app, source, target):
    return register(app, source, target)


def register(app, source, target, destination=None, **more):
    sources = {
        "linked": Source(f"{source.url}/linked", items="data.rows", next="links.next"),
        "cursor": Source(f"{source.url}/cursor?fixed=1", items="rows", cursor="cursor", cursor_parameter="after"),
        "numbered": Source(
            f"{source.url}/numbered", page_parameter="page", headers={"Authorization": "Bearer $CRM_TOKEN"}
        ),
        "once": Source(f"{source.url}/numbered"),
    }
    destinations = {
        "items": Destination(f"{target.url}/rows/{{id}}", "PUT"),
        "other": destination or Destination(f"{target.url}/x"),
    }
    return http_sync.register(
        app,
        sources=more.pop("sources", sources),
        destinations=destinations,
        allow=more.pop("allow", ["127.0.0.1"]),
        **more,
    )


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("CRM_TOKEN", "hunter2")


def ended(kit, job):
    """Run a job to its end, whatever it waits for."""
    while job.job().state not in ("completed", "dead"):
        kit.advance("2h")
        kit.drain(raises=False)
    return job.job()


def bodies(target):
    return [json.loads(got.body) for got in target.hook.got]


@pytest.mark.parametrize(("name", "requests"), [("linked", 3), ("cursor", 3), ("numbered", 4)])
def test_every_item_of_every_page_arrives(kit, made, source, target, name, requests):
    job = ended(kit, made.http_sync.enqueue(name, "items", {"since": "a b"}))
    assert job.result == {"synced": 25, "failed": 0, "errors": []}
    assert bodies(target) == ROWS
    assert {(got.method, got.path) for got in target.hook.got[:1]} == {("PUT", "/rows/r0")}
    assert len(source.hook.got) == requests
    assert "since=a+b" in source.hook.got[0].path
    if name == "cursor":
        assert all("fixed=1" in got.path for got in source.hook.got)
    if name == "numbered":
        assert source.hook.got[0].headers["Authorization"] == "Bearer hunter2"


def test_pages_as_one_request_each_with_a_transform(kit, app, source, target):
    to = Destination(
        f"{target.url}/bulk",
        per="page",
        into="people",
        transform=lambda row: {"n": row["name"]} if row["id"] != "r3" else None,
    )
    made = register(app, source, target, to)
    job = ended(kit, made.http_sync.enqueue("linked", "other"))
    assert job.result["synced"] == 24
    assert [len(body["people"]) for body in bodies(target)] == [9, 10, 5]


# trouble --------------------------------------------------------------------------------------------------------------
def test_a_source_that_fails_on_page_three_goes_on_from_its_cursor(kit, made, source, target):
    source.faults = {2: (500, "down")}
    job = ended(kit, made.http_sync.enqueue("linked", "items"))
    assert (job.attempt, job.result["synced"]) == (2, 25)
    assert [got.path for got in source.hook.got] == [
        "/linked",
        "/linked?after=10",
        "/linked?after=20",
        "/linked?after=20",
    ]
    assert bodies(target) == ROWS


def test_half_a_reply_is_asked_for_again(kit, made, source, target):
    source.faults = {0: (200, ROWS, {"Content_Length": 40})}
    job = ended(kit, made.http_sync.enqueue("once", "items"))
    assert (job.attempt, job.result["synced"]) == (2, 10)


def test_too_many_requests_costs_no_attempt_and_nothing_is_sent_twice(kit, app, made, source, target):
    source.faults = {1: (429, "slower", {"Retry_After": 120})}
    target.faults = {13: (429, "slower", {"Retry_After": formatdate(time.time() + 600, usegmt=True)})}
    job = made.http_sync.enqueue("linked", "items")
    kit.drain()
    waits = (job.job().run_at - app.get(job.id).created_at).total_seconds()
    assert 119 <= waits <= 125
    done = ended(kit, job)
    assert (done.attempt, done.result["synced"]) == (1, 25)
    sent = [body["id"] for body in bodies(target)]
    assert sent[:13] + sent[14:] == [row["id"] for row in ROWS]  # but for the one that it did not take


def test_an_item_has_one_idempotency_key_on_every_attempt(kit, made, source, target):
    target.faults = {4: (502, "down")}
    job = ended(kit, made.http_sync.enqueue("once", "items"))
    assert (job.attempt, job.result["synced"]) == (2, 10)
    keys = [got.headers["Idempotency-Key"] for got in target.hook.got]
    assert (keys[4], len(keys), len(set(keys))) == (keys[5], 11, 10)
    ended(kit, made.http_sync.enqueue("once", "items"))  # another job may have something new to say
    assert len({got.headers["Idempotency-Key"] for got in target.hook.got}) == 20


def test_refused_items_are_counted_and_the_first_are_kept(kit, app, source, target):
    source.usual = lambda handler: send(
        handler, 200, [{"id": n} for n in range(150)] + ["text", {"id": ".."}, {"id": "a/../b"}]
    )
    target.usual = lambda handler: send(handler, 422, "no " + "x" * 1000)
    job = ended(kit, register(app, source, target).http_sync.enqueue("once", "items"))
    assert (job.state, job.result["synced"], job.result["failed"]) == ("completed", 0, 153)
    assert len(job.result["errors"]) == 100
    assert job.result["errors"][0]["item"] == "0"
    assert job.result["errors"][0]["error"].startswith('replies 422: "no xxx')
    assert len(target.hook.got) == 151  # nothing is sent for an item without an id, or with one that is another path
    assert target.hook.got[-1].path == "/rows/a%2F..%2Fb"


def test_an_item_at_which_the_destination_always_fails_does_not_stop_the_others(kit, made, target):
    target.usual = lambda handler: send(handler, 500 if handler.path.endswith("/r3") else 201)
    job = ended(kit, made.http_sync.enqueue("once", "items"))
    assert (job.state, job.result["synced"], job.result["errors"][0]["item"]) == ("completed", 9, "r3")


def test_a_destination_that_is_down_is_not_taken_for_bad_items(kit, made, target):
    target.usual = lambda handler: send(handler, 500)
    job = ended(kit, made.http_sync.enqueue("once", "items"))
    assert (job.state, job.attempt) == ("dead", 3)


def test_an_attempt_that_is_killed_after_a_page_goes_on_there(made, source, target):
    trial = Trial(
        made.http_sync, checkpoint={"at": f"{source.url}/linked?after=20", "synced": 20, "failed": 0, "errors": []}
    )
    assert trial.run("linked", "items")["synced"] == 25
    assert bodies(target) == ROWS[20:]


def test_a_worker_that_stops_keeps_what_was_sent(made, source, target):
    trial = Trial(made.http_sync, stopping=True)
    with pytest.raises(Stopping):
        trial.run("once", "items")
    assert trial.saved["at"].endswith("/numbered")
    assert target.hook.got == []


# what must not be -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ((404, "gone"), "replies 404"), ((401, "who?"), "replies 401"), ((200, {"data": 5}), "no list"),
        ((302, None, {"Location": "http://169.254.169.254/"}), "redirects (302)"),
        ((200, {"data": {"rows": []}, "links": {"next": "http://169.254.169.254/latest/"}}), "another host"),
        ((200, {"data": {"rows": []}, "links": {"next": "file:///etc/passwd"}}), "not valid"),
        ((200, {"data": {"rows": []}, "links": {"next": "/linked"}}), "follows itself"),
    ],
)  # fmt: skip
def test_a_source_that_misbehaves_is_dead_at_once(kit, made, source, reply, says):
    source.faults = {0: reply}
    job = ended(kit, made.http_sync.enqueue("linked", "items"))
    assert (job.state, job.attempt) == ("dead", 1)
    assert says in job.error
    assert "hunter2" not in job.error


@pytest.mark.parametrize("circle", [2, 3, 7])
def test_pages_that_go_round_in_a_circle_end(kit, made, source, target, circle):
    def round_and_round(handler):
        place = int(parse_qs(urlsplit(handler.path).query).get("at", ["0"])[0])
        following = f"/linked?at={place % circle + 1}"
        send(handler, 200, {"data": {"rows": ROWS[place : place + 1]}, "links": {"next": following}})

    source.usual = round_and_round
    job = ended(kit, made.http_sync.enqueue("linked", "items"))
    assert (job.state, job.attempt) == ("dead", 1)
    assert "round in a circle" in job.error
    assert len(source.hook.got) < 4 * circle + 4


def test_a_source_that_does_not_know_the_parameter_of_the_page_ends(kit, made, source, target):
    source.usual = lambda handler: send(handler, 200, ROWS[:3])
    job = ended(kit, made.http_sync.enqueue("numbered", "items"))
    assert (job.state, len(source.hook.got)) == ("dead", 2)
    assert "the same page again" in job.error


def test_a_destination_that_refuses_us_is_dead_at_once(kit, made, target):
    target.usual = lambda handler: send(handler, 403, "no")
    job = ended(kit, made.http_sync.enqueue("once", "items"))
    assert (job.state, job.attempt, len(target.hook.got)) == ("dead", 1, 1)


def test_names_are_checked_and_addresses_inside_are_refused(kit, app, source, target):
    made = register(app, source, target, allow=[])
    for args, says in ((("linkd", "items"), 'did you mean "linked"?'), (("linked", "nobody"), "there is no destination"),
                       (("linked", "items"), "inside this network")):  # fmt: skip
        job = ended(kit, made.http_sync.enqueue(*args))
        assert (job.state, job.attempt) == ("dead", 1)
        assert says in job.error
    assert source.hook.got == []


def test_a_token_that_this_worker_lacks(kit, made, monkeypatch, source):
    monkeypatch.delenv("CRM_TOKEN")
    job = ended(kit, made.http_sync.enqueue("numbered", "items"))
    assert "CRM_TOKEN, which this worker does not have" in job.error
    assert source.hook.got == []


@pytest.mark.parametrize(
    ("sources", "destinations", "says"),
    [
        ({}, {"x": Destination("http://x")}, "needs sources"), ({"x": Source("http://x")}, {}, "needs sources"),
        ({"x": Source("ftp://x")}, {"x": Destination("http://x")}, "x: the URL is not valid"),
        ({"x": Source("http://u:pw@x")}, {"x": Destination("http://x")}, "must not hold a user"),
        ({"x": Source("http://x", next="a", cursor="b")}, {"x": Destination("http://x")}, "one of next"),
        ({"x": Source("http://x")}, {"y": Destination("http://x", "DELETE")}, "y: method is"),
        ({"x": Source("http://x")}, {"y": Destination("http://x/{id}", per="page")}, "a page has no fields"),
        ({"x": "http://x"}, {"y": Destination("http://x")}, "x: .* is no Source: give Source"),
        ({"x": Source("http://x")}, {"y": {"url": "http://x"}}, "y: .* is no Destination: give Destination"),
    ],
)  # fmt: skip
def test_settings_are_checked(app, sources, destinations, says):
    with pytest.raises(ConfigError, match=says):
        http_sync.register(app, sources=sources, destinations=destinations)


# a worker that is killed ----------------------------------------------------------------------------------------------
PROGRAM = """
from mainstay import Mainstay
from mainstay.handlers import http_sync
from mainstay.handlers.http_sync import Destination, Source

app = Mainstay({store!r})
made = http_sync.register(
    app, sources={{"s": Source({source!r} + "/linked", items="data.rows", next="links.next")}},
    destinations={{"d": Destination({target!r} + "/rows/{{id}}", "PUT")}}, allow=["127.0.0.1"],
)
if __name__ == "__main__":
    with app.worker():
        made.http_sync.enqueue("s", "d", {{}}).result(timeout=30) if not app.list() else app.handle(app.list()[0].id).result(timeout=30)
"""


def test_a_worker_killed_while_it_sends_an_item_has_its_work_finished_by_another(source, target, tmp_path):
    program = tmp_path / "syncing.py"
    program.write_text(
        PROGRAM.format(store=f"sqlite:///{tmp_path / 'jobs.db'}", source=source.url, target=target.url),
        encoding="utf-8",
    )
    started = []
    held = threading.Event()
    app = Mainstay(f"sqlite:///{tmp_path / 'jobs.db'}")

    def first_page_is_saved():
        (job,) = app.list()
        return "after=" in str(json.loads(app.store.checkpoint(job.id) or "{}").get("at"))

    def hold(handler):
        if len(target.hook.got) == 15 and not held.is_set():  # in the middle of the second page
            held.set()
            eventually(first_page_is_saved, "the checkpoint of the first page to be stored")
            os.kill(started[0].pid, signal.SIGKILL)
        else:
            send(handler, 201)

    target.usual = hold
    for _ in range(2):
        started[:] = [subprocess.Popen([sys.executable, program], cwd=tmp_path, stderr=subprocess.PIPE)]
        _, said = started[0].communicate(timeout=60)
    assert started[0].returncode == 0, said
    (job,) = app.list()
    assert (job.state, job.result["synced"], job.result["failed"]) == ("completed", 25, 0)
    keys = {}
    for got in target.hook.got:
        keys.setdefault(json.loads(got.body)["id"], set()).add(got.headers["Idempotency-Key"])
    assert (len(keys), {len(each) for each in keys.values()}) == (25, {1})
    assert [got.path for got in source.hook.got].count("/linked") == 1  # the first page was done

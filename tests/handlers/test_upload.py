"""Uploads to a real Kubo node: once per content, checked by the content id, while the node dies and lies."""

import hashlib
import json
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mainstay import Breaker, ConfigError, JobFailed, Mainstay, Permanent, Retry, Snooze
from mainstay.core.errors import SendFailed
from mainstay.handlers import upload
from mainstay.handlers.upload import Node
from mainstay.handlers.upload.cid import CHUNK, Counter, cids
from tests.servers import kubo
from tests.servers.kubo import Kubo, asked
from tests.waiting import eventually

PATTERN = bytes(range(256))


@pytest.fixture(scope="module")
def node():
    """The address of the session's node."""
    return kubo.address()


def fresh(size=40):
    """Content that no node has."""
    return os.urandom(20).hex().ljust(size, "x")


# content ids -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("content", "v1", "v0"),
    [
        (b"", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku", "QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH"),
        (b"hello mainstay\n", "bafkreidhczfedvgwlja4aebist2weg3murlvt2orjhqiwnrbdlzkxikvja", "QmXFwRCdF7c7AQDhwfgUNexpQyiQPF8m4FVpX6EheGVfY9"),
        (PATTERN * 8192, "bafybeih6ulu6phsewbrbawft3fkytbxhm3qh5resltztwhbqdynu2fw4yq", "QmU2zkyCQh9EhEMsC8rXcbvZRjXJ2gDe4QwxgQvX4QUpVv"),
        (PATTERN * 1024 * 190, "bafybeifzj6atsj74tizt7znsrnbbnu45nffgtdsfewgez5grdp7dliw7vi", None),
    ],
    ids=["nothing", "one chunk", "eight chunks", "two levels"],
)  # fmt: skip
def test_content_ids_are_those_that_ipfs_gives(content, v1, v0):
    found = cids([content])
    assert (found.v1, found.size) == (v1, len(content))
    assert v0 in (None, found.v0)


def test_the_pieces_in_which_content_comes_do_not_matter():
    content = PATTERN * 1024 * 2 + b"end"
    for size in (CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK):
        counter = Counter()
        for place in range(0, len(content), size):
            counter.add(content[place : place + size])
        assert counter.ids() == cids([content])


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, 3 * CHUNK])
def test_the_node_agrees(node, size):
    content = (hashlib.sha256(str(size).encode()).digest() * (size // 32 + 1))[:size]
    found = Node(node).upload(lambda: iter([content]))
    assert found["cid"] in cids([content])[:2]
    assert found["size"] == size


# jobs --------------------------------------------------------------------------------------------------------------
def test_a_text_is_uploaded_once(node):
    app = Mainstay("sqlite:///:memory:")
    made, text = upload.register(app, node=node), fresh()
    with app.testing() as kit:
        first, second = made.upload_text.enqueue(text), made.upload_text.enqueue(text)
        kit.drain()
        cid = first.result()["cid"]
        assert first.result() == {"cid": cid, "size": 40, "uploaded": True}
        assert second.result() == {"cid": cid, "size": 40, "uploaded": False}
    assert cid in asked(node, "pin/ls?type=recursive")["Keys"]


def test_a_file_inside_the_roots_is_streamed(node, tmp_path):
    content = (fresh() * 20_000).encode()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.bin").write_bytes(content)
    app = Mainstay("sqlite:///:memory:")
    made = upload.register(app, node=node, roots=[tmp_path])
    with app.testing() as kit:
        job = made.upload_file.enqueue("a/b.bin")
        kit.drain()
        assert job.result()["cid"] in cids([content])[:2]


def test_bad_input_is_dead_at_once(node, tmp_path):
    (tmp_path / "large").write_bytes(b"x" * 11)
    (tmp_path / "link").symlink_to(tmp_path / "large")
    app = Mainstay("sqlite:///:memory:")
    made = upload.register(app, node=node, roots=[tmp_path], max_bytes=10)
    refused = {
        "large": "limit is 10",
        "link": "link",
        "../x": "refused",
        "missing": "there is no file",
        "no/where": "there is no file",
    }
    with app.testing() as kit:
        jobs = {path: made.upload_file.enqueue(path) for path in refused} | {"text": made.upload_text.enqueue("ä" * 6)}
        kit.drain(raises=False)
        for path, job in jobs.items():
            with pytest.raises(JobFailed, match=refused.get(path, "has 12 bytes, the limit is 10")):
                job.result()
            assert (job.state, len(app.attempts(job))) == ("dead", 1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"node": "127.0.0.1:5001"}, "give a URL with http"),
        ({"node": "http://ada:secret@127.0.0.1:5001"}, "must not hold a user"),
        ({"node": "http://127.0.0.1:5001/api/v0"}, "has a path"),
        ({"authorization": "Bearer a\nb"}, "one line"),
        ({"max_bytes": 0}, "above zero"),
        ({"roots": []}, "roots"),
    ],
)
def test_settings_are_checked_when_the_types_are_registered(settings, said):
    with pytest.raises(ConfigError, match=said):
        upload.register(Mainstay("sqlite:///:memory:"), **settings)


def test_a_killed_node_costs_nothing_and_the_second_attempt_finds_what_the_first_has_sent():
    text = fresh()
    with Kubo() as own:
        node = Node(own.url)
        before = own.pins()
        assert node.upload(lambda: iter([text.encode()]))["uploaded"]  # and the worker is killed before it says so
        own.kill()
        with pytest.raises(SendFailed, match="out of reach"):
            node.upload(lambda: iter([text.encode()]))
        own.start()
        again = node.upload(lambda: iter([text.encode()]))
        assert not again["uploaded"]
        assert own.pins() - before == {again["cid"]}


def test_while_the_node_is_away_uploads_wait_behind_the_breaker(tmp_path):
    app = Mainstay(f"sqlite:///{tmp_path}/jobs.db")
    with Kubo() as own:
        breaker = Breaker(failures=0.5, of=2, rest="300ms")
        made = upload.register(app, node=own.url, breaker=breaker, retry=Retry(5, base="100ms", cap="200ms"))
        own.kill()
        with app.worker():
            jobs = [made.upload_text.enqueue(fresh()) for _ in range(12)]
            eventually(lambda: any(each.state != "closed" for each in app.breakers()), "the breaker opens")
            own.start()
            found = [job.result(timeout=30)["cid"] for job in jobs]
        assert set(found) <= own.pins()
    assert max(len(app.attempts(job)) for job in jobs) <= 4


# a node that misbehaves ----------------------------------------------------------------------------------------------
@contextmanager
def planted(*replies):
    """The address of a node that replies so, one after the other, and what it was asked."""
    left, asked_for = list(replies), []

    class Planted(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked_for.append(f"{self.path} {self.headers.get('Authorization', '')}".strip())
            status, body, *headers = left.pop(0)
            self.send_response(status)
            for header in headers:
                self.send_header(*header)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Planted)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked_for
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


ABSENT = (500, b'{"Message":"path is not pinned","Code":0,"Type":"error"}')


def added(cid):
    """The reply to add."""
    return 200, json.dumps({"Name": "content", "Hash": cid, "Size": "2"}).encode()


@pytest.mark.parametrize(
    ("replies", "error", "said"),
    [
        ([ABSENT, ABSENT, added("QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX")], Permanent, "what it keeps is not what was sent"),
        ([ABSENT, ABSENT, (200, b"{}")], SendFailed, "replies 200 to add"),
        ([ABSENT, ABSENT, (200, b'{"Hash": ')], SendFailed, "replies 200 to add"),
        ([ABSENT, ABSENT, (500, b'{"Message":"disk full"}')], SendFailed, "disk full"),
        ([(404, b"404 page not found")], Permanent, "Is this the address"),
        ([(403, b"{}")], Permanent, "authorization="),
        ([(302, b"", ("Location", "http://169.254.169.254/"))], Permanent, "replies 302"),
        ([(429, b"", ("Retry-After", "7"))], Snooze, "asks to wait"),
        ([(503, b"")], SendFailed, "replies 503"),
    ],
)  # fmt: skip
def test_what_a_node_replies_decides_whether_to_try_again(replies, error, said):
    with planted(*replies) as (url, _), pytest.raises(error, match=said):
        Node(url).upload(lambda: iter([b"hi"]))


def test_what_decides_the_content_id_is_always_said_and_either_version_is_taken():
    for cid in cids([b"hi"])[:2]:
        with planted(ABSENT, ABSENT, added(cid)) as (url, asked_for):
            assert Node(url).upload(lambda: iter([b"hi"])) == {"cid": cid, "size": 2, "uploaded": True}
        assert all(
            word in asked_for[2] for word in ("cid-version=1", "raw-leaves=true", "chunker=size-262144", "pin=true")
        )


@pytest.mark.parametrize("later", [b"other", b"longer than before", b"s"])
def test_content_that_changes_while_it_is_sent_is_tried_again(later):
    contents = iter([b"first", later])
    with (
        planted(ABSENT, ABSENT, added(cids([b"first"]).v1)) as (url, _),
        pytest.raises(SendFailed, match="while it was sent"),
    ):
        Node(url).upload(lambda: iter([next(contents)]))


def test_the_authorization_is_taken_from_the_environment_and_never_shown(monkeypatch):
    monkeypatch.setenv("KUBO_AUTHORIZATION", "Bearer s3cret")
    node = Node("http://127.0.0.1:9", authorization="$KUBO_AUTHORIZATION")
    with pytest.raises(SendFailed) as failed:
        node.upload(lambda: iter([b"x"]))
    assert "s3cret" not in f"{failed.value!r} {node!r} {failed.value.__cause__!r}"
    with planted((200, b"{}")) as (url, asked_for):
        assert Node(url, authorization="$KUBO_AUTHORIZATION").keeps("bafy")
    assert asked_for == ["/api/v0/pin/ls?arg=bafy&type=recursive Bearer s3cret"]

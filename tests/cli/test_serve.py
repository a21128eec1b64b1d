"""`serve`: the dashboard and the API as a process; who may reach it; and the demo that serves them."""

import os
import pty
import re
import signal
import subprocess
import sys

import httpx2
import pytest

from tests.waiting import eventually


class Served:
    """A process that serves, and what it has printed."""

    def __init__(self, *words, env=None):
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "mainstay", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | (env or {}),
        )  # fmt: skip
        self.first = self.process.stdout.readline()
        self.link = re.search(r"http://\S+", self.first)[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def test_it_prints_its_address_serves_and_ends_cleanly_by_a_signal(app):
    app.enqueue("mail", {})
    for sign in (signal.SIGTERM, signal.SIGINT):
        with Served("serve", "--port", "0") as served:
            assert httpx2.get(served.link).headers["content-type"].startswith("text/html")
            assert httpx2.get(f"{served.link}api/types").status_code == 200
            served.process.send_signal(sign)
            assert served.process.wait(10) == 0
            assert "no token is needed on this machine" in served.process.stdout.read()


def test_another_address_without_a_token_is_refused(app, run):
    app.enqueue("mail", {})
    result = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert result.code == 2
    assert "mainstay token create NAME --role admin" in result.err


def test_a_port_that_is_taken_is_named(app, run):
    app.enqueue("mail", {})
    with Served("serve", "--port", "0") as served:
        port = served.link.rstrip("/").rpartition(":")[2]
        result = run("serve", "--port", port)
    assert result.code == 2
    assert f"port {port}" in result.err
    assert "--port 0" in result.err


def test_a_prefix_that_a_proxy_leaves_in_the_path(app, run):
    app.enqueue("mail", {})
    with Served("serve", "--port", "0", "--prefix", "/tools/jobs") as served:
        assert served.link.endswith("/tools/jobs/")
        assert httpx2.get(f"{served.link}api/types").status_code == 200
        assert httpx2.get(served.link.replace("/tools/jobs/", "/api/types")).status_code == 404
    for wrong in ("tools/", "/", "/a/", "//evil.example", "/a b", "/{x}", "/a?b", "/a/../b", "/.", "/a%2fb", "/ä"):
        result = run("serve", "--port", "0", "--prefix", wrong)
        assert (result.code, result.out) == (2, ""), wrong  # no address is announced
        assert "e.g. /tools/jobs" in result.err


def test_a_name_from_outside_and_a_proxy_are_no_local_callers(app):
    app.enqueue("mail", {})
    with Served("serve", "--port", "0") as served:
        for headers in ({"Host": "evil.example"}, {"X-Forwarded-For": "10.0.0.1"}, {"Forwarded": "for=10.0.0.1"}):
            assert httpx2.get(f"{served.link}api/types", headers=headers).status_code == 401, headers


def test_it_runs_jobs_too(app, tmp_path):
    (tmp_path / "shop.py").write_text(
        "from mainstay import Mainstay\napp = Mainstay()\n@app.job\ndef mail(to: str) -> str:\n    return to\n"
    )
    with Served("serve", "--port", "0", "--app", "shop:app", "--worker", env={"PYTHONPATH": str(tmp_path)}):
        job = app.enqueue("mail", {"to": "ada"})
        assert job.result(timeout=20) == "ada"


@pytest.mark.slow
def test_the_demo_goes_on_on_a_terminal_and_serves_until_interrupted(tmp_path):
    parent, child = pty.openpty()
    words = [sys.executable, "-m", "mainstay", "demo", "--file", str(tmp_path / "demo.db"), "--seconds", "4", "--jobs", "8"]  # fmt: skip
    with subprocess.Popen(words, stdin=child, stdout=child, stderr=child, start_new_session=True) as demo:
        os.close(child)
        seen = bytearray()

        def reads(text):
            seen.extend(os.read(parent, 4096))
            return text in seen

        eventually(lambda: reads(b"The shop goes on"), "the story is told", 60)
        address = re.search(rb"http://127.0.0.1:\d+/", seen)[0].decode()
        assert httpx2.get(f"{address}api/types").status_code == 200
        demo.send_signal(signal.SIGINT)
        assert demo.wait(20) == 0
    os.close(parent)

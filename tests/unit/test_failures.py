"""What an exception says about a failure: whether it passes, and its code. The client libraries are imitated, not imported."""

import errno
import http.client
import socket
import ssl
import urllib.error
from http import HTTPStatus

import pytest

from mainstay import Cancel, Permanent, Review, Snooze, StoreBusy, transient
from mainstay.core.clock import DAY
from mainstay.core.failures import error_code, http_status, retry_after


class Carries(Exception):
    """An exception with these attributes."""

    def __init__(self, **attributes):
        super().__init__("carried")
        self.__dict__.update(attributes)


class Response:
    """As of requests: false for a status of 400 or above."""

    def __init__(self, status_code):
        self.status_code = status_code

    def __bool__(self):
        return self.status_code < 400


def client_error(status, code="Throttling"):
    """As botocore.exceptions.ClientError."""
    return Carries(response={"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}})


def urllib_error(status):
    return urllib.error.HTTPError("http://x", status, "why", http.client.HTTPMessage(), None)


def named(name, base=Exception, module="httpx"):
    return type(name, (base,), {"__module__": module})


CARRIERS = [
    lambda status: Carries(status=status),  # aiohttp
    lambda status: Carries(status_code=status),  # openai
    lambda status: Carries(status_code=HTTPStatus(status)),
    lambda status: Carries(response=Response(status)),  # requests, httpx
    lambda status: Carries(code=status),
    urllib_error,
    client_error,
]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_status_that_passes(carrier, status):
    assert transient(carrier(status))
    assert http_status(carrier(status)) == status


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 451])
def test_a_status_that_lasts(carrier, status):
    assert not transient(carrier(status))


PASSES = [
    ConnectionResetError(), BrokenPipeError(), TimeoutError(), OSError(errno.ECONNRESET, "reset"), OSError(errno.EMFILE, "files"),
    OSError(errno.ENETUNREACH, "offline"), socket.gaierror(socket.EAI_AGAIN, "dns"), http.client.RemoteDisconnected(),
    http.client.IncompleteRead(b""), urllib.error.URLError(ConnectionRefusedError()), urllib.error.URLError(TimeoutError()),
    ssl.SSLEOFError(8, "eof"), StoreBusy(),
    named("ReadTimeout", named("TimeoutException"))(), named("ConnectError", named("NetworkError"))(),
    named("ConnectionError", OSError, "requests.exceptions")(), named("ConnectTimeout", named("Timeout", OSError, "requests"))(),
    named("ServerDisconnectedError", named("ClientConnectionError", module="aiohttp"))(),
    named("EndpointConnectionError", named("ConnectionError", module="botocore.exceptions"))(),
]  # fmt: skip
LASTS = [
    ValueError(), KeyError(429), FileNotFoundError(errno.ENOENT, "no"), PermissionError(errno.EACCES, "no"), OSError(),
    OSError(errno.ENOSPC, "full"), socket.gaierror(socket.EAI_NONAME, "no such host"), urllib.error.URLError("unknown url type"),
    ssl.SSLCertVerificationError(1, "certificate"), named("SSLError", named("ConnectionError", OSError, "requests"))(),
    Carries(code="429"), Carries(code=1006), Carries(status=True), Carries(status=lambda: 503), KeyboardInterrupt(),
]  # fmt: skip


@pytest.mark.parametrize("error", PASSES, ids=repr)
def test_what_passes(error):
    assert transient(error) is True


@pytest.mark.parametrize("error", LASTS, ids=repr)
def test_what_lasts(error):
    assert transient(error) is False


def test_an_exception_whose_attributes_raise_is_no_trouble():
    class Hostile(Exception):
        @property
        def response(self):
            raise RuntimeError("not read yet")

        code = status = status_code = response

    assert not transient(Hostile())
    assert error_code(Hostile()) is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Carries(code="rate_limit_exceeded", status_code=429), "rate_limit_exceeded"),
        (Carries(error_code=7), "7"),
        (Carries(status=HTTPStatus.BAD_GATEWAY), "502"),
        (Carries(sqlstate="40001"), "40001"),
        (urllib_error(404), "404"),
        (client_error(400, "SlowDown"), "SlowDown"),
        (Carries(response=Response(503)), "503"),
        (Permanent("no such page", code="no-page"), "no-page"),
        (Review("unsure", code=3), "3"),
        (Cancel(code="gone"), "gone"),
        (Snooze("5s", code="429"), "429"),
        (Permanent("no code"), None),
        (ValueError("no code"), None),
        (Carries(code=""), None),
        (Carries(code=True), None),
        (Carries(code="x" * 101), None),
        (Carries(code="two\nlines"), None),
        (Carries(code=lambda: "grpc"), None),
    ],
)
def test_the_code_of_an_exception(error, code):
    assert error_code(error) == code


def test_a_class_may_have_a_code_for_all_its_exceptions():
    class BadDocument(Permanent):
        code = "bad-document"

    assert error_code(BadDocument("page 7")) == "bad-document"
    assert error_code(BadDocument("page 7", code="page")) == "page"


def test_the_deprecated_code_of_aiohttp_is_not_read():
    class ClientResponseError(Exception):
        __module__ = "aiohttp.client_exceptions"
        status = 503

        @property
        def code(self):
            raise AssertionError("read")

    assert error_code(ClientResponseError()) == "503"
    assert transient(ClientResponseError())


@pytest.mark.parametrize(
    ("value", "ms"), [(2, 2_000), (0.5, 500), (10**9, DAY), (-1, 0), (True, 0), ("5", 0), (None, 0), (float("nan"), 0), (float("inf"), DAY)]
)  # fmt: skip
def test_an_exception_may_say_when_to_come_again(value, ms):
    error = ValueError()
    error.retry_after = value
    assert retry_after(error) == ms
    assert retry_after(ValueError()) == 0

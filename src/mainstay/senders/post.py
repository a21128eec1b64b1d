"""Send a body by HTTP: to an address that was checked and to no other, within a time limit, with a bounded reply."""

from __future__ import annotations

import re
import socket
import ssl
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from threading import Timer
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import AddressRefused, SendFailed
from .addresses import parsed, resolved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .addresses import Target

SECONDS = 10.0
MOST = 65_536  # bytes of a reply that are read
SECONDS_ASKED = re.compile(r"[0-9]+(\.[0-9]+)?")


class Reply(NamedTuple):
    """What the receiver replied; the body is cut where it is too long."""

    status: int
    body: bytes
    retry_after: str = ""  # the header of that name


class _Request(NamedTuple):
    method: str
    body: bytes | None
    headers: Mapping[str, str]
    most: int


class _Connection(HTTPConnection):
    """A connection to an address of a target that was checked; the host is named, and proven by TLS, as the URL has it."""

    def __init__(self, target: Target, address: str, seconds: float) -> None:
        self.default_port = 443 if target.tls else 80
        super().__init__(target.host, target.port, timeout=seconds)
        self._target, self._address = target, address
        # `sock` is None as soon as the headers of a reply say that it is the last.
        self._wire: socket.socket | None = None

    def connect(self) -> None:
        """Connect to the address; the name is not resolved again."""
        self.sock = self._wire = socket.create_connection((self._address, self._target.port), self.timeout)
        if self._target.tls:
            secure = ssl.create_default_context()
            self.sock = self._wire = secure.wrap_socket(
                self.sock, server_hostname=self._target.host, do_handshake_on_connect=False
            )
            self.sock.do_handshake()  # here, so that the watchdog can cut it

    def cut(self) -> None:
        """End the connection, whatever another thread reads from it at the moment."""
        with suppress(OSError):  # it has ended meanwhile
            if self._wire is not None:
                self._wire.shutdown(socket.SHUT_RDWR)


def post(
    url: str, body: bytes, headers: Mapping[str, str], *, seconds: float = SECONDS, allow: Sequence[str] = ()
) -> Reply:  # fmt: skip
    """Send a body and return the reply, with a status from 200 to 299. Otherwise as `exchange`.

    Raises `AddressRefused` for a redirect, and `SendFailed` for any other status.
    """
    reply = exchange(url, body, headers, seconds=seconds, allow=allow)
    if 300 <= reply.status < 400:
        raise AddressRefused(f"{parsed(url).host} {redirects(reply.status)}")
    if not 200 <= reply.status < 300:
        shown = reply.body[:200].decode("utf-8", "replace")
        raise SendFailed(f"{parsed(url).host} replies {reply.status}: {shown}")
    return reply


def redirects(status: int) -> str:
    """Return what to say about a redirect."""
    return f"redirects ({status}), which is not followed: give the URL that it redirects to"


def exchange(
    url: str, body: bytes | None, headers: Mapping[str, str], *, method: str = "POST", seconds: float = SECONDS,
    allow: Sequence[str] = (), most: int = MOST,
) -> Reply:  # fmt: skip
    """Send a request and return the reply, whatever its status is. A redirect is not followed; a body is cut after `most` bytes.

    Raises `AddressRefused` if the URL or an address of its host is not allowed: sending again is of no use. Raises `SendFailed` if the
    receiver is out of reach or too slow. `allow` names hosts and networks that may be reached though they are inside this network.
    """
    until = time.monotonic() + seconds
    target = resolved(parsed(url), allow, seconds)
    check_headers(headers)
    problem: Exception | None = None
    for address in target.addresses:
        try:
            return _exchange(_Request(method, body, headers, most), target, address, until)
        except (OSError, HTTPException, ValueError) as error:
            problem = error
    late = "no reply in time" if time.monotonic() >= until else str(problem) or type(problem).__name__
    raise SendFailed(f"the request to {target.host}:{target.port} failed: {late}") from problem


def seconds_of(retry_after: str) -> float:
    """Return how long a receiver asks to wait: seconds, or an HTTP date; 0 if it does not, or not in a form that is known."""
    if SECONDS_ASKED.fullmatch(retry_after):
        whole, _, part = retry_after.partition(".")
        return float(f"{whole[:9]}.{part[:9]}")
    from email.utils import parsedate_to_datetime

    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0)
    except (ValueError, TypeError, OverflowError):
        return 0


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise `AddressRefused` for a header that cannot be sent, or that would be read as two."""
    for name, value in headers.items():
        if not name.replace("-", "").isalnum() or not (name + value).isascii() or not value.isprintable():
            raise AddressRefused(
                f"the header {name!r:.60} is not valid: a header has printable ASCII characters only, in one line"
            )


def _exchange(request: _Request, target: Target, address: str, until: float) -> Reply:
    """Connect, send and read. A watchdog closes the connection when the time is over, however slowly bytes still come."""
    left = max(until - time.monotonic(), 0.001)
    connection = _Connection(target, address, left)
    watchdog = Timer(left, connection.cut)
    watchdog.daemon = True
    watchdog.start()
    try:
        headers = {**request.headers, "Connection": "close"}
        connection.request(request.method, target.path, request.body, headers)
        with connection.getresponse() as reply:  # the connection alone does not close the socket of a last reply
            return Reply(reply.status, reply.read(request.most), reply.getheader("retry-after") or "")
    finally:
        watchdog.cancel()
        connection.close()

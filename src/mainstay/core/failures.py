"""What an exception says about a failure: its code, its HTTP status, and whether it passes. Imports no client library."""

from __future__ import annotations

import errno
import sys
from typing import Any

from .clock import DAY

CODE = 100  # characters of a code; a longer text is a message
CODES = ("code", "error_code", "status_code", "status", "sqlstate", "sqlite_errorname")
STATUSES = ("status_code", "status", "code")
PASSING_STATUS = (408, 425, 429)  # request timeout, too early, too many requests; and every one from 500 on
# Trouble with a connection, or with something that is short at the moment.
PASSING_ERRNO = frozenset(
    getattr(errno, name)
    for name in (
        "EAGAIN", "EBUSY", "ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EDEADLK", "EHOSTDOWN", "EHOSTUNREACH", "EINTR",
        "EMFILE", "ENETDOWN", "ENETRESET", "ENETUNREACH", "ENFILE", "ENOBUFS", "ENOLCK", "EPIPE", "ESTALE", "ETIMEDOUT",
        "ETXTBSY",
    )
    if hasattr(errno, name)
)  # fmt: skip
# Base classes of requests, httpx, aiohttp, urllib3, botocore, redis, http.client and ssl, by their names, and our own.
PASSING_NAMES = frozenset((
    "ConnectionError", "TimeoutError", "Timeout", "TimeoutException", "NetworkError", "RemoteProtocolError",
    "ClientConnectionError", "ClientPayloadError", "ServerTimeoutError", "ProtocolError", "HTTPClientError",
    "ChunkedEncodingError", "IncompleteRead", "SSLEOFError", "SSLZeroReturnError", "StoreUnavailable",
))  # fmt: skip
# Subclasses of these that do not pass: a certificate, a proxy or a URL that is wrong.
LASTING_NAMES = frozenset((
    "SSLCertVerificationError", "ClientConnectorCertificateError", "SSLError", "ClientSSLError", "ProxyError",
    "InvalidURL", "LocalProtocolError", "UnsupportedProtocol",
))  # fmt: skip


def transient(error: BaseException) -> bool:
    """Return whether a failure is likely to pass: HTTP 408, 425, 429 and 500 or above, a lost connection, a timeout.

    For `Retry(when=transient)`. An HTTP status decides alone. Without one, the class decides, and of an `OSError` the errno.
    The exceptions of requests, httpx, aiohttp, urllib, urllib3, botocore and redis are known.
    """
    status = http_status(error)
    if status is not None:
        return status in PASSING_STATUS or status >= 500
    reason = _attribute(error, "reason")
    if isinstance(reason, BaseException) and reason is not error:  # urllib.error.URLError
        return transient(reason)
    names = {each.__name__ for each in type(error).__mro__}
    if names & LASTING_NAMES and not names & {"SSLEOFError", "SSLZeroReturnError"}:
        return False
    number = error.errno if isinstance(error, OSError) else None
    if "gaierror" in names:  # its numbers are those of the resolver
        return number is not None and number == getattr(sys.modules.get("socket"), "EAI_AGAIN", None)
    return bool(names & PASSING_NAMES) or number in PASSING_ERRNO


def http_status(error: BaseException) -> int | None:
    """Return the HTTP status that an exception, or the response in it, carries."""
    response = _attribute(error, "response")
    for holder in (error, response):
        for name in STATUSES:
            status = _attribute(holder, name)
            if _is_status(status):
                return int(status)
    status = _item(response, "ResponseMetadata", "HTTPStatusCode")  # of botocore
    return int(status) if _is_status(status) else None


def retry_after(error: BaseException) -> int:
    """Return the shortest time in ms until the next attempt: the attribute `retry_after`, in seconds, up to a day; 0 without one."""
    seconds = _attribute(error, "retry_after")
    known = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return round(1000 * min(seconds, DAY / 1000)) if known and seconds > 0 else 0


def error_code(error: BaseException) -> str | None:
    """Return the code of an exception as text: the first of `CODES` that it has, else that of the response in it."""
    if isinstance(error, SystemExit) and isinstance(error.code, str):  # of sys.exit("…"): a message
        return None
    response = _attribute(error, "response")
    names = ("status",) if type(error).__module__.startswith("aiohttp") else CODES  # it warns about its own `code`
    found = [_attribute(error, name) for name in names]
    found += [_item(response, "Error", "Code"), _attribute(response, "status_code"), _attribute(response, "status")]
    return next((code for each in found if (code := _as_code(each)) is not None), None)


def _as_code(value: Any) -> str | None:
    """Return a number or a short printable text as a code; None for anything else."""
    value = getattr(value, "value", value)  # of an Enum
    if _is_number(value):
        value = str(int(value))
    return value if isinstance(value, str) and 0 < len(value) <= CODE and value.isprintable() else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_status(value: Any) -> bool:
    return _is_number(value) and 100 <= value <= 599


def _attribute(holder: object, name: str) -> Any:
    """Return an attribute; None if there is none, or a property of the user's raises."""
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001  (a property may raise anything)
        return None


def _item(holder: object, *names: str) -> Any:
    """Return an item of nested dicts; None if there is none."""
    for name in names:
        holder = holder.get(name) if isinstance(holder, dict) else None
    return holder

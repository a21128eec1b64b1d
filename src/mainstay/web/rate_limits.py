"""Limits of how often a caller may do what costs much or can be guessed: log in, enqueue jobs, send webhooks.

Each process counts for itself, in memory. The address of a client is that of its connection, never one that a header names.
"""

from __future__ import annotations

import ipaddress
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.admission import allowance, charged, permitted
from ..core.clock import monotonic
from ..core.errors import ConfigError, UsageError
from ..core.limits import interval
from .operations import CREATION, HOOKS, LOGIN
from .problems import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from ..core.clock import Clock
    from .operations import Operation
    from .roles import Access

DEFAULTS = {"login_rate": "10/m", "creation_rate": "600/m", "anonymous_rate": "60/m", "hook_rate": "600/m"}
FOR_ALL = 10  # times the rate of one client: what all clients together may log in or send
MOST = 10_000  # meters that are kept
NETWORK = 64  # bits of an IPv6 address that one client cannot choose


class Rate(NamedTuple):
    """How many calls in which time: microseconds between two at an even pace, and how many at once."""

    every: int
    burst: int


class RateLimits:
    """How often each caller has used the operations of a bucket lately."""

    def __init__(self, options: Mapping[str, Any], clock: Clock) -> None:
        self._rates = {name: _rate(name, options.get(name, usual)) for name, usual in DEFAULTS.items()}
        self._now, self._lock = monotonic(clock), threading.Lock()
        self._meters: dict[tuple[str, str], int] = {}  # when the next call would be due at an even pace (GCRA)

    def check(self, operation: Operation, request: Request, who: Access) -> None:
        """Count a call; raise `Refused` if there were too many."""
        if operation.bucket is None:
            return
        with self._lock:
            for meter, rate in self._counted(operation.bucket, request, who):
                self._charge(meter, rate)

    def _counted(self, bucket: str, request: Request, who: Access) -> list[tuple[tuple[str, str], Rate]]:
        """Return the meters that a call counts against: that of its client first, so that no client uses up what is for all."""
        client = client_of(request)
        if bucket == CREATION and who.how != "none":
            return [((bucket, caller_of(who)), self._rates["creation_rate"])]
        rate = self._rates[{LOGIN: "login_rate", CREATION: "anonymous_rate", HOOKS: "hook_rate"}[bucket]]
        overall = Rate(max(1, rate.every // FOR_ALL), rate.burst * FOR_ALL)
        return [((bucket, f"client {client}"), rate), ((bucket, "all"), overall)]

    def _charge(self, meter: tuple[str, str], rate: Rate) -> None:
        now, tat = self._now(), self._meters.get(meter, 0)
        if not allowance(tat, now, *rate):
            wait = max(1, -(-(permitted(tat, now, *rate) - now) // 1000))
            detail = f"too many requests of this kind: wait {wait} s, then repeat it"
            raise Refused(429, "rate_limited", detail, {"Retry-After": str(wait)})
        self._meters[meter] = charged(tat, now, rate.every)
        if len(self._meters) > MOST:
            self._forget(now)

    def _forget(self, now: int) -> None:
        """Forget callers whose pause is over; of too many others, those who have called least."""
        busy = {meter: tat for meter, tat in self._meters.items() if tat > now * 1000}
        kept = sorted(busy, key=busy.__getitem__)[-MOST // 2 :]
        self._meters = {meter: busy[meter] for meter in kept}


def caller_of(who: Access) -> str:
    """Return what tells one caller who is known from another."""
    return f"actor {who.how} {who.actor} {who.tenant or ''}"


def client_of(request: Request) -> str:
    """Return the address of a client; of IPv6, its network, because one client has all addresses of it."""
    host = request.client.host if request.client else ""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:  # a Unix socket, or a test
        return host
    return host if found.version == 4 else str(ipaddress.ip_network((host.partition("%")[0], NETWORK), strict=False))


def _rate(name: str, given: Any) -> Rate:
    try:
        every = interval(given)
    except UsageError as error:
        raise ConfigError(f"{name}: {error}") from None
    return Rate(every, max(1, int(float(given.partition("/")[0]))))

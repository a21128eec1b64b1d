"""Where a request may go: a URL is taken apart strictly, its host is resolved once, and every address of it is checked.

What users configure must not reach the services beside this program: loopback, private networks, or the metadata of a cloud.
"""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urlsplit

from ..core.errors import AddressRefused, SendFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Address = IPv4Address | IPv6Address
    Network = IPv4Network | IPv6Network

PORTS = {"http": 80, "https": 443}
NUMERIC = re.compile(r"(0x[0-9a-f]*|[0-9]+)\.?", re.IGNORECASE)  # a host that ends so is a number to the resolver
NAT64 = ip_network("64:ff9b::/96")
INSIDE = tuple(map(ip_network, (  # what some versions of `ipaddress` take for public
    "168.63.129.16/32",  # answered by the host of a virtual machine
    "192.0.0.0/24", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
)))  # fmt: skip
ALLOW = 'name it in allow: a host or a network, such as allow = ["10.0.0.0/8"]'


class Target(NamedTuple):
    """A URL that was checked: how to speak, with whom, and what to ask for."""

    tls: bool
    host: str
    port: int
    path: str
    addresses: tuple[str, ...] = ()  # to which the host was resolved; all were checked


def parsed(url: str) -> Target:
    """Return the parts of a URL; raise `AddressRefused` for one that two parsers may read in two ways."""
    if not url.isprintable() or " " in url or "\\" in url:
        raise AddressRefused("a URL has no spaces, backslashes or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port if parts.port is not None else PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise AddressRefused(f"the URL is not valid: {error}") from None
    if parts.scheme not in PORTS or not parts.hostname or not 0 < port < 65_536:
        raise AddressRefused(
            "give a URL with http:// or https://, a host, and a port from 1 to 65535 if it is not the usual one"
        )
    if "@" in parts.netloc:
        raise AddressRefused("a URL must not hold a user and a password, so use a header or a signature")
    host = _host(parts.hostname) if ("[" in parts.netloc) == (":" in parts.hostname) else _refuse(parts.netloc)
    return Target(parts.scheme == "https", host, port, _path(parts))


def _host(name: str) -> str:
    """Return a host as it is resolved; an address in another form than the usual one is refused."""
    if ":" in name:
        try:
            return str(IPv6Address(name)) if "%" not in name else _refuse(name)
        except ValueError:
            return _refuse(name)
    try:
        host = name.encode("idna").decode().lower()
    except UnicodeError:
        return _refuse(name)
    if NUMERIC.fullmatch(host.rstrip(".").rpartition(".")[2]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            return _refuse(name)
    return host if re.fullmatch(r"[a-z0-9._-]+", host) else _refuse(name)


def _refuse(host: str) -> str:
    raise AddressRefused(f"the host {host!r:.100} is not valid: write a name, 192.0.2.1 or [2001:db8::1]")


def _path(parts: SplitResult) -> str:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii():
        raise AddressRefused("percent-encode what is not ASCII in the path of a URL")
    return path


def resolved(target: Target, allow: Sequence[str], seconds: float) -> Target:
    """Return a target with the addresses of its host, of which each may be connected to; raise `AddressRefused` otherwise."""
    found = tuple(dict.fromkeys(_look_up(target, seconds)))
    if target.host not in {name.lower() for name in allow}:
        networks = [ip_network(name, strict=False) for name in allow if is_network(name)]
        for text in found:
            _check(target.host, ip_address(text), networks)
    return target._replace(addresses=found)


def _look_up(target: Target, seconds: float) -> Iterator[str]:
    """Yield the addresses of a host. The system's resolver knows no time limit, so it is asked on a thread of its own."""
    found: list[list[str] | OSError] = []

    def ask() -> None:
        try:
            known = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            found.append([str(address[0]) for *_, address in known])
        except (OSError, UnicodeError) as error:
            found.append(OSError(str(error)))

    thread = Thread(target=ask, name="mainstay-resolve", daemon=True)
    thread.start()
    thread.join(seconds)
    if not found or isinstance(found[0], OSError):
        why = found[0] if found else f"no reply within {seconds:g} s"
        raise SendFailed(f"the host {target.host} cannot be resolved: {why}")
    yield from found[0]


def is_network(name: str) -> bool:
    """Whether a text names a network or an address: 10.0.0.0/8, 127.0.0.1."""
    try:
        ip_network(name, strict=False)
    except ValueError:
        return False
    return True


def _check(host: str, address: Address, allowed: Sequence[Network]) -> None:
    for each in _meant(address):
        if any(each in network for network in allowed):
            continue
        if not each.is_global or each.is_multicast or each.is_reserved or any(each in network for network in INSIDE):
            known = "" if host == str(address) else f"{address}, "
            raise AddressRefused(f"{host} is {known}an address inside this network; if it is meant, {ALLOW}")


def _meant(address: Address) -> list[Address]:
    """Return the address, or the IPv4 addresses that an IPv6 address stands for: mapped, compatible, 6to4, Teredo, NAT64."""
    if isinstance(address, IPv4Address):
        return [address]
    inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in NAT64 or 1 < int(address) < 2**32:
        inside.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [each for each in inside if each is not None] or [address]

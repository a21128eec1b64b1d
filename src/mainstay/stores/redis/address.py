"""The URLs: redis, rediss, valkey, valkeys, and with +cluster or +sentinel several servers that act as one."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ...core.errors import ConfigError
from ...core.masking import masked, masked_detail

PREFIX = "mainstay"
PORTS = {"": 6379, "cluster": 6379, "sentinel": 26379}
OURS = ("prefix", "socket_timeout", "socket_connect_timeout", "health_check_interval")
TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname")
CHECKS = ("none", "optional", "required")  # of the server's certificate


class Address(NamedTuple):
    """Where an installation's keys are: the servers, the options of a connection, and the prefix of the keys."""

    kind: str  # "" one server, "cluster", "sentinel"
    hosts: tuple[tuple[str, int], ...]
    service: str  # what the sentinels call the server
    options: dict[str, Any]  # of a connection, by the names of redis-py
    prefix: str  # with its hash tag: "{mainstay}:"
    shown: str  # the URL without its password

    @property
    def identity(self) -> tuple[str, ...]:
        """Return what tells this installation from others."""
        return "redis", repr(self.hosts), self.service, str(self.options.get("db", 0)), self.prefix


def parse_url(url: str) -> Address:
    """Return the address in a URL."""
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
    except ValueError as error:
        raise ConfigError(f"{masked(url)!r}: {masked_detail(str(error), url)}. {_HOW}") from None
    scheme, _, kind = parts.scheme.replace("valkey", "redis").partition("+")
    unknown = [name for name in options if name not in (*OURS, *TLS)]
    if unknown or scheme not in ("redis", "rediss") or kind not in PORTS or not parts.netloc:
        why = masked_detail(f"unknown option {unknown[0]!r}", url) if unknown else _HOW
        raise ConfigError(f"{masked(url)!r}: {why}")
    user, _, hosts = parts.netloc.rpartition("@")
    path = [unquote(part) for part in parts.path.split("/")[1:] if part]
    service = path.pop(0) if kind == "sentinel" and path else ""
    return Address(
        kind, _hosts(hosts, PORTS[kind], url), service or "mymaster",
        _numbers(options, url) | _login(user) | _database(path, kind, url) | _tls(scheme, options, url),
        _prefix(options.get("prefix", PREFIX), url), masked(url),
    )  # fmt: skip


_HOW = (
    'write "redis://host:6379/0", "rediss://user:password@host/0", "redis+cluster://host:port,host:port/" or '
    '"redis+sentinel://host:26379,host:26379/service/0"'
)


def _hosts(text: str, port: int, url: str) -> tuple[tuple[str, int], ...]:
    found = []
    for part in text.split(","):
        name, colon, number = part.rpartition(":") if not part.endswith("]") else (part, "", "")
        if not colon:
            name, number = part, str(port)
        if not number.isdigit() or int(number) > 65_535:
            why = masked_detail(f"{number!r} is not a port", url)
            raise ConfigError(f"{masked(url)!r}: {why}; write / ? # @ in a password as %2F %3F %23 %40")
        found.append((name.strip("[]") or "127.0.0.1", int(number)))
    return tuple(found)


def _login(user: str) -> dict[str, Any]:
    name, _, password = user.partition(":")
    login = {"username": unquote(name) or None, "password": unquote(password) or None}
    return {key: value for key, value in login.items() if value}


def _database(path: list[str], kind: str, url: str) -> dict[str, Any]:
    if not path:
        return {}
    if len(path) > 1 or not path[0].isdigit():
        raise ConfigError(f"{masked(url)!r}: the path is the number of the database, e.g. /0")
    if kind == "cluster" and path[0] != "0":
        raise ConfigError(f"{masked(url)!r}: a cluster has database 0 only; give each installation a prefix= instead")
    return {} if kind == "cluster" else {"db": int(path[0])}


def _numbers(options: dict[str, str], url: str) -> dict[str, Any]:
    try:
        return {name: float(options[name]) for name in OURS[1:] if name in options}
    except ValueError:
        raise ConfigError(f"{masked(url)!r}: {', '.join(OURS[1:])} are seconds") from None


def _tls(scheme: str, options: dict[str, str], url: str) -> dict[str, Any]:
    chosen: dict[str, Any] = {name: options[name] for name in TLS if name in options}
    if chosen.get("ssl_cert_reqs", CHECKS[0]) not in CHECKS:
        raise ConfigError(f"{masked(url)!r}: ssl_cert_reqs is {', '.join(CHECKS)}")
    if "ssl_check_hostname" in chosen:
        chosen["ssl_check_hostname"] = chosen["ssl_check_hostname"].lower() in ("1", "true", "yes")
    return {"ssl": True} | chosen if scheme == "rediss" else {}


def _prefix(name: str, url: str) -> str:
    if not name or not name.isprintable() or any(mark in name for mark in "{}*?[]"):
        raise ConfigError(f"{masked(url)!r}: a prefix has printable characters, without {{ }} * ? [ ]")
    return f"{{{name}}}:"

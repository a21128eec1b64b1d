"""Stores: the only code that talks to a database. `open_store` picks the engine by the URL."""

from __future__ import annotations

import os

from ..core.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..core.clock import Clock
    from .contract import Store
    from .schema import Migrations

MARK, MOVED = "move.mark", "move.moved_to"  # the settings of a store whose jobs come or have gone: see move.py
KEYS = "MAINSTAY_ENCRYPTION_KEYS"  # as in core/keyring.py, which most programs need not import
POSTGRES = ("postgresql", "postgres")
REDIS = ("redis", "rediss", "valkey", "valkeys", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")


def open_store(url: str, clock: Clock | None = None) -> Store:
    """Return the store behind a URL; nothing is opened or created before the first verb.

    With a `clock` the caller's time decides what is due or expired: for tests. Without one, PostgreSQL and Redis use their own.
    The verbs are a table, so no type checker sees that this is a `Store`; tests/unit/test_verbs.py does.
    """
    url = without_driver(url)
    name = engine(url)
    module: Any = __import__(f"{__name__}.{name}.store", fromlist=["store"])
    store: Store = getattr(module, f"{name.capitalize()}Store")(url, clock)
    return store if not os.environ.get(KEYS) else _encrypted(store)


def _encrypted(store: Store) -> Store:
    from ..core.keyring import parse
    from .encrypted import EncryptedStore

    made: Any = EncryptedStore(store, parse(os.environ[KEYS]))
    found: Store = made
    return found


def existing(url: str) -> str:
    """Return the URL with the option that creates nothing."""
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme not in ("sqlite", *POSTGRES) or ":memory:" in url or "mode=" in url:
        return url
    open_store(url)  # opens nothing, but an error about the URL shows it as its user wrote it
    return f"{url}{'&' if '?' in url else '?'}mode=existing"


def open_migrations(url: str) -> Migrations:
    """Return the migrations of the store behind a URL."""
    url = without_driver(url)
    module: Any = __import__(f"{__name__}.{engine(url)}.migrate", fromlist=["migrate"])
    migrations: Migrations = module.Migrations(url)
    return migrations


def without_driver(url: str) -> str:
    """Return the URL without the driver that SQLAlchemy's form names, as in `postgresql+asyncpg://`."""
    scheme, colon, rest = url.partition(":")
    name, plus, _ = scheme.partition("+")
    return name + colon + rest if plus and name in ("sqlite", *POSTGRES) else url


def engine(url: str) -> str:
    """Return the name of a URL's engine, which is that of its package; raise when its driver is missing."""
    if not url:
        raise ConfigError(
            'which store? Give Mainstay("sqlite:///jobs.db"), set MAINSTAY_URL, or put url = "…" into mainstay.toml'
        )
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        return "sqlite"
    if scheme in POSTGRES or scheme in REDIS:
        from importlib.util import find_spec

        name = "postgres" if scheme in POSTGRES else "redis"
        for module in _needed(scheme):
            if find_spec(module) is None:
                raise ConfigError(f'this URL needs the package {module}: pip install "mainstay[{name}]"')
        return name
    from ..core.masking import masked
    from ..core.suggest import did_you_mean

    raise ConfigError(
        f'store URL {masked(url)!r}{did_you_mean(scheme, ("sqlite", *POSTGRES, *REDIS))}: give "sqlite:///jobs.db" (a file in this folder), "sqlite:////var/lib/jobs.db" '
        '(an absolute path), "sqlite:///:memory:", "postgresql://user@host/database" or "redis://host:6379/0"'
    )


def _needed(scheme: str) -> tuple[str, ...]:
    """Return the modules that a scheme needs. redis-py finds the server behind sentinels or in a cluster."""
    if scheme in POSTGRES:
        return ("psycopg",)
    return ("hiredis", "redis") if "+" in scheme else ("hiredis",)


def folder(path: str) -> str:
    """Return the folder in which the workers of a database file keep their lock files and sockets."""
    return path + "-mainstay"

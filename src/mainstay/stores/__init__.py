"""Stores: the only code that talks to a database. `open_store` picks the engine by the URL."""

from __future__ import annotations

from ..core.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..core.clock import Clock
    from .contract import Store
    from .schema import Migrations

POSTGRES = ("postgresql", "postgres")
REDIS = ("redis", "rediss", "valkey", "valkeys", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")


def open_store(url: str, clock: Clock | None = None) -> Store:
    """Return the store behind a URL; nothing is opened or created before the first verb.

    With a `clock` the store uses the caller's time: for tests. Without one, PostgreSQL and Redis use their own.
    """
    name = engine(url)
    if name == "sqlite":
        from .sqlite.store import SqliteStore

        return SqliteStore(url)
    if name == "postgres":
        from .postgres.store import PostgresStore

        return PostgresStore(url, clock)
    from .redis.store import RedisStore

    return RedisStore(url, clock)


def open_migrations(url: str) -> Migrations:
    """Return the migrations of the store behind a URL."""
    from importlib import import_module

    migrations: Migrations = import_module(f".{engine(url)}.migrate", __name__).Migrations(url)
    return migrations


def engine(url: str) -> str:
    """Return the name of a URL's engine, which is that of its package; raise when its driver is missing."""
    if not url:
        raise ConfigError(
            'which store? Give Mainstay("sqlite:///jobs.db"), set MAINSTAY_URL, or put url = "…" into mainstay.toml'
        )
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        return "sqlite"
    if scheme in POSTGRES:
        _need("psycopg", "postgres")
        return "postgres"
    if scheme in REDIS:
        _need("redis", "redis")
        return "redis"
    raise ConfigError(
        f'store URL {url!r}: give "sqlite:///jobs.db" (a file in this folder), "sqlite:////var/lib/jobs.db" '
        '(an absolute path), "sqlite:///:memory:", "postgresql://user@host/database" or "redis://host:6379/0"'
    )


def _need(module: str, extra: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise ConfigError(f'this URL needs the package {module}: pip install "mainstay[{extra}]"')

"""Stores: the only code that talks to a database. `open_store` picks the engine by the URL."""

from __future__ import annotations

from ..core.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..core.clock import Clock
    from .contract import Store


def open_store(url: str, clock: Clock | None = None) -> Store:
    """The store behind a URL; nothing is opened or created before the first verb."""
    if not url:
        raise ConfigError(
            'which store? Give Mainstay("sqlite:///jobs.db"), set MAINSTAY_URL, or put url = "…" into mainstay.toml'
        )
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        from .sqlite.store import SqliteStore

        return SqliteStore(url, clock)
    raise ConfigError(
        f'store URL {url!r}: give "sqlite:///jobs.db" (a file in this folder), "sqlite:////var/lib/jobs.db" '
        '(an absolute path) or "sqlite:///:memory:"'
    )

"""A process that upgrades a store and may be killed at any statement of it. Forked by the zygote of the crash tests."""

import sqlite3

from mainstay.stores import open_migrations
from mainstay.stores.redis import migrate as redis_migrate
from tests.crash.points import Fuse


def up(url, at=0):
    """Upgrade. On SQLite the process kills itself at the statement `at`; on a server the proxy does."""
    redis_migrate.COUNT = 5  # so that each step takes several calls
    fuse = Fuse(at)
    fuse.lit = bool(at)
    connect = sqlite3.connect

    def traced(*words, **options):
        connection = connect(*words, **options)
        connection.set_trace_callback(fuse.burn)
        return connection

    sqlite3.connect = traced
    open_migrations(url).up(lambda _: None)
    fuse.burn()
    return 0

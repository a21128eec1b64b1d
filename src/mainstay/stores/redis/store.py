"""The Redis store: its state, and the table of its verbs."""

from __future__ import annotations

from ..verbs import Verbs, table
from .connect import Server
from .script import RULED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...core.clock import Clock
    from .ruled import RulesKnown


class RedisStore(Verbs):
    """A store on a Redis or Valkey server. It goes by the server's clock, or by the caller's where it gets a `clock`."""

    lease = 15_000
    sweep_interval = 1_000
    remote = True  # a server: it may be away for a while
    VERBS = table("redis", {
        "redis.enqueue": "enqueue outbox",
        "redis.claim": "claim claimed_by finish",
        "redis.diagnostics": "diagnostics compact change_mark",
        "redis.notifier": "notifier notify",
    })  # fmt: skip

    def __init__(self, url: str, clock: Clock | None = None) -> None:
        self.url = url
        self.server = Server(url)
        self.identity = self.server.address.identity
        self.rules_known: RulesKnown | None = None  # those of types and queues, as the last enqueue met them
        self.flowing = False  # known to have rules: hot scripts run in their variant for them
        self.examined_at = 0  # when a claim of this process examined lines last (`turns`)
        self._own_clock = clock is None

    def engine_now(self, now: int) -> int | str:
        """Return the instant by which a script decides; "" for the server's own time."""
        return "" if self._own_clock else now

    def run_hot(self, name: str, values: list[Any], ruled: bool = False) -> Any:
        """Run a hot script, in its variant for jobs with rules where there are any or may be (`script.HOT`)."""
        if not self.flowing and not ruled:
            reply = self.server.run(name, values)
            if reply != "rules":
                return reply
            self.flowing = True
        return self.server.run(name + RULED, values)

    def close(self) -> None:
        """Close every connection. The store may be used again: it opens new ones."""
        self.server.close()

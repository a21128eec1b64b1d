"""Numbers of an application: statistics, and metrics for Prometheus. Each verb imports what it needs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any, Literal

    from .control.stats import Stats
    from .core.clock import Clock, Duration
    from .stores.contract import Store

    Message = dict[str, Any]
    Asgi = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


class Measured:
    """What an application can say in numbers."""

    store: Store
    clock: Clock

    def stats(
        self,
        since: Duration = "24h",
        by: Literal["type", "minute", "hour", "day"] = "type",
        types: Sequence[str] = (),
    ) -> Stats:
        """Return what happened in the last time: a record for each type, or for each minute, hour or day of all `types` together.

        Minutes are kept for two hours at least, hours for 30 days (the setting `stats_keep`).
        """
        from .control.stats import stats

        return stats(self.store, self.clock, since, by, types)

    def metrics(self) -> str:
        """Return the metrics of the whole installation in Prometheus' text format."""
        from .control.metrics import text

        return text(self.store, self.clock)

    def metrics_app(self) -> Asgi:
        """Return an ASGI application that answers every GET with the metrics: mount it at /metrics."""
        from .control.metrics_app import metrics_app

        return metrics_app(self.metrics)

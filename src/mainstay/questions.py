"""What operators ask of an installation: what works, what is wrong, what waits and why, how much and how fast.

On the cold path of every producer: each verb imports what it needs.
"""

from __future__ import annotations

from .flow import Flow, control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Unpack

    from starlette.types import ASGIApp

    from .control.alerts import Alerts
    from .control.dead import DeadGroup
    from .control.incoming import Incoming
    from .control.logs import LogOptions, LogSearch
    from .control.metrics_app import Asgi
    from .control.records import DeadRecord, Health, Reconciliation, StuckRecord, Why, WorkerRecord
    from .control.stats import By, Stats
    from .control.subscriptions import Subscriptions
    from .control.tokens import Tokens
    from .control.webhooks import Webhooks
    from .core.clock import Duration
    from .core.duplicates import Duplicates
    from .handle import Handle
    from .stores.contract import Store
    from .web.site import Callback, SiteOptions


class Questions(Flow):
    """The questions and their answers: a part of `Mainstay`."""

    if TYPE_CHECKING:

        @property
        def reader(self) -> Store: ...

    # workers ------------------------------------------------------------------------------------------------------
    def workers(self) -> list[WorkerRecord]:
        """Return the registered workers, oldest first."""
        return control.workers.workers(self)

    def stop_worker(self, worker: str, *, drain: bool = False, actor: str = "python") -> str:
        """Ask a worker to stop as a signal does; return its id. With `drain`, it finishes what it runs first, however long that takes."""
        return control.workers.stop_worker(self, worker, drain, actor)

    # health and alerts --------------------------------------------------------------------------------------------
    def health(self, timeout: Duration = "5s") -> Health:
        """Return whether the installation is healthy, degraded or unhealthy, and why; within `timeout`, also if the store hangs."""
        return control.health.health(self, timeout)

    @property
    def alerts(self) -> Alerts:
        """What is wrong and was, the rules that find it, and the channels that tell: `app.alerts.open()`, `.set`, `.silence`, `.send_to`."""
        return control.alerts.Alerts(self)

    @property
    def webhooks(self) -> Webhooks:
        """Endpoints that get signed events, and their deliveries: `app.webhooks.add(url, "invoice.*")`, `.send("invoice.paid", {…})`."""
        return control.webhooks.Webhooks(self)  # type: ignore[arg-type]  # of which this is a part

    @property
    def tokens(self) -> Tokens:
        """Who may use the HTTP API: `app.tokens.create("ada", "operator", tenant="acme")`, `.list()`, `.revoke(id)`."""
        return control.tokens.Tokens(self)

    # events -------------------------------------------------------------------------------------------------------
    @property
    def subscriptions(self) -> Subscriptions:
        """Which jobs an event creates: `app.subscriptions.add("ledger", "invoice.paid", "book", {"invoice": "$.data.id"})`."""
        return control.subscriptions.Subscriptions(self)  # type: ignore[arg-type]  # of which this is a part

    @property
    def incoming(self) -> Incoming:
        """Receivers of webhooks: `app.incoming.add("github", scheme="github", event="github.{headers.x-github-event}")`."""
        return control.incoming.Incoming(self)  # type: ignore[arg-type]  # of which this is a part

    def publish(
        self, event: str, data: Mapping[str, Any] | None = None, *, key: str | None = None, tx: object = None
    ) -> Sequence[Handle[Any]]:
        """Publish an event: enqueue the jobs that subscribe to it, all or none; with `tx=` they commit with that transaction.

        With a `key`, publishing again creates nothing new, and the handles are those of the jobs that are there.
        """
        return self.subscriptions.publish(event, data, key, tx)

    async def apublish(
        self, event: str, data: Mapping[str, Any] | None = None, *, key: str | None = None, tx: object = None
    ) -> Sequence[Handle[Any]]:
        """As `publish`, awaited; `tx=` is then an async connection or session."""
        return await self.subscriptions.apublish(event, data, key, tx)

    # why ----------------------------------------------------------------------------------------------------------
    def search_logs(self, query: str = "", **given: Unpack[LogOptions]) -> LogSearch:
        """Return log lines of the jobs that match a search, the newest first, where to go on, and how far it looked."""
        return control.logs.search(self.reader, query, self.clock.now(), **given)

    def why(self, job: str | Handle[Any]) -> Why:
        """Return why a job has not started, the true reason first; or what became of it."""
        return control.why.why(self, self._stored(job))

    # what went wrong ----------------------------------------------------------------------------------------------
    def dead(self, *, everything: bool = False) -> Sequence[DeadRecord]:
        """Return the dead jobs in groups by what they died of, the largest first; with `everything` also ignored and resolved groups."""
        return control.dead.dead(self, everything)  # type: ignore[arg-type]  # of which this is a part

    def dead_group(self, fingerprint: str) -> DeadGroup:
        """Return one group of dead jobs, by the beginning of its fingerprint, to act on: `app.dead_group("7f3a").retry(one=True)`."""
        return control.dead.dead_group(self, fingerprint)  # type: ignore[arg-type]

    def stuck(self, after: Duration = "5m") -> Sequence[StuckRecord]:
        """Return running jobs that are stuck: for longer than `after`, past their timeout, cancelled and going on, or of a silent worker."""
        return control.stuck.stuck(self, after)

    def duplicates(self, within: Duration = "24h") -> Duplicates:
        """Return jobs with the same type and key, or the same type and arguments, of the newest jobs created within this time."""
        return control.duplicates.duplicates(self, within)

    def reconcile(
        self, types: Sequence[str] = (), since: Duration | None = None, limit: int | None = None
    ) -> Reconciliation:
        """Check whether what completed jobs did still holds, by the `verify=` of their types; it changes nothing.

        Jobs of these `types` or all, that ended within the time `since`; `limit` ended jobs are looked at, the last ones.
        """
        return control.reconcile.reconcile(self, types, since, limit)  # type: ignore[arg-type]

    def stats(self, since: Duration = "24h", by: By = "type", types: Sequence[str] = ()) -> Stats:
        """Return what happened to jobs in the last time: by type, or by minute, hour or day; of some `types` or of all."""
        return control.stats.stats(self.store, self.clock, since, by, types)

    def metrics(self) -> str:
        """Return the metrics of the whole installation in Prometheus' text format."""
        return control.metrics.text(self.store, self.clock)

    def metrics_app(self) -> Asgi:
        """Return an ASGI application that answers every GET with the metrics: mount it at /metrics."""
        return control.metrics_app.metrics_app(self.metrics)

    def dashboard(self, access: Callback | None = None, **options: Unpack[SiteOptions]) -> ASGIApp:
        """Return the HTTP API and the dashboard as an ASGI application: `fastapi_app.mount("/jobs", app.dashboard(access=role_of))`.

        `access(request)` returns the role of a caller (viewer, operator or admin), an `Access`, or None; it may be async. Without it,
        callers need a token (`mainstay token create`). `creation` says who may enqueue: `authenticated` (operators), `open` or `off`.
        """
        from .web import check_installed

        check_installed()
        from .web.asgi import application
        from .web.site import Site

        return application(Site(self, access, options))  # type: ignore[arg-type]  # of which this is a part

"""`worker`: runs jobs in this process, or in several processes under a supervisor: each is `python -m mainstay.cli.worker`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import UsageError
from ..core.settings import masked
from ..settings_file import load_settings
from ..stores import without_driver
from . import enqueue_args
from .options import command, targeted

if TYPE_CHECKING:
    from ..app import Mainstay
    from ..core.settings import Settings
    from .target import Target


@command(
    """
    mainstay worker --app jobs:app
    mainstay worker --app jobs:app --queues mail,default --concurrency 8
    mainstay worker --app jobs:app --processes 4
    """
)
@click.option("--queues", metavar="A,B", help="Only these queues, in this order.")
@click.option("--types", metavar="A,B", help="Only these types.")
@click.option("-c", "--concurrency", metavar="N", help="Jobs that run at the same time in a process.  [default: 50]")
@click.option("-p", "--processes", metavar="N", help="Worker processes.  [default: 1]")
@click.option("--grace", metavar="DURATION", help="How long running jobs may continue after a stop.  [default: 30s]")
@click.option("--log-level", metavar="LEVEL", help="debug, info, warning or error.  [default: info]")
@click.option("--log-format", metavar="FORM", help="text or json.  [default: text]")
@targeted
def worker(target: Target, types: str | None, **given: Any) -> int:
    """Run jobs until a signal stops it.

    The first SIGTERM or Ctrl-C stops gracefully: running jobs may finish or reach a safe point, the others are released.
    A second one stops at once; interrupted jobs run again.
    """
    settings = _settings(target, given)
    if settings.processes > 1:
        return _supervise(target, settings, types)
    from ..worker.shutdown import until_signalled

    return until_signalled(
        _logged(_application(target), settings).worker(**_options(settings, types)), replaceable=True
    )


def _logged(app: Mainstay, settings: Settings) -> Mainstay:
    from .log import WorkerLog

    WorkerLog(app, settings.log_level, settings.log_format)
    return app


def _settings(target: Target, given: dict[str, Any]) -> Settings:
    if given["grace"]:
        given["grace"] = enqueue_args.duration("--grace", given["grace"])
    return target.settings(**given)


def _application(target: Target) -> Mainstay:
    """Return the application. It uses the URL of the command line, unless the code gives it another."""
    if target.given_url:
        os.environ["MAINSTAY_URL"] = target.given_url
    app = target.application()
    if target.given_url and without_driver(target.given_url) != app.store.url:
        raise UsageError(
            f"the application was built for {masked(app.store.url)}: leave --url out, or write Mainstay() without a URL, "
            "so that --url, MAINSTAY_URL or the settings file decide"
        )
    return app


def _options(settings: Settings, types: str | None) -> dict[str, Any]:
    return {
        "concurrency": settings.concurrency,
        "queues": settings.queues or None,
        "types": [name.strip() for name in types.split(",")] if types else None,
        "grace": settings.grace,
        "poll": settings.poll,
        "audit_keep": settings.audit_keep,
        "lease": settings.lease,
    }


def _supervise(target: Target, settings: Settings, types: str | None) -> int:
    """Run several processes. They get the options of the command line through the environment."""
    from ..worker.supervisor import Supervisor

    app = target.app_name()
    given = {"MAINSTAY_LOG_LEVEL": settings.log_level, "MAINSTAY_LOG_FORMAT": settings.log_format}
    os.environ.update(given | ({"MAINSTAY_URL": target.given_url} if target.given_url else {}))
    return Supervisor(app, settings.processes, _options(settings, types), entry="mainstay.cli.worker").run()


if __name__ == "__main__":
    import sys

    from ..load_app import load_app
    from ..worker.shutdown import exit_process
    from ..worker.worker_process import main

    exit_process(main(sys.argv[1:], lambda spec: _logged(load_app(spec), load_settings())))

"""`serve`: the HTTP API and the dashboard."""

from __future__ import annotations

from contextlib import ExitStack, closing, nullcontext
from typing import TYPE_CHECKING, Any

import click

from ..core.masking import masked
from . import exits
from .exits import say
from .options import command, targeted
from .output import Output
from .worker import application

if TYPE_CHECKING:
    from .options import Target

PORT = 8642


@command(
    """
    mainstay serve --url sqlite:///jobs.db
    mainstay serve --app jobs:app --worker
    mainstay serve --host 0.0.0.0 --port 80 --environment production
    """
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option(
    "--prefix", default="", metavar="PATH", help="The path below which a proxy passes requests on as they are."
)
@click.option("--worker", is_flag=True, help="Run jobs in this process too; needs --app.")
@click.option("--read-only", is_flag=True, help="Refuse everything that changes something.")
@click.option(
    "--creation",
    type=click.Choice(["open", "authenticated", "off"]),
    default="authenticated",
    show_default=True,
    help="Who may enqueue jobs by the API: everybody, operators, nobody.",
)
@click.option("--name", metavar="TEXT", help="What the page calls this installation.")
@click.option("--environment", metavar="TEXT", help="Shown as a band, e.g. production.")
@click.option("--accent", metavar="COLOUR", help="The colour of that band, e.g. '#b45309'.")
@targeted
def serve(target: Target, host: str, port: int, prefix: str, worker: bool, **options: Any) -> int:
    """Serve the dashboard and the HTTP API.

    On 127.0.0.1 whoever uses this machine needs no token, until the first one is made with mainstay token create. On any other address
    callers need a token. With --app, the API checks payloads by your code and can run jobs.
    """
    from ..web import check_installed

    check_installed()
    from ..web.server import bound, check_open, check_prefix, link, until_signalled
    from ..web.site import Site

    check_prefix(prefix)
    output = Output()
    with ExitStack() as stack:
        app = stack.enter_context(_opened(target, worker))
        free = check_open(host, bool(app.store.rules(["token"])))
        listening = stack.enter_context(closing(bound(host, port)))
        site = Site(app, options=options, open=free)  # type: ignore[arg-type]  # click checks them
        stack.enter_context(app.worker() if worker else nullcontext())
        output.facts(
            ("mainstay serve", "bold"), (link(host, listening, prefix), "link"), masked(target.url()), indent=1
        )
        say("no token is needed on this machine" if free else "log in with a token of mainstay token create")
        output.flush()
        until_signalled(site, listening, prefix)
    return exits.OK


def _opened(target: Target, worker: bool) -> Any:
    """Return the user's application where one is named, else the store alone."""
    return closing(application(target)) if worker or target.wants_code() else target.open()

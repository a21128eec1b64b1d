"""`health`: whether the installation is healthy, for people, probes and load balancers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ..control import json_records
from ..control.health import DEGRADED, HEALTHY, UNHEALTHY, health as checked
from ..core.errors import MainstayError
from . import exits
from .options import command, on_store, opened

if TYPE_CHECKING:
    from ..control.records import Health
    from .options import Target
    from .output import Output

STYLES = {HEALTHY: "good", DEGRADED: "warn", UNHEALTHY: "bad"}
CODES = {HEALTHY: exits.OK, DEGRADED: exits.PARTIAL, UNHEALTHY: exits.FAILED}


@command("mainstay health\nmainstay health --json\nmainstay health -q --fail-on unhealthy --timeout 2s")
@click.option(
    "--fail-on", type=click.Choice([DEGRADED, UNHEALTHY]), default=DEGRADED, show_default=True,
    help="From which status on the exit code is not 0.",
)  # fmt: skip
@click.option("--timeout", default="5s", show_default=True, metavar="DURATION", help="How long the store may take.")
@on_store("Print only the status.")
def health(target: Target, output: Output, fail_on: str, timeout: str) -> int:
    """Show whether the installation is healthy, with an exit code for probes.

    It looks at the store, workers, queues, dead letters, schedules, disk space and clocks. Exit code 0: healthy · 3: degraded · 1: unhealthy. The thresholds are settings: mainstay settings set health.store_ms 250.
    """
    found = _asked(target, timeout)
    output.give(lambda: json_records.plain(found), [found.status], lambda: _print(output, found))
    return exits.OK if (found.status, fail_on) == (DEGRADED, UNHEALTHY) else CODES[found.status]


def _asked(target: Target, timeout: str) -> Health:
    """Ask for the health. A store that hangs is not closed: that would wait for it."""
    with target.located() as url:
        app = opened(url)
        found = checked(app, timeout, target.start())
        if found.components[0].figures["reachable"]:
            with suppress(MainstayError):
                app.close()
    return found


def _print(output: Output, found: Health) -> None:
    output.line((found.status, STYLES[found.status]))
    width = max(len(each.name) for each in found.components)
    for each in found.components:
        level = (f"{each.status:9}", STYLES[each.status])
        output.paragraph(level, f"  {each.name:{width}}  ", text=each.text, indent=1)
        if each.fix:
            output.paragraph(("→ ", "link"), text=each.fix, style="link", indent=width + 14)

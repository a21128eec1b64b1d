"""The dashboard of the demo, and the orders that keep the shop busy while somebody looks at it."""

from __future__ import annotations

import random
import time
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ...core.errors import UsageError
from . import shop

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from ...app import Mainstay
    from ...core.draft import Draft

PAUSE = 1.0  # seconds between two batches of orders
TENANTS = ("acme/berlin", "acme/oslo", "globex")


@contextmanager
def served(app: Mainstay, wanted: bool) -> Iterator[str | None]:
    """Serve the dashboard inside a `with`; give its address, or None if it is not wanted or its libraries are missing."""
    if not wanted or find_spec("uvicorn") is None:
        yield None
        return
    from ...web.server import link, serving
    from ...web.site import Site

    site = Site(app, options={"name": "demo shop", "environment": "demo"}, open=True)
    with closing(_listening()) as listening, serving(site, listening):
        yield link("127.0.0.1", listening, "")


def _listening() -> socket.socket:
    """Return a socket on the usual port, or on a free one if that is taken."""
    from ...web.server import PORT, bound

    try:
        return bound("127.0.0.1", PORT)
    except UsageError:
        return bound("127.0.0.1", 0)


def go_on(app: Mainstay) -> None:
    """Enqueue orders until Ctrl-C."""
    number = 10_000
    try:
        while True:
            batch = random.choice((1, 2, 3, 5, 8))
            app.enqueue_many(_order(number + each) for each in range(batch))
            number += batch
            time.sleep(PAUSE)
    except KeyboardInterrupt:
        return


def _order(number: int) -> Draft:
    """Return an order of some tenant; one in forty cannot be done, one in sixty needs a person."""
    tenant = random.choice(TENANTS)
    if number % 40 == 0:
        return shop.make_thumbnail.options(tenant=tenant, tags=["upload"]).prepare(f"broken-{number}.jpg", width=320)
    if number % 60 == 1:
        return shop.check_invoice.options(tenant=tenant, ref=f"invoice/{number}").prepare(number, cents=10 * number)
    if number % 90 == 2:
        return shop.import_catalog.options(tenant=tenant).prepare("Nordwind", rows=100, seconds=20)
    return shop.order(number, tenant)

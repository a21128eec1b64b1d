"""The demo's application: a small shop. `python -m mainstay.cli.demo.shop` is one of its workers."""

from __future__ import annotations

import os
import random
import sys
import time
from typing import TYPE_CHECKING, Any

from ... import Mainstay, Permanent, Retry, Review, ctx

if TYPE_CHECKING:
    from ...core.draft import Draft

SLOTS = 4
app = Mainstay(os.environ.get("MAINSTAY_URL", "sqlite:///:memory:"))


@app.job
def send_receipt(order: int, to: str) -> str:
    """The usual case: it completes at the first attempt."""
    time.sleep(random.uniform(0.2, 0.8))
    ctx.log("sent", to=to)
    return f"receipt {order} sent"


@app.job(retry=Retry(5, base="700ms", cap="2s"))
def charge_card(order: int, cents: int) -> dict[str, int]:
    """A call to an unreliable service: the first attempt often fails, a later one works."""
    time.sleep(random.uniform(0.1, 0.3))
    if ctx.attempt == 1 and order % 3 == 0:
        raise TimeoutError("the payment gateway did not respond")
    return {"order": order, "charged": cents}


@app.job(retry=Retry(3, base="500ms"))
def make_thumbnail(photo: str, width: int) -> str:
    """One photo is broken; no retry can help."""
    time.sleep(random.uniform(0.3, 0.9))
    if photo.startswith("broken"):
        raise Permanent(f"{photo} is not an image: it starts with '<html>'")
    return photo.replace(".jpg", f"@{width}.webp")


@app.job
def check_invoice(invoice: int, cents: int) -> dict[str, Any]:
    """The job proposes a result, and a person decides."""
    time.sleep(0.3)
    raise Review("the invoice is 12.40 higher than the order", output={"invoice": invoice, "pay": cents - 1240})


@app.job
def daily_report(day: str) -> str:
    """Enqueued twice, run once, because of its key."""
    time.sleep(0.5)
    return f"report for {day}"


@app.job(timeout="2m")
def import_catalog(supplier: str, rows: int, seconds: float) -> dict[str, int]:
    """A long job that saves checkpoints. Its worker is killed while it runs."""
    start = ctx.checkpoint.get("row", 0)
    if start:
        ctx.log("going on where the last attempt was", row=start)
    with ctx.stage("import"):
        for row in range(start, rows):
            time.sleep(seconds / rows)
            ctx.progress(row + 1, rows)
            ctx.save(row=row + 1)
    return {"rows": rows, "this_attempt_began_at_row": start}


@app.job
def count_stock(shelf: str = "A") -> int:
    """A short job that runs by the clock."""
    time.sleep(0.2)
    return len(shelf)


app.schedule("stock", count_stock.prepare("A"), every="20s")


def orders(jobs: int, seconds: float) -> list[Draft]:
    """Return about `jobs` jobs, including the special ones."""
    special = [
        import_catalog.prepare("Nordwind", rows=200, seconds=seconds * 0.75),
        make_thumbnail.prepare("broken-upload.jpg", width=320),
        check_invoice.prepare(invoice=2041, cents=15_540),
        daily_report.options(key="report-today").prepare("today"),
        send_receipt.options(delay=f"{max(round(seconds * 0.4), 1)}s", tags=["later"]).prepare(900, "ada@example.com"),
        send_receipt.options(delay="1h", tags=["tomorrow"]).prepare(901, "bob@example.com"),
    ]
    return special + [order(number) for number in range(max(jobs - len(special), 0))]


def order(number: int, tenant: str | None = None) -> Draft:
    """Return a job that an order of this number needs."""
    if number % 4 == 0:
        return charge_card.options(ref=f"order/{number}", tenant=tenant).prepare(number // 4, cents=1_000 + number)
    if number % 4 == 1:
        return make_thumbnail.options(tenant=tenant).prepare(f"photo-{number}.jpg", width=320)
    return send_receipt.options(ref=f"order/{number}", tenant=tenant).prepare(number, f"customer{number}@example.com")


if __name__ == "__main__":
    sys.exit(app.worker(concurrency=SLOTS, grace="2s").run())

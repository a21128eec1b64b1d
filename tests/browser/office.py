"""A small office whose jobs are in every state: what the dashboard shows in the tests and on the pictures of the docs.

Its last hour is played on a clock that the jobs themselves move, from a seed: the same jobs each time, but for their ids.
"""

import random
from datetime import timedelta

from mainstay import Limit, Mainstay, Permanent, Retry, Review, ctx
from mainstay.core.clock import SECOND, ManualClock, SystemClock
from mainstay.core.errors import MainstayError
from mainstay.core.job import WorkerInfo
from mainstay.core.updates import Log, Progress
from mainstay.testing.kit import InlineWorker

MINUTE = 60 * SECOND
TENANTS = ("acme", "acme/oslo", "globex")
KEPT = 7 * 24 * 60 * MINUTE  # counts of minutes
AGO = 4 * MINUTE  # when the job that runs was started
LEASE = 24 * 60 * MINUTE  # the worker of a picture stays


class GatewayTimeout(MainstayError):
    """A service did not respond."""


class Office:
    """The application of the office on a store, at an instant."""

    def __init__(self, url, now=None, minutes=60):
        self.now = now or SystemClock().now()
        self.minutes, self.random = minutes, random.Random(7)
        self.clock = ManualClock(self.now - minutes * MINUTE)
        self.app = Mainstay(url, clock=self.clock)
        self.ids = {}  # of jobs that tests look for, by what they show
        declare(self.app, self.work)

    def work(self, seconds):
        """Let an attempt take so long, more or less."""
        self.clock.advance(timedelta(seconds=seconds * self.random.uniform(0.5, 1.6)))

    def close(self):
        self.app.close()


def declare(app, work):
    """The job types: mail, documents, a payment service that fails, a decision, a report by the clock."""

    @app.job(queue="mail", limit=Limit(20, rate="50/s"), tags=["mail"])
    def send_receipt(order: int, to: str, language: str = "en") -> str:
        """Send the receipt of an order."""
        work(0.4)
        ctx.log("sent", to=to, language=language)
        return f"receipt {order} sent"

    @app.job(queue="payments", retry=Retry(5, base="5s", cap="2m"), timeout="30s")
    def charge_card(order: int, cents: int) -> dict[str, int]:
        """Charge the card of an order; the service is not always there."""
        work(1.2)
        if order % 7 == 0:
            raise GatewayTimeout(f"payments.example did not respond within {order % 3 + 8} s")
        return {"order": order, "charged": cents}

    @app.job(queue="documents", retry=Retry(3, base="2s"), timeout="5m", stages=["read", "extract", "store"])
    def extract_invoice(document: str, pages: int = 1, options: dict[str, bool] | None = None) -> dict[str, int]:
        """Read the figures of an invoice out of a document."""
        for stage in ("read", "extract", "store"):
            with ctx.stage(stage):
                work(pages / 2)
                ctx.log(f"{stage}: {pages} pages", pages=pages)
        if document.startswith("scan"):
            raise Permanent(f"{document} has no text: it is a picture")
        if document.startswith("unsure"):
            proposed = {"total": 11_800, "currency": "EUR", "supplier": "Nordwind"}
            raise Review("Is the total 118.00?", proposed, expires="2d", deciders=["role:editor", "ann"])
        return {"pages": pages, "total": 100 * pages}

    @app.job(queue="reports", timeout="10m")
    def nightly_report(day: str) -> str:
        """Write the report of a day."""
        work(8)
        return f"report-{day}.pdf"

    @app.job(queue="imports", timeout="1h", priority=-5, limit=Limit(2))
    def import_catalog(supplier: str, rows: int) -> int:
        """Import the catalogue of a supplier."""
        work(rows / 50)
        return rows

    app.schedule("nightly-report", nightly_report.prepare("yesterday"), cron="0 4 * * *", tz="Europe/Berlin")
    app.schedule("catalogue", import_catalog.prepare("Nordwind", 400), every="15m")


def play(office):
    """Let the office work up to its instant."""
    for minute in range(office.minutes):
        office.clock.move_to(max(office.clock.now(), office.now - (office.minutes - minute) * MINUTE))
        office.app.enqueue_many(orders(office, minute))
        InlineWorker(office.app).drain()
        count(office)
    office.app.sync_schedules()
    office.app.run_schedule("catalogue", actor="ann")
    InlineWorker(office.app).drain()
    office.clock.move_to(office.now)


def count(office):
    """Count what the last minutes brought, as the chores of a worker do."""
    while office.app.store.roll_up(office.clock.now(), KEPT, KEPT):
        pass


def orders(office, minute):
    """The jobs that a minute brings."""
    app, dice = office.app, office.random
    for number in range(minute * 10, minute * 10 + dice.randint(2, 9)):
        labels = {"tenant": dice.choice(TENANTS), "ref": f"order/{number}"}
        yield app.prepare("send_receipt", {"order": number, "to": f"customer{number}@example.com"}, **labels)
        if number % 3 == 0:
            yield app.prepare("charge_card", {"order": number, "cents": 1_000 + 37 * number}, **labels)
    name = {1: "scan", 3: "unsure"}.get(minute % 8, "invoice")
    said = {"document": f"{name}-{minute}.pdf", "pages": dice.randint(1, 6), "options": {"deskew": True}}
    yield app.prepare("extract_invoice", said, tags=["upload"], tenant=dice.choice(TENANTS), key=f"document-{minute}")


def leave_open(office):
    """Add what is under way at the instant: running, waiting, delayed, blocked and paused jobs, and a worker that holds some."""
    app, now = office.app, office.now
    office.clock.move_to(now - AGO)
    running = app.enqueue(
        "extract_invoice", {"document": "contract.pdf", "pages": 40}, tags=["upload"], tenant="acme", ref="contract/9"
    )
    waiting = [
        app.enqueue("import_catalog", {"supplier": name, "rows": 900}, tenant="globex")
        for name in ("Südwind", "Westwind")
    ]
    office.ids["later"] = app.enqueue(
        "send_receipt", {"order": 9001, "to": "ada@example.com"}, delay="2h", tags=["later"]
    ).id
    office.ids["blocked"] = app.enqueue("nightly_report", {"day": "today"}, after=[running]).id
    office.ids |= {"running": running.id, "waiting": waiting[0].id}
    worker = WorkerInfo("web-1:4121", "web-1", 4121, 8, ("documents", "mail"), ("extract_invoice", "send_receipt"), now - 90 * MINUTE, now, now + LEASE, 0, stopping=False)  # fmt: skip
    app.store.register(worker)
    hold(app, worker, now - AGO)
    app.pause(type="import_catalog", reason="the supplier moves its servers", actor="ann")
    app.set_type("charge_card", attempts=8, reason="the service is slow this week", actor="ann")
    app.set_setting("discount", 5, description="per cent, until Friday", actor="ann")
    office.clock.move_to(now)
    office.ids |= {state: newest(app, f"state:{state}") for state in ("dead", "review", "completed")}


def hold(app, worker, now):
    """Claim what waits for the worker, and report how far it is."""
    (job,) = app.store.claim(worker.id, {"documents": ["extract_invoice"]}, 1, now).jobs
    lines = ["opened contract.pdf", "page 17 has two columns", "a table without a header"]
    logs = [Log(job.seq, job.token, n, now + n * MINUTE, level, "extract", text, '{"page": 17}') for n, (level, text) in enumerate(zip(("info", "debug", "warning"), lines, strict=True), 1)]  # fmt: skip
    app.store.finish([], [Progress(job.seq, job.token, now, 17.0, 40.0, "extract", '{"tables": 3}'), *logs])


def newest(app, search):
    """The id of the newest job that a search finds."""
    return app.list(search, limit=1)[0].id


def filled(url, now=None, minutes=60):
    """The office at work on a store, with an hour behind it."""
    office = Office(url, now, minutes)
    play(office)
    leave_open(office)
    return office

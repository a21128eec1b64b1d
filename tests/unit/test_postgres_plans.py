"""The hot statements walk their index and nothing else: PostgreSQL's own generic plan says so, with and without statistics."""

from pathlib import Path

import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.outcome import COMPLETED
from mainstay.stores import open_store
from mainstay.stores.postgres import sql
from tests.contract.building import Desk, draft, transition
from tests.servers import postgres
from tests.servers.engines import postgres_server

NAMES = sorted(path.stem for path in Path(sql.FOLDER).glob("*.sql"))
# What must be in the plan, and how often at least.
INDEXES = {
    "claim": ("Index Scan using job_claim", 3), "claim_ready": ("using job_due", 2),
    "promote": ("Index Scan using job_due", 1), "finish": ("Index Scan using job_pkey", 1),
    "finish_completed": ("Index Scan using job_pkey", 1), "finish_standing": ("Index Scan using job_pkey", 1),
    "beat": ("Index Scan using worker_pkey", 1), "held": ("Index Scan using job_running", 1),
    "orphans": ("Index Scan using job_running", 1), "prune": ("Index Scan using job_expiry", 1),
    "get": ("Index Scan using body_id", 1), "find": ("using body_id", 1), "counts_queued": ("using job_claim", 1),
    "counts_scheduled": ("using job_due", 1), "counts_running": ("using job_running", 1),
    "counts_review": ("using job_review", 1), "counts_dead": ("using job_dead", 1),
    "throughput": ("using job_finished", 1), "enqueue_existing": ("Index Scan using body_lock", 1),
    "workers": ("using job_running", 1), "logs": ("Index Scan using log_pkey", 1),
    "attempts": ("Index Scan using attempt_pkey", 1), "actions_job": ("using action_job", 1),
    "listen_poll": ("using job_claim", 1), "cancel": ("Index Scan using body_id", 1),
    "standing": ("Index Scan using body_id", 1), "remove": ("Index Scan using job_pkey", 1),
    "note_log": ("Index Scan using job_pkey", 1), "note_progress": ("Index Scan using job_pkey", 1),
    "note_checkpoint": ("Index Scan using job_pkey", 1), "retry": ("Index Scan using job_pkey", 1),
}  # fmt: skip
# These tables are as small as there are workers, types and settings.
SMALL = ("worker", "type", "setting", "schema_version")


@pytest.fixture(scope="module", params=["without statistics", "with statistics"])
def store(request):
    server = postgres_server("16")
    with postgres.schema(server.url()) as url, open_store(url, ManualClock()) as store:
        desk = Desk(store, ManualClock())
        store.enqueue([draft() for _ in range(500)], desk.now)
        store.finish([transition(job, COMPLETED, desk.now) for job in desk.take(300)])
        if request.param == "with statistics":
            for table in ("job", "body", "attempt", "log", "worker"):
                server.run(f"ANALYZE {store.db.load.schema}.{table}")
        yield store


def plan(store, name):
    with store.db.using() as wire:
        rows = wire.connection.execute("EXPLAIN (GENERIC_PLAN, COSTS OFF) " + store.db.load(name)).fetchall()
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("name", INDEXES)
def test_a_statement_walks_its_index(store, name):
    words, times = INDEXES[name]
    found = plan(store, name)
    assert found.count(words) >= times, found


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(("dump_", "load_", "outbox"))])
def test_no_statement_reads_a_whole_table_of_jobs(store, name):
    found = plan(store, name)
    scanned = {line.split(" on ")[1].split()[0] for line in found.splitlines() if "Seq Scan on" in line}
    assert scanned <= set(SMALL), found


@pytest.mark.parametrize("name", ["claim", "claim_ready", "promote"])
def test_nothing_is_sorted_that_an_index_has_in_order(store, name):
    assert "Sort" not in plan(store, name)


@pytest.mark.parametrize("name", ["finish", "finish_completed", "cancel", "standing"])
def test_jobs_are_locked_in_the_order_given(store, name):
    """No join that would go through a hash table: two batches with the same jobs would wait for each other in a circle."""
    found = plan(store, name)
    assert "Hash Join" not in found
    assert "Merge Join" not in found

"""The hot statements walk their index and nothing else: PostgreSQL's own generic plan says so, whatever statistics it has.

The worst are those of a moment in which a table was empty, or a great enqueue not yet committed: every row seems to be one,
and a walk over all of them as good as a look at one.
"""

import re
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
    "claim": ("Index Scan using job_lane", 3), "claim_ready": ("using job_due", 2),
    "finish": ("Index Scan using job_pkey", 1),
    "finish_completed": ("Index Scan using job_pkey", 1), "finish_standing": ("Index Scan using job_pkey", 1),
    "renew": ("Index Scan using worker_pkey", 1), "claimed_by": ("Index Scan using job_running", 1),
    "orphans": ("Index Scan using job_running", 1), "prune": ("Index Scan using job_expiry", 1),
    "get": ("Index Scan using body_id", 1), "find": ("using body_id", 1), "counts_queued": ("using job_lane", 1),
    "counts_scheduled": ("using job_due", 1), "counts_running": ("using job_running", 1),
    "counts_review": ("using job_review", 1), "counts_dead": ("using job_dead", 1),
    "throughput": ("using job_finished", 1), "enqueue_existing": ("Index Scan using body_lock", 1),
    "workers": ("using job_running", 1), "logs": ("Index Scan using log_pkey", 1),
    "attempts": ("Index Scan using attempt_pkey", 1), "actions_job": ("using action_job", 1),
    "listen_poll": ("using job_lane", 1), "cancel": ("Index Scan using body_id", 1),
    "standing": ("Index Scan using body_id", 1), "remove": ("Index Scan using job_pkey", 1),
    "update_log": ("Index Scan using job_pkey", 1), "update_progress": ("Index Scan using job_pkey", 1),
    "update_checkpoint": ("Index Scan using job_pkey", 1), "retry": ("Index Scan using job_pkey", 1),
}  # fmt: skip
# These tables are as small as there are workers, types and settings.
SCAN = re.compile(r"Index (Only )?Scan (Backward )?using (?P<index>\w+) on (?P<table>\w+)")
SMALL = ("worker", "type", "setting", "schema_version")
# These look at a whole index, because they count what is in it, or because it holds little: what runs, the last actions.
WHOLE = {
    "actions": "action_pkey", "orphans": "job_running", "workers": "job_running", "listen_poll": "job_lane",
    "counts_queued": "job_lane", "counts_scheduled": "job_due", "counts_running": "job_running",
    "counts_review": "job_review", "counts_dead": "job_dead",
}  # fmt: skip


TABLES = ("job", "body", "tag", "attempt", "log", "result", "checkpoint", "progress", "action", "worker")
# What the planner takes the tables for: what it finds on the disk, what ANALYZE saw, or what ANALYZE saw when it saw no row.
STATISTICS = {
    "none": "SELECT 1",
    "true": "ANALYZE {schema}.{table}",
    "empty": "UPDATE pg_class SET reltuples = 0, relpages = pg_relation_size(oid) / 8192 WHERE oid = '{schema}.{table}'::regclass",
}


@pytest.fixture(
    scope="module", params=[(version, seen) for version in ("16", "18") for seen in STATISTICS], ids="-".join
)
def store(request):
    version, seen = request.param
    server = postgres_server(version)
    with postgres.schema(server.url()) as url, open_store(url, ManualClock()) as store:
        desk = Desk(store, ManualClock())
        store.enqueue([draft() for _ in range(500)], desk.now)
        store.finish([transition(job, COMPLETED, desk.now) for job in desk.take(300)])
        for table in TABLES:
            server.run(STATISTICS[seen].format(schema=store.db.load.schema, table=table))
        yield store


def plan(store, name):
    with store.db.checkout() as wire:
        rows = wire.connection.execute("EXPLAIN (GENERIC_PLAN, COSTS OFF) " + store.db.load(name)).fetchall()
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("name", INDEXES)
def test_a_statement_walks_its_index(store, name):
    words, times = INDEXES[name]
    found = plan(store, name)
    assert found.count(words) >= times, found


OURS = [name for name in NAMES if name != "outbox"]


@pytest.mark.parametrize("name", OURS)
def test_no_statement_reads_a_whole_table_of_jobs(store, name):
    found = plan(store, name)
    scanned = {line.split(" on ")[1].split()[0] for line in found.splitlines() if "Seq Scan on" in line}
    assert scanned <= set(SMALL), found


@pytest.mark.parametrize("name", OURS)
def test_no_statement_walks_a_whole_index(store, name):
    found = plan(store, name)
    assert {index for index, table in walks(found) if table not in SMALL} <= {WHOLE.get(name)}, found


def walks(plan):
    """The index scans that begin and end nowhere, as (index, table)."""
    nodes = plan.split("->")
    scans = [(SCAN.search(node), "Index Cond" in node) for node in nodes]
    return {(scan["index"], scan["table"]) for scan, bounded in scans if scan and not bounded}


@pytest.mark.parametrize("name", ["claim_ready"])
def test_nothing_is_sorted_that_an_index_has_in_order(store, name):
    assert "Sort" not in plan(store, name)


@pytest.mark.parametrize("name", ["finish", "finish_completed", "cancel", "standing"])
def test_jobs_are_locked_in_the_order_given(store, name):
    """No join that would go through a hash table: two batches with the same jobs would wait for each other in a circle."""
    found = plan(store, name)
    assert "Hash Join" not in found
    assert "Merge Join" not in found

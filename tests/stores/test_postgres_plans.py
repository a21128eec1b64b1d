"""The hot statements read along their index and nothing else: PostgreSQL's own generic plan says so, whatever statistics it has.

The worst statistics are those of a moment in which a table was empty, or a large enqueue not yet committed: every table seems to
have one row, and to read all of it as good as to look one up.
"""

import re
from pathlib import Path

import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.outcome import COMPLETED
from mainstay.query import parse
from mainstay.stores import open_store, operations
from mainstay.stores.postgres import dialect as own
from mainstay.stores.sql.actions import BELONGINGS
from mainstay.stores.sql.search import matching
from tests.contract.building import Desk, draft, transition
from tests.contract.ruled import rated
from tests.servers import postgres
from tests.servers.engines import postgres_server

FILES = {path.stem for folder in (own.FOLDER, operations.SHARED) for path in Path(folder).glob("*.sql")}
UPDATED = ("log", "progress", "checkpoint")
NAMES = sorted(
    FILES - {"body", "remove", "update"}
    | {
        "body:result",
        "body:checkpoint",
        "enqueue:keyed",
        "finish_completed:held",
    }
    | {f"remove:{table}" for table in BELONGINGS}
    | {f"update:{table}" for table in UPDATED}
)
# What must be in the plan, and how often at least.
INDEXES = {
    "claim_lines": ("Index Scan using job_blocked", 2), "admit_lines": ("using hold_pkey", 1),
    "finish_completed:held": ("Index Scan using job_pkey", 1),
    "claim": ("Index Scan using job_lane", 6), "claim_lane": ("Index Scan using job_lane", 3), "claim_wide": ("using job_lane", 4), "claim_ready": ("using job_due", 2),
    "finish": ("Index Scan using job_pkey", 1), "depth": ("using job_later", 1),
    "finish_completed": ("Index Scan using job_pkey", 1), "finish_refused": ("Index Scan using job_pkey", 1),
    "renew": ("Index Scan using worker_pkey", 1), "claimed_by": ("Index Scan using job_running", 1),
    "orphans": ("Index Scan using job_running", 1), "expired": ("Index Scan using job_expiry", 1),
    "get": ("Index Scan using body_id", 1), "find": ("using body_id", 1),
    "ended": ("using job_finished", 1), "tallies": ("using tally_pkey", 2), "totals": ("using tally_pkey", 1), "tally_enqueued": ("using body_id", 1), "enqueue_existing": ("Index Scan using body_lock", 1),
    "enqueue:keyed": ("using key_pkey", 1), "keys": ("using key_pkey", 1), "locked_keys": ("using key_pkey", 1),
    "workers": ("using job_running", 1), "logs": ("Index Scan using log_pkey", 1),
    "attempts": ("Index Scan using attempt_pkey", 1), "actions_job": ("using action_job", 1), "actions_bulk": ("using action_bulk", 1),
    "bulk_detail": ("using action_bulk", 1), "remove_actions": ("using action_pkey", 1),
    "listen_poll": ("using job_lane", 1), "end": ("Index Scan using job_pkey", 1),
    "lock_jobs": ("using body_id", 1), "remove_jobs": ("Index Scan using job_pkey", 1),
    "export_jobs": ("using job_pkey", 2), "export_logs": ("Index Scan using log_pkey", 1),
    "update:log": ("Index Scan using job_pkey", 1), "update:progress": ("Index Scan using job_pkey", 1),
    "update:checkpoint": ("Index Scan using job_pkey", 1), "retry": ("Index Scan using job_pkey", 1),
}  # fmt: skip
# These tables are as small as there are workers, types and settings, or as what was given back a moment ago.
SCAN = re.compile(r"Index (Only )?Scan (Backward )?using (?P<index>\w+) on (?P<table>\w+)")
LANE = re.compile(r"using job_lane on job.*\n +Index Cond: (.*)")
SMALL = ("worker", "declaration", "type", "setting", "schema_version", "rule", "meter", "hold", "freed")
# These read a whole index, because they count what is in it, or because it holds little: what runs, the first and the last actions.
WHOLE = {
    "reviews": {"job_review"}, "prune_actions": {"action_pkey"}, "orphans": {"job_running"}, "orphans_look": {"job_running"}, "workers": {"job_running"}, "dead_counts": {"job_dead"},
    # These stop at the first row, or at the first of a few.
    "duplicates": {"job_pkey"}, "duplicates_beyond": {"job_pkey"}, "admit_missed": {"job_blocked"}, "claim_next": {"job_ruled", "job_due"}, "claim": {"job_ruled"}, "claim_lane": {"job_ruled"}, "claim_wide": {"job_ruled"}, "claim_lines": {"job_ruled"}, "claim_ready": {"job_ruled"}, "pause_holders": {"job_ruled"}, "finish_completed": {"after_child"}, "finish_completed:held": {"after_child"},
    "listen_poll": {"job_lane"}, "counts": {"job_lane", "job_due", "job_running", "job_review", "job_dead", "job_blocked"},
}  # fmt: skip


TABLES = (
    "job",
    "body",
    "tag",
    "attempt",
    "log",
    "result",
    "checkpoint",
    "progress",
    "action",
    "acted",
    "worker",
    "key",
    "hold",
    "after",
    "meter",
    "rule",
    "freed",
    "tally",
)
# What the planner knows of the tables: what it finds on the disk, what ANALYZE found, also among many jobs with rules, or what ANALYZE found when there was no row.
STATISTICS = {
    "none": "SELECT 1",
    "true": "ANALYZE {schema}.{table}",
    "ruled": "ANALYZE {schema}.{table}",
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
        if seen == "ruled":
            store.enqueue([rated() for _ in range(2_000)], desk.now)
        for table in TABLES:
            server.run(STATISTICS[seen].format(schema=store.db.dialect.schema, table=table))
        yield store


def plan(store, name):
    return explained(store, store.dialect.numbered(name)[0])


def explained(store, text):
    with store.db.checkout() as wire:
        rows = wire.connection.execute("EXPLAIN (GENERIC_PLAN, COSTS OFF) " + text).fetchall()
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
    assert {index for index, table in walks(found) if table not in SMALL} <= WHOLE.get(name, set()), found


def walks(plan):
    """Return the index scans without bounds, as (index, table)."""
    nodes = plan.split("->")
    scans = [(SCAN.search(node), "Index Cond" in node) for node in nodes]
    return {(scan["index"], scan["table"]) for scan, bounded in scans if scan and not bounded}


@pytest.mark.parametrize("name", ["claim_lane", "claim_ready"])
def test_nothing_is_sorted_that_an_index_has_in_order(store, name):
    assert "Sort" not in plan(store, name)


@pytest.mark.parametrize(("name", "sorts"), [("claim", 1), ("claim_wide", 2)])
def test_a_claim_sorts_only_the_first_jobs_of_its_lanes(store, name, sorts):
    found = plan(store, name)
    assert found.count("Sort Key") == sorts, found
    assert all("queue = " in bounds for bounds in LANE.findall(found)), found
    sorted_rows = found.split("Sort Key: ")[sorts].split("->  Nested Loop")[1]
    assert "Limit" in sorted_rows, found
    assert "type = " in sorted_rows, found


@pytest.mark.parametrize("name", ["claim", "claim_wide"])
def test_a_claim_locks_one_row_after_the_other(store, name):
    """What is locked is what the limit counts: no node between them reads ahead."""
    found = plan(store, name)
    assert found.count("LockRows") == len(re.findall(r"LockRows\n +->  Tid Scan", found)) == 1, found
    assert "Memoize" not in found


@pytest.mark.parametrize("name", ["finish", "finish_completed", "finish_completed:held", "lock_jobs"])
def test_jobs_are_locked_in_the_order_given(store, name):
    """No join goes through a hash table: two batches with the same jobs would deadlock."""
    found = plan(store, name)
    assert "Hash Join" not in found
    assert "Merge Join" not in found


@pytest.mark.parametrize("name", ["claim_lines", "admit_lines"])
def test_lines_are_read_one_after_the_other_until_there_are_enough_jobs(store, name):
    """Nothing between the limit and the rows that are counted and locked reads ahead, and only the first jobs are sorted."""
    found = plan(store, name)
    head = found.split("CTE head")[1].split("CTE rest")[0]
    assert re.search(r"Limit\n +->  Nested Loop\n", head), found
    assert re.search(
        r"LockRows\n +->  Index Scan using job_blocked on job[^\n]*\n +Index Cond: \(waits = f[^\n]*slot\)", head
    ), found
    assert re.search(r"using hold_pkey on hold h\n +Index Cond: \(slot = f", head), found
    assert "Sort" not in head, found


def test_holds_of_one_slot_are_removed_by_the_primary_key(store):
    found = plan(store, "finish_completed:held")
    assert "Index Cond: ((slot = s.slot) AND (job >= s.first) AND (job <= s.last)" in found, found
    assert "Tid Scan on hold t" in found, found


def test_counts_walk_the_index_of_each_state(store):
    found = plan(store, "counts")
    assert {index for index, _ in walks(found)} == WHOLE["counts"], found


def test_jobs_are_compared_with_a_search_again_one_by_one(store):
    """A bulk action does it for each chunk."""
    checks = matching(store.dialect, [1, 2, 3], parse("type:work state:dead", 0), 0)
    found = explained(store, next(checks).text)
    assert found.count("Index Scan using job_pkey") == 1, found
    assert not walks(found), found
    assert "Seq Scan" not in found, found


def test_tags_are_deleted_by_their_primary_key(store):
    (statement,) = store.dialect.delete("tag", {"tag": "text", "job": "bigint"}, [("a", 1)])
    found = explained(store, statement.text)
    assert "Index Cond: ((tag = u.tag) AND (job = u.job))" in found, found
    assert "Tid Scan on tag t" in found, found


def test_the_dialect_knows_the_columns_of_the_body(store):
    text = "SELECT attname FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0"
    with store.db.checkout() as wire:
        rows = wire.connection.execute(text, [f"{store.db.dialect.schema}.body"]).fetchall()
    assert {row[0] for row in rows} == {"job", *store.dialect.body}

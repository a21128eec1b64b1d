"""The hot statements walk their index and nothing else: SQLite's own plan says so, with and without statistics."""

import re
from pathlib import Path

import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.decide import decide
from mainstay.core.draft import Draft
from mainstay.core.job import WorkerInfo
from mainstay.core.outcome import COMPLETED, Outcome
from mainstay.core.search_terms import Term
from mainstay.stores import operations
from mainstay.stores.operations import Result
from mainstay.stores.sql import actions, search
from mainstay.stores.sqlite import claim, inserts, lines, sql
from mainstay.stores.sqlite.dialect import DIALECT
from mainstay.stores.sqlite.store import SqliteStore

OWN = sorted(Path(sql.FOLDER).glob("*.sql"))
SHARED = [path for path in sorted(Path(operations.SHARED).glob("*.sql")) if path.name not in {own.name for own in OWN}]
FILES = OWN + SHARED
TABLES = [*(f"remove:{table}" for table in actions.BELONGINGS), "body:result", "body:checkpoint"]
NAMES = [path.stem for path in FILES if path.stem not in {"remove", "body"}] + TABLES
NOW = ManualClock().now()

# The line of the plan that must be there.
INDEXES = {
    "claim": "SEARCH mainstay_job USING INTEGER PRIMARY KEY (rowid=?)",
    "claim_first": "SEARCH mainstay_job USING INDEX mainstay_job_lane (queue=? AND type=?)",
    "claim_lanes": "SEARCH n USING INDEX mainstay_job_lane (queue=? AND type>?)",
    "claim_rows": "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)",
    "line_heads": "SEARCH h USING INDEX mainstay_job_blocked (waits=?)",
    "line_holds": "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)",
    "line_rows": "SEARCH h USING INDEX mainstay_job_blocked (waits=?)",
    "promote": "SEARCH mainstay_job USING INDEX mainstay_job_due (run_at<?)",
    "claim_next_due": "SEARCH mainstay_job USING INDEX mainstay_job_due",
    "claim_lease": "SEARCH mainstay_worker USING PRIMARY KEY (id=?)",
    "finish": "SEARCH mainstay_job USING INTEGER PRIMARY KEY (rowid=?)",
    "finish_completed": "SEARCH mainstay_job USING INTEGER PRIMARY KEY (rowid=?)",
    "finish_refused": "SEARCH mainstay_job USING INTEGER PRIMARY KEY (rowid=?)",
    "renew": "SEARCH mainstay_worker USING PRIMARY KEY (id=?)",
    "renew_cancelling": "SEARCH j USING INDEX mainstay_job_running (worker=?)",
    "orphans": "SCAN j USING INDEX mainstay_job_running",
    "expired": "SEARCH j USING INDEX mainstay_job_expiry (expires_at<?)",
    "get": "SEARCH j USING INDEX sqlite_autoindex_mainstay_job_1 (id=?)",
    "find": "SEARCH mainstay_job USING INDEX sqlite_autoindex_mainstay_job_1 (id>? AND id<?)",
    "ended": "SEARCH j USING INDEX mainstay_job_finished (finished_at>? AND finished_at<?)",
    "tallies": "SEARCH t USING PRIMARY KEY (minute>? AND minute<?)",
    "totals": "SEARCH t USING PRIMARY KEY (minute>?)",
    "tally_enqueued": "SEARCH i USING INDEX sqlite_autoindex_mainstay_job_1 (id>? AND id<?)",
    "enqueue_existing": "SEARCH mainstay_job USING INDEX mainstay_job_lock (lock=?)",
    "workers": "SEARCH j USING INDEX mainstay_job_running (worker=?)",
    "logs": "SEARCH l USING PRIMARY KEY (job=?)",
    "attempts": "SEARCH a USING PRIMARY KEY (job=?)",
    "actions_job": "SEARCH a USING INDEX mainstay_action_job (job=?)",
    "actions_bulk": "SEARCH a USING INDEX mainstay_action_bulk (bulk=?)",
    "bulk_detail": "SEARCH mainstay_action USING INDEX mainstay_action_bulk (bulk=?)",
    "bulks": "SEARCH x USING INTEGER PRIMARY KEY (rowid=?)",
    "remove_actions": "SEARCH mainstay_action USING INTEGER PRIMARY KEY (rowid=?)",
    "tags": "SEARCH b USING INTEGER PRIMARY KEY (rowid=?)",
    "untag": "SEARCH mainstay_tag USING PRIMARY KEY (tag=? AND job=?)",
    "claimed_by": "SEARCH j USING INDEX mainstay_job_running (worker=?)",
    "lock_jobs": "SEARCH mainstay_job USING INDEX sqlite_autoindex_mainstay_job_1 (id=?)",
    "locked_keys": "SEARCH mainstay_job USING INDEX mainstay_job_lock (lock=?)",
    "keys": "SEARCH k USING PRIMARY KEY ((key,type)>(?,?) AND key<?)",
    "held_key": "SEARCH k USING PRIMARY KEY (key=? AND type=?)",
    "enqueue_keyed": "SEARCH mainstay_key USING PRIMARY KEY (key=? AND type=?)",
    "end": "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)",
    "tags_of": "SEARCH mainstay_body USING INTEGER PRIMARY KEY (rowid=?)",
    "export_jobs": "SEARCH mainstay_job USING INTEGER PRIMARY KEY (rowid>?)",
    "export_logs": "SEARCH l USING PRIMARY KEY ((job,token,n)>(?,?,?))",
    "deliveries": "SEARCH d USING INDEX mainstay_delivery_endpoint (endpoint=?)",
    "delivery_failures": "SEARCH d USING INDEX mainstay_delivery_endpoint (endpoint=? AND at>?)",
    "prune_deliveries": "SEARCH d USING INDEX mainstay_delivery_at (at<?)",
    "export_deliveries": "SEARCH d USING PRIMARY KEY ((job,token)>(?,?))",
}
# Tables that are read whole: as many rows as there are workers, types or settings, or an end of the audit.
SMALL = {
    "admit_look": "SCAN mainstay_freed",
    "seal": "SCAN mainstay_schema",
    "freed_first": "SCAN f",
    "freed_take": "SCAN mainstay_freed",
    "workers": "SCAN w",
    "types": "SCAN kind",
    "deregister_expired": "SCAN mainstay_worker",
    "late_workers": "SCAN mainstay_worker",
    "orphans_look": "SCAN mainstay_worker",
    "prune_actions": "SCAN a",
    "import_seqs": "SCAN sqlite_sequence",
    "export_settings": "SCAN s",
    "declarations": "SCAN w",
    "forget_declarations": "SCAN d",
    "export_rules": "SCAN r",
    # Holds: as many as limits let pass. The chore that mends them and the list of slots read all.
    "admit_missed": "SCAN mainstay_hold",
    "holds_stale": "SCAN h",
    "slots_held": "SCAN h",
    "pause_holders": "SCAN mainstay_hold",  # as many as limits and rates let pass
}


@pytest.fixture(scope="module", params=["without statistics", "with statistics"])
def connection(request):
    """A store with some thousand jobs, in all states."""
    with SqliteStore("sqlite:///:memory:") as store:
        fill(store)
        connection = store.db.read(lambda connection: connection)
        if request.param == "with statistics":
            connection.execute("ANALYZE")
        yield connection


def fill(store):
    store.register(WorkerInfo("w", "host", 1, 8, ("default",), ("work",), NOW, NOW, NOW + 10**9, 0, stopping=False))
    for n, run_at in enumerate((None, None, None, NOW + 10**6)):
        drafts = [Draft(f"type{i % 7}", "{}", run_at=run_at, priority=i % 3) for i in range(1_000)]
        store.enqueue(drafts, NOW + n)
    store.enqueue([Draft("keyed", "{}", key=str(i), lock=f"keyed:{i}", tags=("a", f"t{i}")) for i in range(100)], NOW)
    wants = {"default": [f"type{i}" for i in range(7)]}
    outcomes = (COMPLETED, Outcome("failed", error="x", retry=False, reason="x"), Outcome("review", reason="x"))
    for n in range(4):
        jobs = store.claim("w", wants, 400, NOW).jobs
        store.finish([decide(job, outcomes[i % 3], NOW, lambda: 0.0) for i, job in enumerate(jobs) if n < 3])


class Anything(dict):
    """A value for every name."""

    def __missing__(self, name):
        return 1


def text_of(name):
    """Return the text of a statement: SQLite's own, or the shared one in SQLite's form."""
    if name in MADE:
        return MADE[name]
    return sql.load(name) if (Path(sql.FOLDER) / f"{name}.sql").exists() else DIALECT.text(name)


def plan(connection, text):
    """The plan of a statement, one step a line."""
    values = Anything() if ":" in text else [1] * parameters(text)
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values)]


# Statements that are made of a template when they are needed.
MADE = {
    "claim_first": claim.places_of(3),
    "enqueue_keyed": inserts.insert_keyed(Draft("work", "{}", key="k", lock="work:k"), 0)[0],
    "claim_rows": claim.reading(claim.first_of(3), claim.IN_LINE),
    "line_rows": claim.reading(lines.heads(3), claim.IN_LINE),
    "enqueue_replace": sql.load("enqueue_replace").replace("{columns}", inserts.replacement(Draft("work", "{}"))[0]),
}


@pytest.mark.parametrize("name", INDEXES)
def test_a_hot_statement_uses_its_index(connection, name):
    lines = plan(connection, text_of(name))
    assert any(line.replace(" COVERING ", " ").startswith(INDEXES[name]) for line in lines), lines


@pytest.mark.parametrize("name", NAMES)
def test_no_statement_reads_a_whole_table(connection, name):
    lines = plan(connection, text_of(name))
    made = {f"SCAN {line.split()[1]}" for line in lines if line.startswith(("MATERIALIZE", "CO-ROUTINE"))}
    scans = [line for line in lines if reads_whole(line) and line not in made]
    assert scans == ([SMALL[name]] if name in SMALL else [])


@pytest.mark.parametrize("name", ["claim", "claim_first", "claim_lanes", "claim_rows", "promote", "find"])
def test_no_hot_statement_sorts(connection, name):
    assert not [line for line in plan(connection, text_of(name)) if "TEMP B-TREE FOR ORDER BY" in line]


@pytest.mark.parametrize("rows", [1, 10, 100])
@pytest.mark.parametrize(
    "made",
    [
        lambda rows: sql.many(sql.load("finish_completed"), rows),
        lambda rows: inserts.insert_jobs(inserts.JOB, rows),
        lambda rows: inserts.insert_jobs(inserts.PLAIN_JOB, rows),
        lambda rows: sql.many(inserts.BODY_OF[inserts.BODY], rows),
    ],
    ids=["finish_completed", "job", "plain job", "body"],
)
def test_a_batch_is_planned_like_one(connection, made, rows):
    lines = plan(connection, made(rows))
    assert not [line for line in lines if reads_whole(line)], lines


def test_a_batch_numbers_few_parameters():
    """Python 3.12 looks up the name of each value that it binds in the list of numbered ones, one by one."""
    assert set(re.findall(r"\?\d+", inserts.insert_jobs(inserts.PLAIN_JOB, 100))) == {"?1", "?2"}
    assert (
        len(set(re.findall(r"\?\d+", inserts.insert_jobs(inserts.JOB, 100)))) == 2 + 2 * 100
    )  # the instant, the first number; of each row its run_at and waits
    assert parameters(inserts.insert_jobs(inserts.JOB, 100)) == 1 + 100 * (1 + len(inserts.JOB))


def parameters(text):
    """The number of a statement's parameters: a `?` has the number after the highest before it."""
    highest = 0
    for number in re.findall(r"\?(\d*)", text):
        highest = max(highest, int(number)) if number else highest + 1
    return highest


STATES = {
    "queued": "lane",
    "scheduled": "due",
    "running": "running",
    "review": "review",
    "dead": "dead",
    "blocked": "blocked",
}


def test_counts_walk_the_index_of_each_state(connection):
    lines = [line.replace(" COVERING ", " ") for line in plan(connection, text_of("counts"))]
    for index in STATES.values():
        assert any(line.startswith(f"SCAN mainstay_job USING INDEX mainstay_job_{index}") for line in lines), lines


def test_queued_jobs_of_a_queue_are_found_in_their_index_alone(connection):
    """The row of each of a hundred thousand queued jobs would cost ten times as much."""
    terms = [Term("state", "=", ("queued",)), Term("queue", "=", ("default",))]
    (path,) = search._paths(terms)
    statement = DIALECT.built(search._selected(DIALECT, path, [], 50))
    lines = plan(connection, statement.text)
    assert [line for line in lines if " j " in line] == ["SEARCH j USING INDEX mainstay_job_lane (queue=?)"]
    assert set(path.covers) == set(terms)


def test_removing_jobs_removes_from_every_table_that_refers_to_jobs(connection):
    """Retention runs in the middle of the day: a tag that a million jobs share must not be walked."""
    operations = actions.removal(DIALECT, [1])
    next(operations)
    deletes = [statement.text for statement in operations.send(Result([(1, '["a"]')], 1))]
    assert not [line for text in deletes for line in plan(connection, text) if reads_whole(line)]
    assert "SEARCH mainstay_tag USING PRIMARY KEY (tag=? AND job=?)" in plan(connection, deletes[1])
    removed = {text.split()[2] for text in deletes}
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    columns = {table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")} for table in tables}
    outliving = {
        "mainstay_action",
        "mainstay_key",
        "mainstay_delivery",
    }  # what operators did, keys for ever, deliveries
    by_slot = {"mainstay_hold"}  # given back by the rules of the job before it is removed
    belonging = {table for table in tables if "job" in columns[table]} - outliving - by_slot
    assert removed == belonging | {"mainstay_job"}


def reads_whole(line):
    """Whether a step walks a table from end to end; a partial index, and what the statement brought along, are no table."""
    found = re.match(r"SCAN (\S+)(.*)", line)
    if found is None or "USING" in found[2]:
        return False
    return "VIRTUAL" not in found[2] and not re.fullmatch(
        r"\d+|CONSTANT|json_each|t|done|column\d|lane|\(subquery-\d+\)", found[1]
    )


def test_every_statement_is_used():
    stores = Path(operations.SHARED).parents[1]
    code = "\n".join(
        path.read_text(encoding="utf-8") for part in ("sql", "sqlite") for path in (stores / part).glob("*.py")
    )
    starts = re.findall(r'f"(export_|import_|remove:)\{', code)
    built = {(start + word).partition(":")[0] for start in starts for word in re.findall(r'"(\w+)"', code)}
    assert [path.stem for path in FILES if f'"{path.stem}"' not in code and path.stem not in built] == []


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_every_statement_says_what_it_does(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert re.match(r"-- \S.{10,}", first), first


def test_a_whole_table_is_seen(connection):
    assert [reads_whole(line) for line in plan(connection, "SELECT * FROM mainstay_job WHERE attempt = 7")] == [True]
    assert [reads_whole(line) for line in plan(connection, "DELETE FROM mainstay_tag WHERE job = 7")] == [True]


def test_the_dialect_knows_the_columns_of_the_body(connection):
    assert {row[1] for row in connection.execute("PRAGMA table_info(mainstay_body)")} == {"job", *DIALECT.body}

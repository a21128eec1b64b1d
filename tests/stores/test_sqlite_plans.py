"""The hot statements walk their index and nothing else: SQLite's own plan says so, with and without statistics."""

import re
from pathlib import Path

import pytest

from mainstay.core.clock import ManualClock
from mainstay.core.decide import decide
from mainstay.core.draft import Draft
from mainstay.core.job import WorkerInfo
from mainstay.core.outcome import COMPLETED, Outcome
from mainstay.stores.sqlite import actions, claim, inserts, sql
from mainstay.stores.sqlite.store import SqliteStore

SOURCE = Path(sql.__file__).parent
FILES = sorted((SOURCE / "statements").glob("*.sql"))
NAMES = [path.stem for path in FILES]
NOW = ManualClock().now()

# The line of the plan that must be there.
INDEXES = {
    "claim": "SEARCH mainstay_job USING INTEGER PRIMARY KEY (rowid=?)",
    "claim_first": "SEARCH mainstay_job USING INDEX mainstay_job_lane (queue=? AND type=?)",
    "claim_lanes": "SEARCH n USING INDEX mainstay_job_lane ((queue,type)>(?,?))",
    "claim_rows": "SEARCH j USING INTEGER PRIMARY KEY (rowid=?)",
    "promote": "SEARCH mainstay_job USING INDEX mainstay_job_due (run_at<?)",
    "claim_next_due": "SEARCH mainstay_job USING INDEX mainstay_job_due",
    "claim_lease": "SEARCH mainstay_worker USING PRIMARY KEY (id=?)",
    "finish": "SEARCH mainstay_job USING INTEGER PRIMARY KEY (rowid=?)",
    "finish_completed": "SEARCH mainstay_job USING INTEGER PRIMARY KEY (rowid=?)",
    "finish_standing": "SEARCH mainstay_job USING INTEGER PRIMARY KEY (rowid=?)",
    "renew": "SEARCH mainstay_worker USING PRIMARY KEY (id=?)",
    "renew_cancelling": "SEARCH mainstay_job USING INDEX mainstay_job_running (worker=?)",
    "orphans": "SCAN mainstay_job USING INDEX mainstay_job_running",
    "prune": "SEARCH mainstay_job USING INDEX mainstay_job_expiry (expires_at<?)",
    "get": "SEARCH j USING INDEX sqlite_autoindex_mainstay_job_1 (id=?)",
    "find": "SEARCH mainstay_job USING INDEX sqlite_autoindex_mainstay_job_1 (id>? AND id<?)",
    "counts_queued": "SCAN mainstay_job USING INDEX mainstay_job_lane",
    "counts_scheduled": "SCAN mainstay_job USING INDEX mainstay_job_due",
    "counts_running": "SCAN mainstay_job USING INDEX mainstay_job_running",
    "counts_review": "SCAN mainstay_job USING INDEX mainstay_job_review",
    "counts_dead": "SCAN mainstay_job USING INDEX mainstay_job_dead",
    "throughput": "SEARCH mainstay_job USING INDEX mainstay_job_finished (finished_at>?)",
    "enqueue_existing": "SEARCH mainstay_job USING INDEX mainstay_job_lock (lock=?)",
    "workers": "SEARCH j USING INDEX mainstay_job_running (worker=?)",
    "logs": "SEARCH mainstay_log USING PRIMARY KEY (job=?)",
    "attempts": "SEARCH mainstay_attempt USING PRIMARY KEY (job=?)",
    "actions_job": "SEARCH mainstay_action USING INDEX mainstay_action_job (job=?)",
    "tags": "SEARCH b USING INTEGER PRIMARY KEY (rowid=?)",
    "untag": "SEARCH mainstay_tag USING PRIMARY KEY (tag=? AND job=?)",
    "claimed_by": "SEARCH mainstay_job USING INDEX mainstay_job_running (worker=?)",
}
# Tables that are read whole: as many rows as there are workers, types or settings, or the end of the audit, newest first.
SMALL = {
    "workers": "SCAN w",
    "types": "SCAN mainstay_type",
    "orphans_deregister": "SCAN mainstay_worker",
    "actions": "SCAN mainstay_action",
    "import_seq": "SCAN sqlite_sequence",
    "export_types": "SCAN mainstay_type",
    "export_settings": "SCAN mainstay_setting",
}


@pytest.fixture(scope="module", params=["without statistics", "with statistics"])
def connection(request):
    """A store with some thousand jobs, in all states."""
    with SqliteStore("sqlite:///:memory:") as store:
        fill(store)
        with store.db.reading() as connection:
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


def plan(connection, text):
    """The plan of a statement, one step a line."""
    if ":" in text:
        values = Anything()
    else:
        values = [1] * max([text.count("?"), *map(int, re.findall(r"\?(\d+)", text))])
        values = values[: max(map(int, re.findall(r"\?(\d+)", text)), default=len(values))]
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values)]


# Statements that are made of a template when they are needed.
MADE = {
    "claim_first": claim._merged(3),
    "claim_rows": claim._rows(),
    "enqueue_replace": sql.load("enqueue_replace").replace("{columns}", inserts.replacement(Draft("work", "{}"))[0]),
}


def text(name):
    """Return the text of a statement, whole."""
    return MADE.get(name) or sql.load(name)


@pytest.mark.parametrize("name", INDEXES)
def test_a_hot_statement_uses_its_index(connection, name):
    lines = plan(connection, text(name))
    assert any(line.replace(" COVERING ", " ").startswith(INDEXES[name]) for line in lines), lines


@pytest.mark.parametrize("name", NAMES)
def test_no_statement_reads_a_whole_table(connection, name):
    scans = [line for line in plan(connection, text(name)) if reads_whole(line)]
    assert scans == ([SMALL[name]] if name in SMALL else [])


@pytest.mark.parametrize("name", ["claim", "claim_first", "claim_lanes", "claim_rows", "promote", "prune", "find"])
def test_no_hot_statement_sorts(connection, name):
    assert not [line for line in plan(connection, text(name)) if "TEMP B-TREE FOR ORDER BY" in line]


@pytest.mark.parametrize("rows", [1, 10, 100])
@pytest.mark.parametrize(
    "made",
    [
        lambda rows: sql.many("finish_completed", rows),
        lambda rows: inserts.insert_jobs(inserts.JOB, rows),
        lambda rows: inserts.insert_jobs(inserts.PLAIN_JOB, rows),
        lambda rows: inserts.insert_bodies(inserts.BODY, rows),
    ],
    ids=["finish_completed", "job", "plain job", "body"],
)
def test_a_batch_is_planned_like_one(connection, made, rows):
    lines = plan(connection, made(rows))
    assert not [line for line in lines if reads_whole(line)], lines


def test_removing_jobs_reads_no_whole_table(connection):
    """Retention runs in the middle of the day: it must not walk through what it does not delete."""
    (tagged,) = connection.execute("SELECT max(job) FROM mainstay_tag").fetchone()
    asked = []
    connection.set_trace_callback(asked.append)
    connection.execute("BEGIN")
    actions.remove(connection, [1, tagged])
    connection.execute("ROLLBACK")
    connection.set_trace_callback(None)
    deletes = [text for text in asked if text.startswith("DELETE")]
    assert {text.split()[2] for text in deletes} == {
        f"mainstay_{table}" for table in (*actions.BELONGINGS, "tag", "job")
    }
    for text in deletes:
        lines = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
        assert not [line for line in lines if reads_whole(line)], (text, lines)


def reads_whole(line):
    """Whether a step walks a table from end to end; a partial index, and what the statement brought along, are no table."""
    found = re.match(r"SCAN (\S+)(.*)", line)
    if found is None or "USING" in found[2]:
        return False
    return "VIRTUAL" not in found[2] and not re.fullmatch(
        r"\d+|CONSTANT|json_each|t|done|column\d|lane|\(subquery-\d+\)", found[1]
    )


def test_every_statement_is_used():
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.glob("*.py"))
    starts = re.findall(r'f"(counts_|export_|import_)\{', code)
    built = {start + word for start in starts for word in re.findall(r'"(\w+)"', code)}
    assert [name for name in NAMES if f'"{name}"' not in code and name not in built] == []


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_every_statement_says_what_it_does(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert re.match(r"-- \S.{10,}", first), first


def test_a_whole_table_is_seen(connection):
    assert [reads_whole(line) for line in plan(connection, "SELECT * FROM mainstay_job WHERE attempt = 7")] == [True]
    assert [reads_whole(line) for line in plan(connection, "DELETE FROM mainstay_tag WHERE job = 7")] == [True]

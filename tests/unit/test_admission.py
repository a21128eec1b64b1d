"""One way into `queued`: no SQL statement makes a job queued or scheduled, or orders it, but through the admission step."""

import re
from pathlib import Path

import pytest

from mainstay.stores import operations
from mainstay.stores.postgres import dialect as postgres
from mainstay.stores.sqlite import inserts, sql

FOLDERS = (sql.FOLDER, postgres.FOLDER, operations.SHARED)
STATEMENTS = sorted(path for folder in FOLDERS for path in Path(folder).rglob("*.sql") if path.stem != "admit")
INSERTED = re.compile(
    r"INSERT INTO mainstay\.job \(seq, state, ord, [^)]*\)\nSELECT seq, \{admit\.state [^}]*\}, \{admit\.ord [^}]*\},"
)
# An assignment, not a comparison: `SET state = …` or `, ord = …`.
ASSIGNED = re.compile(r"(?:SET|,)\s+(state|ord)\s*=\s*(.{1,90})|\(state, ord\) = \((.{1,40})", re.DOTALL)


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.stem)
def test_a_statement_enters_a_job_by_the_admission_step_only(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert unadmitted("\n".join(line for line in lines if not line.startswith("--"))) == []


def test_inserts_enter_jobs_by_the_admission_step():
    text = inserts.insert_jobs(inserts.JOB, 1)
    assert operations.admission("state", "?9", "?1", "?8").replace("?9", "?").replace("?8", "?") in re.sub(
        r"\?(?!1\b)\d+", "?", text
    )
    assert text.count("'queued'") == text.count("'scheduled'") == 1


def test_statements_that_insert_jobs_enter_them_by_the_admission_step():
    """A move inserts jobs too, in the state and place that they had elsewhere; it makes its statements from the columns."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in STATEMENTS}
    inserting = {name: text for name, text in texts.items() if re.search(r"INSERT INTO mainstay.job\b", text)}
    assert set(inserting) == {"enqueue", "enqueue_fresh"}
    assert [name for name, text in inserting.items() if not INSERTED.search(text)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("UPDATE mainstay_job SET state = 'queued' WHERE seq = 1", 1),
        ("UPDATE mainstay_job SET attempt = 1, ord = :now WHERE seq = 1", 1),
        ("UPDATE mainstay_job SET state = 'running' WHERE state = 'queued'", 0),
        (
            "UPDATE mainstay_job SET (state, ord) = ({admit.state | NULL | :now | rules}, {admit.ord | NULL | :now | :now})",
            0,
        ),
    ],
)
def test_a_way_beside_the_step_is_seen(text, found):
    assert len(unadmitted(text)) == found


def unadmitted(text):
    """Return the assignments of a waiting state or of a place that do not come from the admission step."""
    found = [(column or "state", value or pair) for column, value, pair in ASSIGNED.findall(text)]
    return [value for column, value in found if "{admit." not in value and not _ends(column, value)]


def _ends(column, value):
    """Return whether a job leaves the queue by this assignment; `:state` of a review ends it."""
    return column == "state" and (
        re.match(r"'(running|completed|cancelled|blocked)'", value) or value.startswith(":state")
    )

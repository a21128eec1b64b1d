"""The store of the application: one SQLite file with memories, vectors, trajectories, sessions, messages and an audit trail.

The jobs are in Redis, which shares no transaction with this file. So each step is one transaction here, and leaves a mark by which
a second attempt sees that it is done.
"""

import sqlite3
import time
from contextlib import closing, contextmanager

from examples.agent_workers.application import DATA
from mainstay import ctx

PATH = DATA / "agents.db"
SCHEMA = """
CREATE TABLE IF NOT EXISTS memories (
    id TEXT PRIMARY KEY, org TEXT NOT NULL, workspace TEXT NOT NULL, user TEXT NOT NULL, type TEXT NOT NULL, content TEXT NOT NULL,
    importance REAL NOT NULL, source_type TEXT, source_id TEXT, metadata TEXT NOT NULL DEFAULT '{}', created_at REAL NOT NULL,
    accessed_at REAL NOT NULL, embedding_id TEXT
);
CREATE INDEX IF NOT EXISTS memories_of ON memories (org, workspace);
-- A number is never given twice (AUTOINCREMENT): it is the key in the HNSW index. `indexed` is 0 until that index has the vector.
CREATE TABLE IF NOT EXISTS memory_vectors (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, vector TEXT NOT NULL, about TEXT NOT NULL DEFAULT '{}',
    indexed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS vectors_to_index ON memory_vectors (number) WHERE indexed = 0;
CREATE TABLE IF NOT EXISTS removed_vectors (number INTEGER PRIMARY KEY);
CREATE TRIGGER IF NOT EXISTS vector_changed AFTER UPDATE OF vector ON memory_vectors BEGIN
    UPDATE memory_vectors SET indexed = 0 WHERE number = new.number;
END;
CREATE TRIGGER IF NOT EXISTS vector_removed AFTER DELETE ON memory_vectors BEGIN
    INSERT OR IGNORE INTO removed_vectors VALUES (old.number);
END;
CREATE TABLE IF NOT EXISTS trajectories (
    id TEXT PRIMARY KEY, org TEXT NOT NULL, workspace TEXT NOT NULL, task TEXT NOT NULL, steps TEXT NOT NULL, success INTEGER NOT NULL,
    features TEXT
);
CREATE TABLE IF NOT EXISTS patterns (job TEXT PRIMARY KEY, task TEXT NOT NULL, weights TEXT NOT NULL, accuracy REAL NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS anchors (task TEXT PRIMARY KEY, weights TEXT NOT NULL, importance TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY, org TEXT NOT NULL, workspace TEXT NOT NULL, user TEXT NOT NULL, state TEXT NOT NULL, active_at REAL NOT NULL,
    archive TEXT
);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, org TEXT NOT NULL, workspace TEXT NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS messages_of ON messages (session);
CREATE TABLE IF NOT EXISTS slack_messages (
    channel TEXT, ts TEXT, org TEXT NOT NULL, workspace TEXT NOT NULL, user TEXT, text TEXT, PRIMARY KEY (channel, ts)
);
-- Up to which message a channel is complete. Slack sends the newest first, so the newest that is stored does not tell.
CREATE TABLE IF NOT EXISTS slack_channels (channel TEXT PRIMARY KEY, newest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS quotas (org TEXT, kind TEXT, most INTEGER NOT NULL, PRIMARY KEY (org, kind));
-- How many rows a job has changed, over all its attempts.
CREATE TABLE IF NOT EXISTS counts (job TEXT, name TEXT, rows INTEGER NOT NULL, PRIMARY KEY (job, name));
-- One line for each action of a job, however often it is tried. It names tenants and counts, and no contents.
CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, tenant TEXT, job TEXT NOT NULL, action TEXT NOT NULL, detail TEXT NOT NULL,
    UNIQUE (job, action, detail)
);
"""
# The tables with data of a workspace, in the order in which they are exported and deleted: those that name others come first.
OWNED = ("slack_messages", "messages", "sessions", "trajectories", "memories")


def connect():
    """Open the store, and make its tables if it is new."""
    db = sqlite3.connect(PATH, timeout=30)
    db.row_factory = sqlite3.Row
    if db.execute("PRAGMA user_version").fetchone()[0] == 0:
        _create(db)
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA secure_delete = ON")  # what data-deletion removes is overwritten in the file
    return db


def _create(db):
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(SCHEMA)  # each statement says IF NOT EXISTS: two processes may do this at once
    db.execute("PRAGMA user_version = 1")
    db.commit()


@contextmanager
def transaction():
    """Yield a connection in a transaction that has the write lock from the start; it commits at the end, or not at all."""
    with closing(connect()) as db:
        db.execute("BEGIN IMMEDIATE")
        with db:
            yield db


def rows(query, *values):
    """Return the rows that a query finds."""
    with closing(connect()) as db:
        return db.execute(query, values).fetchall()


def value(query, *values):
    """Return the one value that a query finds."""
    return rows(query, *values)[0][0]


def marks(values):
    """Return a question mark for each value, for IN (…)."""
    return ", ".join("?" * len(values))


def audit(db, action, detail):
    """Add a line to the audit trail, once for a job."""
    line = (time.time(), ctx.tenant, ctx.id, action, detail)
    db.execute("INSERT OR IGNORE INTO audit (at, tenant, job, action, detail) VALUES (?, ?, ?, ?, ?)", line)


def count(db, name, number):
    """Add to what the job has counted, in the transaction that changes the rows: exact, however often it is tried."""
    added = "INSERT INTO counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET rows = rows + excluded.rows"
    db.execute(added, (ctx.id, name, number))


def counts():
    """Return what the job has counted, by name."""
    return dict(rows("SELECT name, rows FROM counts WHERE job = ? ORDER BY name", ctx.id))


def place(tenant):
    """Return the organisation and the workspace of a tenant, "org/workspace"."""
    org, _, workspace = (tenant or "").partition("/")
    return org, workspace


def scope(tenant):
    """Return a condition over org and workspace, with its values: a workspace, a whole organisation, or everything."""
    org, workspace = place(tenant)
    if workspace:
        return "org = ? AND workspace = ?", (org, workspace)
    return ("org = ?", (org,)) if org else ("1 = 1", ())

-- Every name starts with mainstay_: the file may be the user's own, with tables beside these.
-- The job row is narrow and changes; everything wide or append-only stands beside it, joined by `seq`.
-- No CHECK constraints: they cost a third of a claim (docs/decisions/0006); the contract suite checks the rows instead.
-- AUTOINCREMENT: a seq is never given twice, so a late write can never hit another job.
CREATE TABLE mainstay_job (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT    NOT NULL UNIQUE,
    type         TEXT    NOT NULL,
    queue        TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    priority     INTEGER NOT NULL,
    ord          INTEGER NOT NULL,             -- place within queue and priority: when it became ready
    run_at       INTEGER,                      -- not before
    attempt      INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    crashes      INTEGER NOT NULL DEFAULT 0,
    token        INTEGER NOT NULL DEFAULT 0,   -- the fence: +1 on every claim, never lowered
    worker       TEXT,
    lock         TEXT,                         -- what must be unique
    lock_until   INTEGER,                      -- NULL while alive, 0 until it starts, else until that instant
    timeout      INTEGER,
    keep         INTEGER,
    backoff      TEXT,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,
    finished_at  INTEGER,
    expires_at   INTEGER,
    cancel_at    INTEGER,
    reason       TEXT
) STRICT;

-- One partial index per access path.
CREATE INDEX mainstay_job_lane     ON mainstay_job (queue, type, priority DESC, ord, seq) WHERE state = 'queued';
CREATE INDEX mainstay_job_due      ON mainstay_job (run_at, type, attempt)                WHERE state = 'scheduled';
CREATE INDEX mainstay_job_running  ON mainstay_job (worker, type)                         WHERE state = 'running';
CREATE INDEX mainstay_job_review   ON mainstay_job (type, created_at)                     WHERE state = 'review';
CREATE INDEX mainstay_job_dead     ON mainstay_job (finished_at, type)                    WHERE state = 'dead';
CREATE INDEX mainstay_job_finished ON mainstay_job (finished_at, state)                   WHERE finished_at IS NOT NULL;
CREATE INDEX mainstay_job_expiry   ON mainstay_job (expires_at)                           WHERE expires_at IS NOT NULL;
CREATE UNIQUE INDEX mainstay_job_lock ON mainstay_job (lock)                              WHERE lock IS NOT NULL;

-- What was asked; written once.
CREATE TABLE mainstay_body (
    job     INTEGER PRIMARY KEY,
    payload TEXT NOT NULL,
    key     TEXT,
    tenant  TEXT,
    ref     TEXT,
    tags    TEXT,                              -- a JSON array
    parent  TEXT
) STRICT;
CREATE INDEX mainstay_body_key    ON mainstay_body (key)    WHERE key IS NOT NULL;
CREATE INDEX mainstay_body_tenant ON mainstay_body (tenant) WHERE tenant IS NOT NULL;
CREATE INDEX mainstay_body_ref    ON mainstay_body (ref)    WHERE ref IS NOT NULL;
CREATE INDEX mainstay_body_parent ON mainstay_body (parent) WHERE parent IS NOT NULL;

CREATE TABLE mainstay_tag (tag TEXT NOT NULL, job INTEGER NOT NULL, PRIMARY KEY (tag, job)) STRICT, WITHOUT ROWID;

-- What happened; append-only. A first attempt that completes needs no row: the job says it all.
CREATE TABLE mainstay_attempt (
    job        INTEGER NOT NULL,
    token      INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    worker     TEXT,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL,
    outcome    TEXT    NOT NULL,
    error      TEXT,
    traceback  TEXT,
    PRIMARY KEY (job, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE mainstay_log (
    job     INTEGER NOT NULL,
    token   INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    level   TEXT    NOT NULL,
    stage   TEXT,
    message TEXT    NOT NULL,
    fields  TEXT,
    PRIMARY KEY (job, token, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE mainstay_result     (job INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE mainstay_checkpoint (job INTEGER PRIMARY KEY, token INTEGER NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
CREATE TABLE mainstay_progress   (job INTEGER PRIMARY KEY, token INTEGER NOT NULL, at INTEGER NOT NULL, done REAL, total REAL,
                         stage TEXT) STRICT;

CREATE TABLE mainstay_action (
    n      INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    action TEXT    NOT NULL,
    job    TEXT,
    detail TEXT    NOT NULL
) STRICT;
CREATE INDEX mainstay_action_job ON mainstay_action (job, n) WHERE job IS NOT NULL;

CREATE TABLE mainstay_worker (
    id         TEXT PRIMARY KEY,
    host       TEXT    NOT NULL,
    pid        INTEGER NOT NULL,
    slots      INTEGER NOT NULL,
    queues     TEXT    NOT NULL,
    types      TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    beat_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    stopping   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE mainstay_type (
    name      TEXT PRIMARY KEY,
    queue     TEXT    NOT NULL,
    signature TEXT    NOT NULL,
    policy    TEXT    NOT NULL,
    seen_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE mainstay_setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE mainstay_schema (version INTEGER NOT NULL) STRICT;
INSERT INTO mainstay_schema VALUES (1);

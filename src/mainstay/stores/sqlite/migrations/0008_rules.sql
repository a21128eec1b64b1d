-- What may hold a job back (docs/decisions/0028). Code of schema 2 goes on beside it, and does not see the rules.
ALTER TABLE mainstay_job ADD COLUMN rules TEXT;          -- JSON; NULL for most
ALTER TABLE mainstay_job ADD COLUMN waits TEXT;          -- of a blocked job: for what
ALTER TABLE mainstay_job ADD COLUMN start_by INTEGER;    -- cancelled if it has not started by then
CREATE INDEX mainstay_job_blocked  ON mainstay_job (waits, priority DESC, ord, seq) WHERE state = 'blocked';
CREATE INDEX mainstay_job_start_by ON mainstay_job (start_by) WHERE start_by IS NOT NULL AND finished_at IS NULL;
CREATE INDEX mainstay_job_later ON mainstay_job (queue, state) WHERE coalesce(run_at, waits) IS NOT NULL;   -- to count what waits in a queue
CREATE TABLE mainstay_hold (slot TEXT NOT NULL, job INTEGER NOT NULL, PRIMARY KEY (slot, job)) STRICT, WITHOUT ROWID;
CREATE TABLE mainstay_freed (n INTEGER PRIMARY KEY, slot TEXT NOT NULL UNIQUE) STRICT;   -- slots that may have room, the first first
CREATE TABLE mainstay_after (
    parent INTEGER NOT NULL,
    child  INTEGER NOT NULL,
    id     TEXT    NOT NULL,                             -- of the parent
    PRIMARY KEY (parent, child)
) STRICT, WITHOUT ROWID;
CREATE INDEX mainstay_after_child ON mainstay_after (child, parent);
CREATE TABLE mainstay_meter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE mainstay_rule (
    kind   TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    value  TEXT    NOT NULL,                             -- JSON
    actor  TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
ALTER TABLE mainstay_type ADD COLUMN description TEXT;
ALTER TABLE mainstay_type ADD COLUMN takes TEXT;         -- the JSON Schema of a payload
ALTER TABLE mainstay_type ADD COLUMN created_at INTEGER;
ALTER TABLE mainstay_type ADD COLUMN updated_at INTEGER;
ALTER TABLE mainstay_setting ADD COLUMN description TEXT;
ALTER TABLE mainstay_setting ADD COLUMN updated_at INTEGER;
UPDATE mainstay_schema SET version = 8;

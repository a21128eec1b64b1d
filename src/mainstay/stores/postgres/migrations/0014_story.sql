-- Log lines of an attempt that are written together share a row (core/log_lines.py): `lines` says how many. What a handler says about its progress beside numbers, and an index of the log lines that are warnings or errors, by time. No row is
-- rewritten.
ALTER TABLE mainstay.log ADD COLUMN IF NOT EXISTS lines bigint;
ALTER TABLE mainstay.progress ADD COLUMN IF NOT EXISTS details text;

-- step: to find warnings and errors in the logs of many jobs.
CREATE INDEX CONCURRENTLY IF NOT EXISTS log_warned ON mainstay.log (at, job, token, n) WHERE level IN ('warning', 'error');

-- step: code of schema 2 can use it.
UPDATE mainstay.schema_version SET version = 14, step = 0;

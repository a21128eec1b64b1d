-- How long a job is kept by its state, and how many of its type (docs/decisions/0036). Code of schema 2 goes on beside it, and keeps
-- the jobs that it ends as `keep` says. No row is rewritten.
ALTER TABLE mainstay.job ADD COLUMN IF NOT EXISTS keep_cancelled bigint;   -- NULL: as keep
ALTER TABLE mainstay.job ADD COLUMN IF NOT EXISTS keep_dead bigint;        -- NULL: for ever
ALTER TABLE mainstay.job ADD COLUMN IF NOT EXISTS keep_last bigint;        -- NULL: all

-- step: to find the jobs of a type beyond those that are kept.
CREATE INDEX CONCURRENTLY IF NOT EXISTS job_kept ON mainstay.job (type, state, finished_at, seq) WHERE keep_last IS NOT NULL AND finished_at IS NOT NULL;

-- step: code of schema 2 can use it.
UPDATE mainstay.schema_version SET version = 11, step = 0;

-- How long a job is kept by its state, and how many of its type (docs/decisions/0036). Code of schema 2 goes on beside it, and keeps
-- the jobs that it ends as `keep` says.
ALTER TABLE mainstay_job ADD COLUMN keep_cancelled INTEGER;   -- NULL: as keep
ALTER TABLE mainstay_job ADD COLUMN keep_dead INTEGER;        -- NULL: for ever
ALTER TABLE mainstay_job ADD COLUMN keep_last INTEGER;        -- NULL: all
CREATE INDEX mainstay_job_kept ON mainstay_job (type, state, finished_at, seq) WHERE keep_last IS NOT NULL AND finished_at IS NOT NULL;
UPDATE mainstay_schema SET version = 11;

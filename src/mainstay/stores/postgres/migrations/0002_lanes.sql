-- Each step is one transaction, or one statement with CONCURRENTLY. `schema_version.step` counts the steps that are done.
-- Each can run twice: `mainstay migrate sql` prints them all.
ALTER TABLE mainstay.schema_version
    ADD COLUMN IF NOT EXISTS readable_from integer NOT NULL DEFAULT 1, -- the oldest version whose code can use this schema
    ADD COLUMN IF NOT EXISTS step integer NOT NULL DEFAULT 0;

-- step: a claim reads one lane (queue × type) at a time, so the type stands before the order.
CREATE INDEX CONCURRENTLY IF NOT EXISTS job_lane ON mainstay.job (queue, type, priority DESC, ord, seq) WHERE state = 'queued';

-- step: code of schema 1 accepts no other.
DROP INDEX IF EXISTS mainstay.job_claim;
UPDATE mainstay.schema_version SET version = 2, readable_from = 2, step = 0;

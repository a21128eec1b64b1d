-- Which tick of which schedule made a job (docs/decisions/0032). No row is rewritten. Code of schema 2 goes on beside it.
ALTER TABLE mainstay.body ADD COLUMN IF NOT EXISTS schedule text COLLATE "C";
ALTER TABLE mainstay.body ADD COLUMN IF NOT EXISTS tick bigint;

-- step: jobs are many, so workers go on while the index is built.
CREATE INDEX CONCURRENTLY IF NOT EXISTS body_schedule ON mainstay.body (schedule, job) WHERE schedule IS NOT NULL;

-- step: done.
UPDATE mainstay.schema_version SET version = 9, step = 0;

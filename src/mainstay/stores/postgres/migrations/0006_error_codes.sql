-- The code of an attempt's error. No row is rewritten. Code of schema 2 goes on beside it.
ALTER TABLE mainstay.attempt ADD COLUMN IF NOT EXISTS code text COLLATE "C";

-- step: attempts are many, so workers go on while the index is built.
CREATE INDEX CONCURRENTLY IF NOT EXISTS attempt_code ON mainstay.attempt (code, job) WHERE code IS NOT NULL;

-- step: done.
UPDATE mainstay.schema_version SET version = 6, step = 0;

-- Of what a dead job died (docs/decisions/0037): the groups of dead jobs are read from the index of the dead ones. Code of schema 2 goes on
-- beside it; a chore of a newer worker fills in what it leaves empty, and what was dead before. No row is rewritten.
ALTER TABLE mainstay.job ADD COLUMN IF NOT EXISTS fingerprint text COLLATE "C";

-- step: to read the groups without the rows.
CREATE INDEX CONCURRENTLY IF NOT EXISTS job_dead_groups ON mainstay.job (finished_at, type, fingerprint, seq) WHERE state = 'dead';

-- step: it takes the place of the one before; code of schema 2 can use it.
DROP INDEX IF EXISTS mainstay.job_dead;
ALTER INDEX mainstay.job_dead_groups RENAME TO job_dead;
UPDATE mainstay.schema_version SET version = 13, step = 0;

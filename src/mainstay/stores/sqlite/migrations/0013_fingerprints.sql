-- Of what a dead job died (docs/decisions/0037): the groups of dead jobs are read from the index of the dead ones. Code of schema 2 goes on
-- beside it; a chore of a newer worker fills in what it leaves empty, and what was dead before.
ALTER TABLE mainstay_job ADD COLUMN fingerprint TEXT;
DROP INDEX mainstay_job_dead;
CREATE INDEX mainstay_job_dead ON mainstay_job (finished_at, type, fingerprint) WHERE state = 'dead';
UPDATE mainstay_schema SET version = 13;

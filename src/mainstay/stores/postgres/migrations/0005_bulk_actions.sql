-- An action on many jobs is one row of the audit trail, and each job keeps its id. Rows from before stay as they are. Only
-- operators write to the audit trail: they wait while the index, which has no row yet, is built.
ALTER TABLE mainstay.action ADD COLUMN IF NOT EXISTS bulk text COLLATE "C"; -- the id of an action on many jobs, whose column job is NULL
CREATE INDEX IF NOT EXISTS action_bulk ON mainstay.action (bulk) WHERE bulk IS NOT NULL;
CREATE TABLE IF NOT EXISTS mainstay.acted (
    job   bigint PRIMARY KEY,
    bulks text   COLLATE "C" NOT NULL                                       -- ids, with a space between them
);
UPDATE mainstay.schema_version SET version = 5, step = 0;

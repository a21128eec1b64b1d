-- An action on many jobs is one row of the audit trail, and each job keeps its id. Rows from before stay as they are.
ALTER TABLE mainstay_action ADD COLUMN bulk TEXT;   -- the id of an action on many jobs, whose column job is NULL
CREATE INDEX mainstay_action_bulk ON mainstay_action (bulk) WHERE bulk IS NOT NULL;
CREATE TABLE mainstay_acted (
    job   INTEGER PRIMARY KEY,
    bulks TEXT NOT NULL                             -- ids, with a space between them
) STRICT;
UPDATE mainstay_schema SET version = 5;

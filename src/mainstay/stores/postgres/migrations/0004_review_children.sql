-- The children of a job in review, as JSON: they are enqueued when the job is approved. A column of a table that is there needs
-- no new grants.
ALTER TABLE mainstay.result ADD COLUMN IF NOT EXISTS children text;
UPDATE mainstay.schema_version SET version = 4, step = 0;

-- The children of a job in review, as JSON: they are enqueued when the job is approved.
ALTER TABLE mainstay_result ADD COLUMN children TEXT;
UPDATE mainstay_schema SET version = 4;

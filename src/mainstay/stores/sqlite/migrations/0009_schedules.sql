-- Which tick of which schedule made a job (docs/decisions/0032). Code of schema 2 goes on beside it.
ALTER TABLE mainstay_body ADD COLUMN schedule TEXT;
ALTER TABLE mainstay_body ADD COLUMN tick INTEGER;
CREATE INDEX mainstay_body_schedule ON mainstay_body (schedule) WHERE schedule IS NOT NULL;
UPDATE mainstay_schema SET version = 9;

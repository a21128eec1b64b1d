-- A claim reads one lane (queue × type) at a time, so the type stands before the order.
CREATE INDEX mainstay_job_lane ON mainstay_job (queue, type, priority DESC, ord, seq) WHERE state = 'queued';
DROP INDEX mainstay_job_claim;

-- The oldest version whose code can use this schema. Code of schema 1 accepts no other.
ALTER TABLE mainstay_schema ADD COLUMN readable_from INTEGER NOT NULL DEFAULT 1;
UPDATE mainstay_schema SET version = 2, readable_from = 2;

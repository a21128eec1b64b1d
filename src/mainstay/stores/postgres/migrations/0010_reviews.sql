-- What the last review of a job asks, and what an operator asks of a worker. Code of schema 2 goes on beside both. No row is rewritten.
CREATE TABLE IF NOT EXISTS mainstay.review (
    job    bigint PRIMARY KEY,
    due_at bigint,                                                          -- of the deadline or the next reminder; may be of a review that is over
    body   text NOT NULL                                                    -- JSON: core/review.py
);
CREATE INDEX IF NOT EXISTS review_due ON mainstay.review (due_at) WHERE due_at IS NOT NULL;
ALTER TABLE mainstay.worker ADD COLUMN IF NOT EXISTS wanted text;           -- drain or stop
UPDATE mainstay.schema_version SET version = 10, step = 0;

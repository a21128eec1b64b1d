-- What the last review of a job asks, and what an operator asks of a worker. Code of schema 2 goes on beside both.
CREATE TABLE mainstay_review (
    job    INTEGER PRIMARY KEY,
    due_at INTEGER,                            -- of the deadline or the next reminder; may be of a review that is over
    body   TEXT NOT NULL                       -- JSON: core/review.py
) STRICT;
CREATE INDEX mainstay_review_due ON mainstay_review (due_at) WHERE due_at IS NOT NULL;
ALTER TABLE mainstay_worker ADD COLUMN wanted TEXT;      -- drain or stop
UPDATE mainstay_schema SET version = 10;

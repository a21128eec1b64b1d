-- The span that enqueued a job, as W3C traceparent (docs/how-to/traces.md). Code of schema 2 goes on beside it.
ALTER TABLE mainstay_body ADD COLUMN trace TEXT;
UPDATE mainstay_schema SET version = 12;

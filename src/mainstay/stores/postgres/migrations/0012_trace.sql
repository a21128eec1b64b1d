-- The span that enqueued a job, as W3C traceparent (docs/how-to/traces.md). Code of schema 2 goes on beside it. No row is rewritten.
ALTER TABLE mainstay.body ADD COLUMN IF NOT EXISTS trace text;

-- step: code of schema 2 can use it.
UPDATE mainstay.schema_version SET version = 12, step = 0;

-- Log lines of an attempt that are written together share a row (core/log_lines.py): `lines` says how many. What a handler says about its progress beside numbers, and an index of the log lines that are warnings or errors, by time. Code of
-- schema 2 goes on beside them.
ALTER TABLE mainstay_log ADD COLUMN lines INTEGER;
ALTER TABLE mainstay_progress ADD COLUMN details TEXT;
CREATE INDEX mainstay_log_warned ON mainstay_log (at) WHERE level IN ('warning', 'error');
UPDATE mainstay_schema SET version = 14;

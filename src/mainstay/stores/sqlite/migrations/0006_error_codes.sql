-- The code of an attempt's error, and an index of those that have one. Code of schema 2 goes on beside both.
ALTER TABLE mainstay_attempt ADD COLUMN code TEXT;
CREATE INDEX mainstay_attempt_code ON mainstay_attempt (code, job) WHERE code IS NOT NULL;
UPDATE mainstay_schema SET version = 6;

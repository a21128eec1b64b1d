-- The version of a job's payload, and what each worker takes. Code of schema 2 goes on beside both. No row is rewritten.
ALTER TABLE mainstay.body ADD COLUMN IF NOT EXISTS version integer NOT NULL DEFAULT 1;
CREATE TABLE IF NOT EXISTS mainstay.declaration (
    worker    text    COLLATE "C" NOT NULL,
    type      text    COLLATE "C" NOT NULL,
    version   integer NOT NULL,
    signature text    NOT NULL,
    takes     text    NOT NULL,              -- the JSON Schema of a payload
    PRIMARY KEY (worker, type)
);
UPDATE mainstay.schema_version SET version = 3, step = 0;

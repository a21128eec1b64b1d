-- The version of a job's payload, and what each worker takes. Code of schema 2 goes on beside both.
ALTER TABLE mainstay_job ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
CREATE TABLE mainstay_declaration (
    worker    TEXT    NOT NULL,
    type      TEXT    NOT NULL,
    version   INTEGER NOT NULL,
    signature TEXT    NOT NULL,
    takes     TEXT    NOT NULL,                -- the JSON Schema of a payload
    PRIMARY KEY (worker, type)
) STRICT, WITHOUT ROWID;
UPDATE mainstay_schema SET version = 3;

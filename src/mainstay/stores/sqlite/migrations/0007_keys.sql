-- Keys that are taken for ever: each outlives its job. Code of schema 2 goes on beside them.
CREATE TABLE mainstay_key (
    key   TEXT    NOT NULL,
    type  TEXT    NOT NULL,
    job   TEXT    NOT NULL,                    -- the id of the job that took it
    since INTEGER NOT NULL,
    PRIMARY KEY (key, type)
) STRICT, WITHOUT ROWID;
UPDATE mainstay_schema SET version = 7;

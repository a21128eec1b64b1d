-- What happened, counted by minute and type (docs/decisions/0039). Code of schema 2 goes on beside it: what it does is not counted.
-- A negative minute is the hour that begins then, 0 all hours so far; type '' is not a type: up to which instant new jobs are counted.
CREATE TABLE mainstay_tally (
    minute INTEGER NOT NULL,
    type   TEXT    NOT NULL,
    name   TEXT    NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (minute, type, name)
) STRICT, WITHOUT ROWID;
UPDATE mainstay_schema SET version = 15;

-- What happened, counted by minute and type (docs/decisions/0039). Code of schema 2 goes on beside it: what it does is not counted.
-- A negative minute is the hour that begins then, 0 all hours so far; type '' is not a type: up to which instant new jobs are counted.
-- A session adds to rows of its own, so that no transaction waits for another.
CREATE TABLE IF NOT EXISTS mainstay.tally (
    minute bigint  NOT NULL,
    type   text    COLLATE "C" NOT NULL,
    name   text    COLLATE "C" NOT NULL,
    writer integer NOT NULL DEFAULT pg_backend_pid(),
    n      bigint  NOT NULL,
    PRIMARY KEY (minute, type, name, writer)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- step: code of schema 2 can use it.
UPDATE mainstay.schema_version SET version = 15, step = 0;

-- Keys that are taken for ever: each outlives its job. Code of schema 2 goes on beside them.
CREATE TABLE IF NOT EXISTS mainstay.key (
    key   text   COLLATE "C" NOT NULL,
    type  text   COLLATE "C" NOT NULL,
    job   text   COLLATE "C" NOT NULL,       -- the id of the job that took it
    since bigint NOT NULL,
    PRIMARY KEY (key, type)
);
UPDATE mainstay.schema_version SET version = 7, step = 0;

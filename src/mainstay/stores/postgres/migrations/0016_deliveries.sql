-- Attempts to deliver webhooks (docs/decisions/0042). Code of schema 2 goes on beside it: it delivers none.
CREATE TABLE IF NOT EXISTS mainstay.delivery (
    endpoint text    COLLATE "C" NOT NULL,
    at       bigint  NOT NULL,
    job      text    COLLATE "C" NOT NULL,
    token    bigint  NOT NULL,
    attempt  bigint  NOT NULL,
    status   bigint,
    ms       bigint  NOT NULL,
    error    text,
    answer   text,
    PRIMARY KEY (job, token)
);
CREATE INDEX IF NOT EXISTS delivery_endpoint ON mainstay.delivery (endpoint, at, job, token);
CREATE INDEX IF NOT EXISTS delivery_at ON mainstay.delivery (at);

-- step: code of schema 2 can use it.
UPDATE mainstay.schema_version SET version = 16, step = 0;

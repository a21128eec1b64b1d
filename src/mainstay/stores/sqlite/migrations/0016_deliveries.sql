-- Attempts to deliver webhooks (docs/decisions/0042). Code of schema 2 goes on beside it: it delivers none.
CREATE TABLE mainstay_delivery (
    endpoint TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    job      TEXT    NOT NULL,
    token    INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    status   INTEGER,
    ms       INTEGER NOT NULL,
    error    TEXT,
    answer   TEXT,
    PRIMARY KEY (job, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX mainstay_delivery_endpoint ON mainstay_delivery (endpoint, at);
CREATE INDEX mainstay_delivery_at ON mainstay_delivery (at);
UPDATE mainstay_schema SET version = 16;

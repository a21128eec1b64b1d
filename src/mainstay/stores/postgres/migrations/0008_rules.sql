-- What may hold a job back (docs/decisions/0028). Code of schema 2 goes on beside it, and does not see the rules. No row is rewritten.
ALTER TABLE mainstay.job ADD COLUMN IF NOT EXISTS rules text;               -- JSON; NULL for most
ALTER TABLE mainstay.job ADD COLUMN IF NOT EXISTS waits text COLLATE "C";   -- of a blocked job: for what
ALTER TABLE mainstay.job ADD COLUMN IF NOT EXISTS start_by bigint;          -- cancelled if it has not started by then
CREATE INDEX IF NOT EXISTS job_blocked  ON mainstay.job (waits, priority DESC, ord, seq) WHERE state = 'blocked';
CREATE INDEX IF NOT EXISTS job_ruled    ON mainstay.job ((rules LIKE '%"rates"%' OR rules LIKE '%"fair"%'), seq) WHERE rules IS NOT NULL AND state = 'queued';
CREATE INDEX IF NOT EXISTS job_start_by ON mainstay.job (start_by) WHERE start_by IS NOT NULL AND state IN ('queued', 'scheduled', 'blocked');
-- To count what waits in a queue. The planner takes it only for a query that says the same: it is no detour for others. For most jobs the
-- condition is a test for NULL, which costs their updates less than one on the state.
CREATE INDEX IF NOT EXISTS job_later ON mainstay.job (queue, state) WHERE coalesce(run_at::text, waits) IS NOT NULL;
CREATE TABLE IF NOT EXISTS mainstay.hold (slot text COLLATE "C" NOT NULL, job bigint NOT NULL, PRIMARY KEY (slot, job))
WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE IF NOT EXISTS mainstay.freed (slots text[] COLLATE "C" NOT NULL, running bigint[] NOT NULL)   -- slots that may have room, and the numbers that jobs carried
WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE IF NOT EXISTS mainstay.after (
    parent bigint NOT NULL,
    child  bigint NOT NULL,
    id     text   COLLATE "C" NOT NULL,                                     -- of the parent
    PRIMARY KEY (parent, child)
);
CREATE INDEX IF NOT EXISTS after_child ON mainstay.after (child, parent);
CREATE TABLE IF NOT EXISTS mainstay.meter (name text COLLATE "C" PRIMARY KEY, value bigint NOT NULL) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS mainstay.rule (
    kind   text   COLLATE "C" NOT NULL,
    name   text   COLLATE "C" NOT NULL,
    value  text   NOT NULL,                                                 -- JSON
    actor  text   NOT NULL,
    at     bigint NOT NULL,
    reason text   NOT NULL,
    PRIMARY KEY (kind, name)
);
ALTER TABLE mainstay.type ADD COLUMN IF NOT EXISTS description text;
ALTER TABLE mainstay.type ADD COLUMN IF NOT EXISTS takes text;              -- the JSON Schema of a payload
ALTER TABLE mainstay.type ADD COLUMN IF NOT EXISTS created_at bigint;
ALTER TABLE mainstay.type ADD COLUMN IF NOT EXISTS updated_at bigint;
ALTER TABLE mainstay.setting ADD COLUMN IF NOT EXISTS description text;
ALTER TABLE mainstay.setting ADD COLUMN IF NOT EXISTS updated_at bigint;
UPDATE mainstay.schema_version SET version = 8, step = 0;

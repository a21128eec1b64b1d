-- Everything lives in one schema of its own, by default `mainstay`; nothing outside of it is touched.
-- A job is two rows. `body` holds what was asked and is written once; `job` is narrow and changes three times in a life,
-- and no change of it touches the index on the id. What is joined is joined by `seq`, which is never given twice.
-- Texts that are looked up compare by their bytes ("C"): fast, and no upgrade of the system's locales breaks an index.
-- No CHECK constraints and no foreign keys: they cost a part of every claim; the contract suite checks the rows instead.
CREATE SEQUENCE mainstay.job_seq AS bigint CACHE 1;

-- Half of each page is left free, so that a new version of a row finds room beside the old one: less to write to the log.
CREATE TABLE mainstay.job (
    seq         bigint  NOT NULL,
    ord         bigint  NOT NULL,            -- place within queue and priority: when it became ready
    priority    integer NOT NULL,
    queue       text    COLLATE "C" NOT NULL,
    type        text    COLLATE "C" NOT NULL,
    lock_until  bigint,                      -- NULL no key, -1 while alive, 0 until it starts, else until that instant
    run_at      bigint,                      -- not before
    crashes     integer NOT NULL DEFAULT 0,
    state       text    COLLATE "C" NOT NULL,
    attempt     integer NOT NULL DEFAULT 0,
    token       integer NOT NULL DEFAULT 0,  -- the fence: +1 on every claim, never lowered
    worker      text    COLLATE "C",
    started_at  bigint,
    finished_at bigint,
    expires_at  bigint,
    cancel_at   bigint,
    reason      text,
    CONSTRAINT job_pkey PRIMARY KEY (seq)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);

-- One partial index per access path.
CREATE INDEX job_claim    ON mainstay.job (queue, priority DESC, ord, seq, type) WHERE state = 'queued';
CREATE INDEX job_due      ON mainstay.job (run_at, type, attempt)                WHERE state = 'scheduled';
CREATE INDEX job_running  ON mainstay.job (worker)                               WHERE state = 'running';
CREATE INDEX job_review   ON mainstay.job (type, seq)                            WHERE state = 'review';
CREATE INDEX job_dead     ON mainstay.job (finished_at, type)                    WHERE state = 'dead';
CREATE INDEX job_finished ON mainstay.job (finished_at)                          WHERE finished_at IS NOT NULL;
CREATE INDEX job_expiry   ON mainstay.job (expires_at)                           WHERE expires_at IS NOT NULL;

-- What was asked, and the policy that travels with it. Only a key that is let go, or a newer draft with the same key,
-- ever changes a row.
CREATE TABLE mainstay.body (
    job          bigint  NOT NULL,
    created_at   bigint  NOT NULL,
    timeout      bigint,
    keep         bigint,
    max_attempts integer NOT NULL,
    id           text    COLLATE "C" NOT NULL,
    payload      text    NOT NULL,
    backoff      text,
    lock         text    COLLATE "C",        -- what must be unique
    key          text    COLLATE "C",
    tenant       text    COLLATE "C",
    ref          text    COLLATE "C",
    tags         text,                       -- a JSON array
    parent       text    COLLATE "C",
    CONSTRAINT body_pkey PRIMARY KEY (job)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX body_id   ON mainstay.body (id);
CREATE UNIQUE INDEX body_lock ON mainstay.body (lock) WHERE lock IS NOT NULL;
CREATE INDEX body_key         ON mainstay.body (key, job) WHERE key IS NOT NULL;
CREATE INDEX body_tenant      ON mainstay.body (tenant, job) WHERE tenant IS NOT NULL;
CREATE INDEX body_ref         ON mainstay.body (ref, job) WHERE ref IS NOT NULL;
CREATE INDEX body_parent      ON mainstay.body (parent, job) WHERE parent IS NOT NULL;

CREATE TABLE mainstay.tag (tag text COLLATE "C" NOT NULL, job bigint NOT NULL, PRIMARY KEY (tag, job));

-- What happened; append-only. A first attempt that completes needs no row: the job says it all.
CREATE TABLE mainstay.attempt (
    job        bigint  NOT NULL,
    token      integer NOT NULL,
    number     integer NOT NULL,
    worker     text,
    started_at bigint  NOT NULL,
    ended_at   bigint  NOT NULL,
    outcome    text    NOT NULL,
    error      text,
    traceback  text,
    PRIMARY KEY (job, token)
);

CREATE TABLE mainstay.log (
    job     bigint  NOT NULL,
    token   integer NOT NULL,
    n       bigint  NOT NULL,
    at      bigint  NOT NULL,
    level   text    NOT NULL,
    stage   text,
    message text    NOT NULL,
    fields  text,
    PRIMARY KEY (job, token, n)
);

CREATE TABLE mainstay.result     (job bigint PRIMARY KEY, body text NOT NULL);
CREATE TABLE mainstay.checkpoint (job bigint PRIMARY KEY, token integer NOT NULL, at bigint NOT NULL, body text NOT NULL)
    WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE TABLE mainstay.progress   (job bigint PRIMARY KEY, token integer NOT NULL, at bigint NOT NULL, done double precision,
                                  total double precision, stage text)
    WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE mainstay.action (
    n      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     bigint NOT NULL,
    actor  text   NOT NULL,
    action text   NOT NULL,
    job    text   COLLATE "C",
    detail text   NOT NULL
);
CREATE INDEX action_job ON mainstay.action (job, n) WHERE job IS NOT NULL;

-- A row a worker, renewed every few seconds: it stays on its page, whatever else goes on.
CREATE TABLE mainstay.worker (
    id         text    COLLATE "C" PRIMARY KEY,
    host       text    NOT NULL,
    pid        bigint  NOT NULL,
    slots      integer NOT NULL,
    queues     text    NOT NULL,
    types      text    NOT NULL,
    started_at bigint  NOT NULL,
    beat_at    bigint  NOT NULL,
    expires_at bigint  NOT NULL,
    stopping   boolean NOT NULL DEFAULT false
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE TABLE mainstay.type (
    name      text   COLLATE "C" PRIMARY KEY,
    queue     text   NOT NULL,
    signature text   NOT NULL,
    policy    text   NOT NULL,
    seen_at   bigint NOT NULL
);

CREATE TABLE mainstay.setting (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);

CREATE TABLE mainstay.schema_version (version integer NOT NULL);
INSERT INTO mainstay.schema_version VALUES (1);

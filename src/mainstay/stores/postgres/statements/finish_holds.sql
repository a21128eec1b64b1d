-- Removes the holds of jobs that have run: of those that are neither queued nor running. Each is looked up by itself: joined, PostgreSQL 16
-- reads all rows that share the first column. Keeps the slots for whoever examines lines next. No lock of admission is needed: that only makes room.
WITH removed AS (
    DELETE FROM mainstay.hold t USING unnest(:slots::text[], :jobs::bigint[]) AS u(slot, job) CROSS JOIN LATERAL (
        SELECT x.ctid FROM mainstay.hold x WHERE x.slot = u.slot AND x.job = u.job
          AND NOT EXISTS (SELECT 1 FROM mainstay.job j WHERE j.seq = ANY (ARRAY[u.job]) AND j.state IN ('queued', 'running'))
        OFFSET 0
    ) x WHERE t.ctid = x.ctid
)
INSERT INTO mainstay.freed (slots, running) VALUES (:slots::text[], :running::bigint[])

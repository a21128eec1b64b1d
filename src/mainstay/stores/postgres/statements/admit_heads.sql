-- The first jobs in line at each of some slots, :ahead at most. Served by job_blocked.
SELECT w.* FROM unnest(:slots::text[]) AS s(slot) CROSS JOIN LATERAL (
    SELECT j.seq, j.queue, j.type, j.priority, j.ord, j.rules, j.waits FROM mainstay.job j
    WHERE j.state = 'blocked' AND j.waits = s.slot ORDER BY j.priority DESC, j.ord, j.seq LIMIT :ahead::bigint
    FOR NO KEY UPDATE SKIP LOCKED
) w

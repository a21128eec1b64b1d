-- The first jobs in line at each of some slots, as many as these limits leave room for. Served by job_blocked and by the primary key of hold.
SELECT w.* FROM unnest(:slots::text[], :running::bigint[]) AS s(slot, running) CROSS JOIN LATERAL (
    SELECT j.seq, j.queue, j.type, j.priority, j.ord, j.rules, j.waits FROM mainstay.job j
    WHERE j.state = 'blocked' AND j.waits = s.slot ORDER BY j.priority DESC, j.ord, j.seq
    LIMIT least(:most::bigint, greatest(0, s.running - (SELECT count(*) FROM mainstay.hold h WHERE h.slot = s.slot)))
    FOR NO KEY UPDATE SKIP LOCKED
) w

-- Examines the lines of the slots that were given back, if this transaction has the lock of admission: queues the first jobs of each, as many as
-- there is room for. It decides only about jobs with a single limit and nothing else, none of them paused. The slots of other lines, and those with
-- more room than :most, go back to `freed`, for `examine`. While other jobs are to be examined it does nothing: one of them may come first. Of a limit the operators' number holds, then that of the code, then that of the first job.
-- One row of rules with one limit has no '],' in it; a key that has is examined the other way. Served by job_blocked and by the primary key of hold.
WITH gone AS (
    DELETE FROM mainstay.freed WHERE ctid = ANY (ARRAY(
        SELECT f.ctid FROM mainstay.freed f WHERE current_setting('mainstay_lock.taken', true) = 'true'
          AND NOT EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits <= '+')
        LIMIT :limit::bigint
    )) RETURNING slots
), line AS MATERIALIZED (
    SELECT l.slot, h.rows, h.seqs, first.running IS NOT NULL AND h.simple AS simple,
           first.running IS NULL OR NOT h.simple OR cardinality(h.rows) = :most::bigint AS left_over
    FROM (SELECT DISTINCT u.slot FROM gone CROSS JOIN LATERAL unnest(gone.slots) AS u(slot)) l
    CROSS JOIN LATERAL (
        SELECT CASE WHEN {single_limit} THEN (j.rules::json #>> '{limits,0,2}')::bigint END AS running FROM mainstay.job j
        WHERE j.state = 'blocked' AND j.waits = l.slot ORDER BY j.priority DESC, j.ord, j.seq LIMIT 1
    ) first
    LEFT JOIN LATERAL (
        SELECT coalesce(r.value::json -> 'set' -> 'running', r.value::json -> 'declared' -> 'running')::text AS running
        FROM mainstay.rule r WHERE r.kind = 'limit' AND r.name = split_part(l.slot, E'\n', 1)
    ) ruled ON true
    CROSS JOIN LATERAL (
        SELECT array_agg(w.ctid) AS rows, array_agg(w.seq) AS seqs, bool_and(w.simple) AS simple FROM (
            SELECT j.ctid, j.seq, {single_limit} AND NOT coalesce(
                (SELECT array_agg(p.name) FROM mainstay.rule p WHERE p.kind = 'pause') && ARRAY['all', 'queue:' || j.queue, 'type:' || j.type], false
            ) AS simple
            FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits = l.slot ORDER BY j.priority DESC, j.ord, j.seq
            LIMIT CASE WHEN first.running IS NULL THEN 0 WHEN ruled.running = 'null' THEN :most::bigint ELSE least(:most::bigint, greatest(0,
                coalesce(ruled.running::bigint, first.running) - (SELECT count(*) FROM mainstay.hold o WHERE o.slot = l.slot)
            )) END
            FOR NO KEY UPDATE SKIP LOCKED
        ) w
    ) h
), queued AS (
    UPDATE mainstay.job j SET state = {admit.state | NULL | NULL | NULL}, waits = NULL, run_at = NULL
    FROM (SELECT unnest(line.rows) AS place FROM line WHERE line.simple) x WHERE j.ctid = x.place
    RETURNING 1
), held AS (
    INSERT INTO mainstay.hold (slot, job) SELECT line.slot, unnest(line.seqs) FROM line WHERE line.simple
), kept AS (
    INSERT INTO mainstay.freed (slots) SELECT array_agg(line.slot) FROM line WHERE line.left_over HAVING count(*) > 0
)
SELECT (SELECT count(*) FROM queued), (SELECT count(*) FROM line WHERE line.left_over)

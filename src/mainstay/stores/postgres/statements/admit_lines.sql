-- Examines the lines of the slots that were given back, if this transaction has the lock of admission: queues the first jobs of each, as many as
-- there is room for. It decides only about jobs with a single limit and nothing else, none of them paused; while other jobs are to be examined it
-- does nothing, as one of them may come first. What is left goes back to `freed`, for `examine`: lines with other jobs, with room for more than :most,
-- or whose jobs carry different numbers. The number that operators have set holds, then that of the code, then what the jobs carried.
-- Served by job_blocked and by the primary key of hold.
WITH gone AS (
    DELETE FROM mainstay.freed WHERE ctid = ANY (ARRAY(
        SELECT f.ctid FROM mainstay.freed f WHERE current_setting('mainstay_lock.taken', true) = 'true'
          AND NOT EXISTS (SELECT 1 FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits <= '+')
        LIMIT :limit::bigint
    )) RETURNING slots, running
), known AS MATERIALIZED (
    SELECT r.name, coalesce(r.value::json -> 'set' -> 'running', r.value::json -> 'declared' -> 'running')::text AS running
    FROM mainstay.rule r WHERE r.kind = 'limit'
), line AS MATERIALIZED (
    SELECT l.slot, CASE WHEN k.running = 'null' THEN :most::bigint + 1 ELSE coalesce(k.running::bigint, l.running) - (
        SELECT count(*) FROM mainstay.hold h WHERE h.slot = l.slot
    ) END AS room
    FROM (
        SELECT u.slot, CASE WHEN min(u.running) = max(u.running) THEN min(u.running) END AS running
        FROM gone CROSS JOIN LATERAL unnest(gone.slots, gone.running) AS u(slot, running) GROUP BY u.slot
    ) l LEFT JOIN known k ON k.name = split_part(l.slot, E'\n', 1)
), head AS MATERIALIZED (
    SELECT line.slot, j.ctid, j.seq, j.simple FROM line CROSS JOIN LATERAL (
        SELECT j.ctid, j.seq, j.rules LIKE '{"limits":[[%' AND strpos(j.rules, '],') = 0 AND NOT coalesce(
            (SELECT array_agg(p.name) FROM mainstay.rule p WHERE p.kind = 'pause') && ARRAY['all', 'queue:' || j.queue, 'type:' || j.type], false
        ) AS simple
        FROM mainstay.job j WHERE j.state = 'blocked' AND j.waits = line.slot ORDER BY j.priority DESC, j.ord, j.seq
        LIMIT least(:most::bigint, line.room) FOR NO KEY UPDATE SKIP LOCKED
    ) j WHERE line.room > 0
), rest AS MATERIALIZED (
    SELECT line.slot FROM line WHERE line.room IS NULL OR line.room > :most::bigint
    UNION SELECT head.slot FROM head WHERE NOT head.simple
), queued AS (
    UPDATE mainstay.job j SET state = {admit.state | NULL | NULL | NULL}, waits = NULL, run_at = NULL
    FROM head WHERE j.ctid = head.ctid AND head.slot <> ALL (ARRAY(SELECT rest.slot FROM rest))
    RETURNING j.seq
), held AS (
    INSERT INTO mainstay.hold (slot, job) SELECT head.slot, head.seq FROM head WHERE head.slot <> ALL (ARRAY(SELECT rest.slot FROM rest))
), kept AS (
    INSERT INTO mainstay.freed (slots, running) SELECT array_agg(rest.slot), array_agg(NULL::bigint) FROM rest HAVING count(*) > 0
)
SELECT count(*) FROM rest

-- As claim, after admit_try or admit_lock: it reads the first jobs in line at slots that were given back beside those of the lanes, and takes the first
-- :limit of both. One in line goes from `blocked` to `running` in one update. Those that this worker does not want are queued for
-- others; if a claim has to look at rules, that is all of them (open_lane). A slot that still has room goes back to `freed`.
-- Before each job, in one text: how many lines are left to `examine`, whether other slots are kept, how many jobs it queued, and how many it took from lines.
-- There is a row without a job if it took none.
WITH l AS MATERIALIZED (
    SELECT * FROM {lanes}
), {freed_lines}, front AS MATERIALIZED (
    SELECT s.slot, s.running, row_number() OVER (ORDER BY l.place, first.priority DESC, first.ord, first.seq) AS n
    FROM (
        SELECT u.slot, CASE WHEN min(u.running) = max(u.running) THEN min(u.running) END AS running
        FROM gone CROSS JOIN LATERAL unnest(gone.slots, gone.running) AS u(slot, running) GROUP BY u.slot
    ) s CROSS JOIN LATERAL (
        SELECT j.queue, j.type, j.priority, j.ord, j.seq FROM mainstay.job j
        WHERE j.state = 'blocked' AND j.waits = s.slot ORDER BY j.priority DESC, j.ord, j.seq LIMIT 1
    ) first LEFT JOIN l ON l.queue = first.queue AND l.type = first.type
), {in_line}, next AS MATERIALIZED (
    SELECT locked.ctid, c.slot, c.seq
    FROM (
        SELECT first.ctid, first.slot, first.seq FROM (
            SELECT r.ctid, NULL::text AS slot, l.place, r.priority, r.ord, r.seq FROM l CROSS JOIN LATERAL ({lane_rows} LIMIT :limit::bigint) r
            UNION ALL
            SELECT let.ctid, let.slot, let.place, let.priority, let.ord, let.seq FROM let WHERE let.place IS NOT NULL
            ORDER BY place, priority DESC, ord, seq
        ) first
        UNION ALL
        SELECT r.ctid, NULL, r.seq FROM l CROSS JOIN LATERAL ({lane_rows} OFFSET :limit::bigint) r
    ) c
    CROSS JOIN LATERAL (
        SELECT c.ctid WHERE c.slot IS NOT NULL
        UNION ALL
        SELECT j.ctid FROM (
            SELECT j.ctid FROM mainstay.job j WHERE c.slot IS NULL AND j.ctid = c.ctid AND j.state = 'queued' FOR NO KEY UPDATE SKIP LOCKED
        ) j
    ) locked
    LIMIT :limit::bigint
), {other_lines}, taken AS (
    UPDATE mainstay.job j
    SET state = 'running', token = j.token + 1, attempt = j.attempt + 1, worker = :worker::text,
        started_at = (SELECT {statement_now}), waits = NULL, run_at = CASE WHEN next.slot IS NULL THEN j.run_at END
    FROM next WHERE j.ctid = next.ctid
    RETURNING {claimed_job}
), freed AS (
    UPDATE mainstay.body b SET lock = NULL FROM taken t WHERE t.lock_until = 0 AND b.job = ANY (ARRAY[t.seq])
)
SELECT looked.told, {Claimed}
FROM (
    SELECT concat_ws(' ',
        (SELECT count(*) FROM rest),
        CASE WHEN EXISTS (SELECT 1 FROM passed) OR EXISTS (SELECT 1 FROM mainstay.freed OFFSET (SELECT count(*) FROM gone)) THEN 1 ELSE 0 END,
        (SELECT count(*) FROM others), (SELECT count(next.slot) FROM next)
    ) AS told
) AS looked LEFT JOIN (taken j JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])) ON true

-- Jobs in the order in which they were accepted, each with what stands beside it, as long as what came before is not large
-- already. The last column is the cursor. SQLite knows no NaN and only one zero, so none is moved.
WITH few AS MATERIALIZED (
    SELECT j.seq, sum(octet_length(b.payload) + coalesce(octet_length(r.body), 0) + coalesce(octet_length(c.body), 0))
                      OVER (ORDER BY j.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM (SELECT seq FROM mainstay.job WHERE seq > $1::bigint ORDER BY seq LIMIT $2::bigint) j
    JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
    LEFT JOIN mainstay.result r ON r.job = ANY (ARRAY[j.seq])
    LEFT JOIN mainstay.checkpoint c ON c.job = ANY (ARRAY[j.seq])
)
SELECT b.id, j.type, j.queue, j.state, j.priority, j.ord, j.run_at, j.attempt, b.max_attempts, j.crashes, j.token, j.worker,
       b.lock, nullif(j.lock_until, -1), b.timeout, b.keep, b.backoff, b.created_at, j.started_at, j.finished_at,
       j.expires_at, j.cancel_at, j.reason, b.payload, b.key, b.tenant, b.ref, b.tags, b.parent, r.body, c.body,
       nullif(p.done + 0.0, 'NaN'), nullif(p.total + 0.0, 'NaN'), p.stage, j.seq
FROM few s
JOIN mainstay.job j ON j.seq = ANY (ARRAY[s.seq])
JOIN mainstay.body b ON b.job = ANY (ARRAY[j.seq])
LEFT JOIN mainstay.result r ON r.job = ANY (ARRAY[j.seq])
LEFT JOIN mainstay.checkpoint c ON c.job = ANY (ARRAY[j.seq])
LEFT JOIN mainstay.progress p ON p.job = ANY (ARRAY[j.seq])
WHERE s.before IS NULL OR s.before <= $3::bigint
ORDER BY s.seq

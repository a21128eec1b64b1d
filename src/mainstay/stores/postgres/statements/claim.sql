-- Takes the first $5 jobs of some queues for a worker, the queues in the order given. Walks over job_lane: only what may
-- run now is queued, so nothing is skipped but types this worker does not know, and jobs that others are taking at this
-- moment. One priority of a queue is walked from where the last claim ended (see trail.py). Materialised: a plan that ran
-- the walks twice would take more than was asked. A key that held until the start is let go.
WITH next AS MATERIALIZED (
    SELECT found.ctid
    FROM unnest($3::text[], $6::bigint[], $7::bigint[], $8::bigint[]) AS u(queue, priority, ord, seq)
    CROSS JOIN LATERAL (
            SELECT above.ctid FROM (
                SELECT j.ctid FROM mainstay.job j
                WHERE j.state = 'queued' AND j.queue = u.queue AND j.type = ANY ($4::text[]) AND j.priority > u.priority
                ORDER BY j.priority DESC, j.ord, j.seq
                FOR NO KEY UPDATE SKIP LOCKED
            ) above
            UNION ALL
            SELECT along.ctid FROM (
                SELECT j.ctid FROM mainstay.job j
                WHERE j.state = 'queued' AND j.queue = u.queue AND j.type = ANY ($4::text[]) AND j.priority = u.priority AND (j.ord, j.seq) >= (u.ord, u.seq)
                ORDER BY j.ord, j.seq
                FOR NO KEY UPDATE SKIP LOCKED
            ) along
            UNION ALL
            SELECT below.ctid FROM (
                SELECT j.ctid FROM mainstay.job j
                WHERE j.state = 'queued' AND j.queue = u.queue AND j.type = ANY ($4::text[]) AND j.priority < u.priority
                ORDER BY j.priority DESC, j.ord, j.seq
                FOR NO KEY UPDATE SKIP LOCKED
            ) below
    ) found
    LIMIT $5::bigint
), taken AS (
    UPDATE mainstay.job j
    SET state = 'running', token = j.token + 1, attempt = j.attempt + 1, worker = $1::text,
        started_at = (SELECT coalesce($2::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint))
    FROM next WHERE j.ctid = next.ctid
    RETURNING j.seq, j.type, j.queue, j.attempt, j.crashes, j.token, j.started_at, j.priority, j.ord, j.worker, j.lock_until
), freed AS (
    UPDATE mainstay.body b SET lock = NULL FROM taken t WHERE t.lock_until = 0 AND b.job = ANY (ARRAY[t.seq])
)
SELECT t.seq, b.id, t.type, t.queue, t.attempt, b.max_attempts, t.crashes, t.token, b.timeout, b.keep, b.backoff,
       b.created_at, t.started_at, false, b.payload, -t.priority, t.ord, t.worker
FROM taken t JOIN mainstay.body b ON b.job = ANY (ARRAY[t.seq])

-- Jobs, whole. Served by the unique index on id.
SELECT b.id, j.type, j.queue, j.state, j.priority, b.payload, j.attempt, b.max_attempts, j.crashes, j.token, j.worker,
       b.created_at, j.run_at, j.started_at, j.finished_at, j.expires_at, j.cancel_at, b.timeout, b.keep, b.backoff,
       j.reason, b.key, b.tenant, b.ref, b.tags, b.parent, p.done, p.total, p.stage,
       (SELECT a.error FROM mainstay.attempt a WHERE a.job = j.seq AND a.error IS NOT NULL ORDER BY a.token DESC LIMIT 1)
FROM mainstay.body b
JOIN mainstay.job j ON j.seq = ANY (ARRAY[b.job])
LEFT JOIN mainstay.progress p ON p.job = ANY (ARRAY[b.job])
WHERE b.id = ANY ($1::text[])

-- One job, whole. Served by the unique index on id.
SELECT j.id, j.type, j.queue, j.state, j.priority, b.payload, j.attempt, j.max_attempts, j.crashes, j.token, j.worker,
       j.created_at, j.run_at, j.started_at, j.finished_at, j.expires_at, j.cancel_at, j.timeout, j.keep, j.backoff,
       j.reason, b.key, b.tenant, b.ref, b.tags, b.parent, p.done, p.total, p.stage,
       (SELECT error FROM mainstay_attempt a WHERE a.job = j.seq AND error IS NOT NULL ORDER BY a.token DESC LIMIT 1)
FROM mainstay_job j
JOIN mainstay_body b ON b.job = j.seq
LEFT JOIN mainstay_progress p ON p.job = j.seq
WHERE j.id = :id

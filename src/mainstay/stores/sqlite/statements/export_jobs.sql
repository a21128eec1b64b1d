-- Jobs in the order in which they were accepted, each with what stands beside it. The last column is the cursor.
SELECT j.id, j.type, j.queue, j.state, j.priority, j.ord, j.run_at, j.attempt, j.max_attempts, j.crashes, j.token,
       j.worker, j.lock, j.lock_until, j.timeout, j.keep, j.backoff, j.created_at, j.started_at,
       j.finished_at, j.expires_at, j.cancel_at, j.reason,
       b.payload, b.key, b.tenant, b.ref, b.tags, b.parent, r.body, c.body, p.done, p.total, p.stage,
       j.seq
FROM mainstay_job j
JOIN mainstay_body b ON b.job = j.seq
LEFT JOIN mainstay_result r ON r.job = j.seq
LEFT JOIN mainstay_checkpoint c ON c.job = j.seq
LEFT JOIN mainstay_progress p ON p.job = j.seq
WHERE j.seq > :after
ORDER BY j.seq LIMIT :limit

-- The running jobs of a worker, as their claim answered them. Served by job_running.
SELECT t.seq, b.id, t.type, t.queue, t.attempt, b.max_attempts, t.crashes, t.token, b.timeout, b.keep, b.backoff,
       b.created_at, t.started_at, t.cancel_at IS NOT NULL, b.payload, -t.priority, t.ord, t.worker
FROM mainstay.job t JOIN mainstay.body b ON b.job = ANY (ARRAY[t.seq])
WHERE t.state = 'running' AND t.worker = $1::text
ORDER BY t.priority DESC, t.ord, t.seq

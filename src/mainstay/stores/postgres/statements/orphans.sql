-- Running jobs without a worker, or far past their timeout. Served by job_running: one entry a running job.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now)
SELECT t.seq, b.id, t.type, t.queue, t.attempt, b.max_attempts, t.crashes, t.token, b.timeout, b.keep, b.backoff,
       b.created_at, t.started_at, t.cancel_at IS NOT NULL, '', -t.priority, t.ord, t.worker,
       NOT EXISTS (SELECT 1 FROM mainstay.worker w WHERE w.id = t.worker) AS gone
FROM mainstay.job t JOIN mainstay.body b ON b.job = ANY (ARRAY[t.seq])
WHERE t.state = 'running'
  AND (t.started_at + b.timeout + $2::bigint < (SELECT now FROM clock)
       OR NOT EXISTS (SELECT 1 FROM mainstay.worker w WHERE w.id = t.worker))
LIMIT $3::bigint

-- Running jobs without a worker, or far past their timeout. Served by mainstay_job_running: one entry a running job.
SELECT seq, id, type, queue, attempt, max_attempts, crashes, token, timeout, keep, backoff, created_at, started_at,
       cancel_at IS NOT NULL, '', -priority, ord, worker,
       worker NOT IN (SELECT id FROM mainstay_worker) AS gone
FROM mainstay_job
WHERE state = 'running' AND (gone OR started_at + timeout + :grace < :now)
LIMIT :limit

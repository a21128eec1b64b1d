-- The running jobs of a worker, as their claim answered them. Served by mainstay_job_running.
SELECT seq, id, type, queue, attempt, max_attempts, crashes, token, timeout, keep, backoff, created_at, started_at,
       cancel_at IS NOT NULL, (SELECT payload FROM mainstay_body WHERE job = seq), -priority, ord, worker
FROM mainstay_job WHERE state = 'running' AND worker = :worker
ORDER BY priority DESC, ord, seq

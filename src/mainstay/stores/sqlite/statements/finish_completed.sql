-- The same door as finish for the many that simply completed: seq, token and instant of each, and their worker. One statement a batch.
UPDATE mainstay_job
SET state = 'completed', worker = NULL, run_at = NULL, finished_at = done.column3,
    expires_at = max(done.column3 + keep, coalesce(lock_until, 0)), reason = NULL,
    lock = CASE WHEN lock_until IS NULL THEN NULL ELSE lock END
FROM (VALUES (?, ?, ?)) AS done
WHERE seq = done.column1 AND state = 'running' AND token = done.column2 AND worker = ? AND cancel_at IS NULL

-- Gives jobs that are queued to a worker. Served by the primary key.
UPDATE mainstay_job
SET state = 'running', token = token + 1, attempt = attempt + 1, worker = :worker, started_at = :now,
    lock = CASE WHEN lock_until = 0 THEN NULL ELSE lock END
WHERE seq IN (SELECT value FROM json_each(:seqs))

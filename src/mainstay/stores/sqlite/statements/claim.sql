-- Gives jobs to a worker: queued ones, or the first in line that are admitted in this moment (lines.py). Served by the primary key.
UPDATE mainstay_job
SET state = 'running', waits = NULL, token = token + 1, attempt = attempt + 1, worker = :worker, started_at = :now,
    lock = CASE WHEN lock_until = 0 THEN NULL ELSE lock END
WHERE seq IN (SELECT value FROM json_each(:seqs))

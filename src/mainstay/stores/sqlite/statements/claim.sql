-- Takes the first :limit jobs of one queue for a worker. One walk over mainstay_job_claim: only what may run now is
-- queued, so nothing is skipped but types this worker does not know. The payload comes by a scalar sub-select, which
-- costs one look-up a job; a join would make SQLite sort.
UPDATE mainstay_job
SET state = 'running', token = token + 1, attempt = attempt + 1, worker = :worker, started_at = :now,
    lock = CASE WHEN lock_until = 0 THEN NULL ELSE lock END
WHERE seq IN (
    SELECT seq FROM mainstay_job
    WHERE state = 'queued' AND queue = :queue AND type IN (SELECT value FROM json_each(:types))
    ORDER BY priority DESC, ord, seq
    LIMIT :limit
)
RETURNING -priority, ord, seq, id, type, attempt, max_attempts, crashes, token, timeout, keep, backoff, created_at,
          (SELECT payload FROM mainstay_body WHERE job = seq)

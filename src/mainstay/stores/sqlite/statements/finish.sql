-- The one door out of running: applied only while the job runs under this token. A job that was asked to stop may end
-- only as cancelled or dead. A key that holds while the job is alive is let go when it ends; one that holds for a period
-- keeps its job to the end of that period. What goes back to the queue (a crash, a hand-back) keeps its place there.
UPDATE mainstay_job
SET state = ?2, worker = NULL, attempt = ?3, crashes = ?4, run_at = ?5,
    ord = CASE WHEN ?2 = 'queued' THEN ord ELSE coalesce(?5, ord) END, finished_at = ?6,
    expires_at = max(?7, coalesce(lock_until, 0)), reason = ?8,
    lock = CASE WHEN ?6 IS NOT NULL AND lock_until IS NULL THEN NULL ELSE lock END
WHERE seq = ?1 AND state = 'running' AND token = ?9
  AND (cancel_at IS NULL OR ?2 IN ('cancelled', 'dead'))

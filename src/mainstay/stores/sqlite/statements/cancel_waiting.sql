-- Cancels a job that is not running. Guarded by its state; a key that held while it was alive is let go.
UPDATE mainstay_job
SET state = 'cancelled', finished_at = :now, expires_at = max(:now + keep, coalesce(lock_until, 0)), run_at = NULL,
    cancel_at = :now, reason = :reason,
    lock = CASE WHEN lock_until IS NULL OR lock_until = 0 THEN NULL ELSE lock END
WHERE id = :id AND state IN ('queued', 'scheduled', 'blocked', 'review')

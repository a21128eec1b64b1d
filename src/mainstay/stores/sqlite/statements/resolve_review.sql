-- Ends a review. Guarded by the state.
UPDATE mainstay_job
SET state = :state, finished_at = :now, reason = :reason,
    expires_at = CASE WHEN :state = 'completed' THEN max(:now + keep, coalesce(lock_until, 0)) END,
    lock = CASE WHEN lock_until IS NULL THEN NULL ELSE lock END
WHERE id = :id AND state = 'review'

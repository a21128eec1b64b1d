-- Ends a review. Guarded by the state.
UPDATE mainstay_job
SET state = :state, finished_at = :now, expires_at = CASE WHEN :state = 'completed' THEN :now + keep END, reason = :reason,
    lock = CASE WHEN lock_until IS NULL THEN NULL ELSE lock END
WHERE id = :id AND state = 'review'
